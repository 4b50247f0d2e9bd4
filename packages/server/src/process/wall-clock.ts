// The wall clock within the times that can be written down. Messages carry it, and it is all there is to go
// by when a node starts: one that is far off is refused then; one that jumps away later is held back.

import { StartRefusal } from './refusal.ts';

/** Earliest and latest time of a node, in milliseconds. Behind it there is room for what is added. */
const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(2200, 0, 1);

/** The wall time, within what can be written down. */
export function boundedWallMs(nowMs: number): number {
  return Math.min(Math.max(nowMs, EARLIEST_MS), LATEST_MS);
}

/** Throws StartRefusal when the clock shows a time that cannot be written down. */
export function refuseWrongClock(nowMs: number): void {
  if (boundedWallMs(nowMs) === nowMs) return;
  const shown = new Date(nowMs).toISOString();
  throw new StartRefusal(`the clock of this machine says ${shown}: set it to the time it is`);
}
