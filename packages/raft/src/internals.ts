// The door for fault injection: classes whose methods the simulator's planted bugs replace. Nothing in
// production imports it.

export { Core } from './core.ts';
export { RaftLog } from './log.ts';
export { MembershipHistory } from './membership.ts';
