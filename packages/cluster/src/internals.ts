// The door for fault injection: classes whose methods the simulator's planted bugs replace. Nothing in
// production imports it.

export { CheckpointJob } from './checkpoint-job.ts';
export { InFlight } from './in-flight.ts';
export type { InFlightEntry } from './in-flight.ts';
export { LeaderClock, LogTime } from './leader-clock.ts';
export { Replica } from './replica.ts';
