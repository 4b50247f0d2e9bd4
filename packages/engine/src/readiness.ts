// Which (partition, group) pairs may be claimed: rings, walks and timers, derived from the tables on
// every replica. The rings hold a superset: what can be claimed is in its group's ring, or beyond the
// group's walk, or waits for a timer; whoever takes an ordinal from a ring checks the tables.

import type { GroupState, QueueState } from './queue-state.ts';
import type { State } from './state.ts';

/** Puts a partition into a group's ring and tells who waits. */
export function arm(state: State, group: GroupState, partitionRow: number): void {
  const ordinal = state.partitions.ordinal.get(partitionRow);
  if (group.isRegistered && ordinal < group.walkFrom) group.ready.push(ordinal);
  if (state.isSignalling) {
    state.signals.armed(group.number, state.partitions.number.get(partitionRow));
  }
}

/** Notes an append: the groups may claim at once, or when the queue's delay or window is over. */
export function noteAppend(state: State, queue: QueueState, partitionRow: number): void {
  const lastAppendUs = state.partitions.lastAppendUs.get(partitionRow);
  queue.newestAppendUs = Math.max(queue.newestAppendUs, lastAppendUs);
  const waitUs = Math.max(queue.delayUs, queue.windowUs);
  if (waitUs > 0) {
    // A window moves with every append: its timer finds out when it fires.
    deferUntil(state, partitionRow, lastAppendUs + waitUs);
    return;
  }
  offer(state, queue, partitionRow);
}

/** Puts a partition into the rings of all groups and tells who waits, groups yet unknown included. */
function offer(state: State, queue: QueueState, partitionRow: number): void {
  const ordinal = state.partitions.ordinal.get(partitionRow);
  for (const group of queue.groups) {
    if (group.isRegistered && ordinal < group.walkFrom) group.ready.push(ordinal);
  }
  if (state.isSignalling) {
    state.signals.appended(queue.number, state.partitions.number.get(partitionRow));
  }
}

/** Notes that nothing is retained: a pop of each group seals its cursor, nobody needs to be woken. */
export function noteEmptied(queue: QueueState, ordinal: number): void {
  for (const group of queue.groups) {
    if (group.isRegistered && ordinal < group.walkFrom) group.ready.push(ordinal);
  }
}

/** Arms the partition for all groups at `atUs`, or when an earlier timer fires. */
export function deferUntil(state: State, partitionRow: number, atUs: number): void {
  const isScheduled = state.deferralEnds.has(partitionRow);
  if (isScheduled && state.deferralEnds.atUs(partitionRow) <= atUs) return;
  state.deferralEnds.schedule(partitionRow, atUs);
}

/** Forgets the timers of a partition that is removed. */
export function forgetDeferral(state: State, partitionRow: number): void {
  state.deferralEnds.cancel(partitionRow);
}

/** Makes the groups of a queue look at all its partitions again: its delay or window changed. */
export function restartWalks(state: State, queue: QueueState): void {
  for (const group of queue.groups) startWalk(state, group);
}

/** Makes a group look at all partitions of its queue, bit by bit while it pops. */
export function startWalk(state: State, group: GroupState): void {
  group.ready.clear();
  group.walkFrom = 0;
  if (state.isSignalling) state.signals.armed(group.number, 0);
}

/** Notes that a cursor row got a lease, or kept one with another end. */
export function noteLease(state: State, cursorRow: number, group: GroupState): void {
  const { deliveries } = state.cursors;
  const row = deliveries.rowOf(cursorRow);
  if (!state.leaseEnds.has(row)) group.leases += 1;
  state.leaseEnds.schedule(row, deliveries.leaseExpiresUs.get(cursorRow));
}

/** Makes sure that the end of a lease that still runs will be noticed. */
export function keepLeaseTimer(state: State, cursorRow: number, group: GroupState): void {
  if (!state.leaseEnds.has(state.cursors.deliveries.rowOf(cursorRow))) {
    noteLease(state, cursorRow, group);
  }
}

/** Notes that a cursor row has no lease, and arms it if there is something to claim. */
export function noteNoLease(state: State, cursorRow: number, group: GroupState): void {
  const partitionRow = state.cursors.index.partitionOf(cursorRow);
  if (state.cursors.next.get(cursorRow) < state.partitions.tail.get(partitionRow)) {
    arm(state, group, partitionRow);
  }
}

/** Forgets the timer of a cursor row that is removed, or that is about to lose its lease. */
export function forgetLease(state: State, cursorRow: number, group: GroupState): void {
  if (state.leaseEnds.cancel(state.cursors.deliveries.rowOf(cursorRow))) group.leases -= 1;
}

/** Fires what is due at `nowUs`, at most about `timersMax` timers. Returns whether more is due. */
export function advanceTimers(state: State, nowUs: number, timersMax: number): boolean {
  const fired = state.leaseEnds.advance(nowUs, (row) => endLease(state, row), timersMax);
  state.deferralEnds.advance(nowUs, (row) => endDeferral(state, row, nowUs), timersMax - fired);
  return nextTimerUs(state) <= nowUs;
}

/** When a timer is due next, in microseconds, rounded up to 1 ms; Infinity when none is set. */
export function nextTimerUs(state: State): number {
  return Math.min(state.leaseEnds.nextUs(), state.deferralEnds.nextUs());
}

function endLease(state: State, delivery: number): void {
  const cursorRow = state.cursors.deliveries.cursorOf(delivery);
  const group = state.groups.get(state.cursors.index.groupOf(cursorRow));
  if (group === undefined) return;
  group.leases -= 1;
  arm(state, group, state.cursors.index.partitionOf(cursorRow));
}

function endDeferral(state: State, partitionRow: number, nowUs: number): void {
  const queue = state.queueOf(partitionRow);
  if (queue === undefined) return;
  const quietUs = state.partitions.lastAppendUs.get(partitionRow) + queue.windowUs;
  if (queue.windowUs > 0 && quietUs > nowUs) {
    deferUntil(state, partitionRow, quietUs);
    return;
  }
  offer(state, queue, partitionRow);
}
