// One ack target: the fence of its lease, the offsets of its items, and the verdicts that do not
// depend on how the batch is settled (reference §3.2, steps 1 to 4).

import { ACK_ERROR, ACK_LEASE, ACK_STATUS, ID_WORDS } from '@queen-ts/protocol';
import type { AckCommand } from '@queen-ts/protocol';
import type { GroupState, QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import { openBlock } from './blocks.ts';
import type { PlanContext } from './context.ts';
import { isRememberedBelow } from './originals.ts';
import { settle } from './settle.ts';
import type { Marks } from './settle.ts';

/** Blocks that one target may search for ids it does not find where they are expected. */
const BLOCKS_SEARCHED_MAX = 1024;

/** The verdicts of a command, one an item. */
export interface AckVerdicts {
  readonly errors: Uint8Array;
  readonly leaseReleased: Uint8Array;
  readonly deadLettered: Uint8Array;
  readonly noops: Uint8Array;
}

/** Items of one partition and lease. */
export interface AckTarget {
  readonly partitionRow: number;
  readonly partition: number;
  /** Positions in the command, ascending. */
  readonly items: number[];
  /** Another target of the same partition. */
  readonly older: AckTarget | undefined;
}

/** A target with its command. */
export interface AckWork {
  readonly command: AckCommand;
  readonly target: AckTarget;
  readonly verdicts: AckVerdicts;
}

/** Decides one target and applies its effects. */
export function settleTarget(context: PlanContext, work: AckWork): void {
  const { state } = context;
  const { command, target, verdicts } = work;
  const queue = state.queueOf(target.partitionRow)!;
  const group = queue.groupByName(command.group);
  const cursorRow = group === undefined ? 0 : state.cursors.find(target.partitionRow, group.number);
  if (group === undefined || cursorRow === 0) {
    reject(work, ACK_ERROR.UNRESOLVABLE);
    return;
  }
  if (!isFenced(state, work, cursorRow)) {
    answerSettled(context, work, { group, cursorRow });
    return;
  }
  const { cursors, partitions } = state;
  const next = cursors.next.get(cursorRow);
  const end = cursors.hasLease(cursorRow)
    ? cursors.leaseToExclusive.get(cursorRow)
    : partitions.tail.get(target.partitionRow);
  context.matcher.start(command, target.items);
  search(context, target.partitionRow, { from: next, toExclusive: end, isLeased: true });
  context.matcher.resolveRepeats();
  const marks = collectMarks(context, work, queue, next);
  if (marks === undefined) return;
  const result = settle(context, { queue, cursorRow, marks, command });
  for (const item of target.items) {
    if (verdicts.errors[item] !== ACK_ERROR.NONE) continue;
    const isSignal = asksForDeadLetter(command.statuses[item]!);
    verdicts.deadLettered[item] = isSignal && result.deadLettered > 0 ? 1 : 0;
  }
  if (result.isReleased) for (const item of target.items) verdicts.leaseReleased[item] = 1;
}

/** Whether the target may act on the cursor's lease. */
function isFenced(state: State, work: AckWork, cursorRow: number): boolean {
  const { command, target } = work;
  const item = target.items[0]!;
  if (command.leaseKinds[item] === ACK_LEASE.NONE) return true;
  const { cursors } = state;
  return (
    cursors.isLeased(cursorRow, state.nowUs) &&
    cursors.leases.holds(cursorRow, command.leaseIds, item * ID_WORDS)
  );
}

/** A lease that is not held: a repeat of the ack that settled it succeeds again, all else fails. */
function answerSettled(
  context: PlanContext,
  work: AckWork,
  cursor: { readonly group: GroupState; readonly cursorRow: number },
): void {
  const { state, matcher } = context;
  const { command, target, verdicts } = work;
  const { cursors } = state;
  const { cursorRow } = cursor;
  const at = target.items[0]! * ID_WORDS;
  const settled = cursors.settledLeaseId(cursorRow);
  const toExclusive = cursors.settledToExclusive.get(cursorRow);
  if (toExclusive === 0 || settled.some((word, i) => word !== command.leaseIds[at + i])) {
    reject(work, ACK_ERROR.INVALID_LEASE);
    return;
  }
  const from = cursors.settledFrom.get(cursorRow);
  matcher.start(command, target.items);
  search(context, target.partitionRow, { from, toExclusive, isLeased: true });
  matcher.resolveRepeats();
  const range = { group: cursor.group.number, from, toExclusive };
  const hasDeadLetter = state.deadLetters.hasIn(target.partitionRow, range);
  target.items.forEach((item, position) => {
    if (matcher.offset(position) < 0) {
      verdicts.errors[item] = ACK_ERROR.INVALID_LEASE;
      return;
    }
    verdicts.leaseReleased[item] = 1;
    verdicts.noops[item] = command.statuses[item] === ACK_STATUS.COMPLETED ? 1 : 0;
    const isSignal = asksForDeadLetter(command.statuses[item]!);
    verdicts.deadLettered[item] = isSignal && hasDeadLetter ? 1 : 0;
  });
}

/** Answers what did not resolve, and returns the rest by offset; undefined when nothing is left. */
function collectMarks(
  context: PlanContext,
  work: AckWork,
  queue: QueueState,
  next: number,
): Marks | undefined {
  const { matcher } = context;
  const { command, target, verdicts } = work;
  if (matcher.unresolved > 0) answerUnresolved(context, work, queue, next);
  const offsets: number[] = [];
  const items: number[] = [];
  target.items.forEach((item, position) => {
    const offset = matcher.offset(position);
    if (offset < next || verdicts.errors[item] !== ACK_ERROR.NONE) return;
    offsets.push(offset);
    items.push(item);
  });
  return items.length === 0 ? undefined : { offsets, items, statuses: command.statuses };
}

/** Ids that are not in the batch: completed ones may lie at or below the cursor. */
function answerUnresolved(
  context: PlanContext,
  work: AckWork,
  queue: QueueState,
  next: number,
): void {
  const { state, matcher } = context;
  const { command, target, verdicts } = work;
  let hasUnknown = false;
  const isOpen = (position: number): boolean =>
    matcher.offset(position) < 0 &&
    command.statuses[target.items[position]!] === ACK_STATUS.COMPLETED;
  target.items.forEach((item, position) => {
    if (!isOpen(position)) return;
    const query = {
      partitionRow: target.partitionRow,
      words: command.txnHashes,
      at: item * ID_WORDS,
    };
    if (isRememberedBelow(state, queue, query, next)) verdicts.noops[item] = 1;
    else hasUnknown = true;
  });
  if (hasUnknown) searchBelow(context, target.partitionRow, next);
  target.items.forEach((item, position) => {
    if (verdicts.noops[item] === 1) return;
    const offset = matcher.offset(position);
    const isCompleted = command.statuses[item] === ACK_STATUS.COMPLETED;
    if (offset >= next) return;
    if (offset >= 0 && isCompleted) verdicts.noops[item] = 1;
    else verdicts.errors[item] = ACK_ERROR.UNRESOLVABLE;
  });
}

/** Looks for the open ids among the last messages that the group consumed, newest part first. */
function searchBelow(context: PlanContext, partitionRow: number, next: number): void {
  const { state, matcher } = context;
  let toExclusive = next;
  let left = context.limits.ackMessagesScannedMax;
  // Parts grow, so that a recent id is found early and an unknown one costs a bounded search.
  for (let size = 256; left > 0 && toExclusive > 0 && matcher.unresolved > 0; size *= 4) {
    const from = Math.max(0, toExclusive - Math.min(size, left));
    if (toExclusive <= state.partitions.logStart.get(partitionRow)) return;
    const isWhole = search(context, partitionRow, { from, toExclusive, isLeased: false });
    // A second mention of an id found here means the same message, not an older one.
    matcher.resolveRepeats();
    if (!isWhole) return;
    left -= toExclusive - from;
    toExclusive = from;
  }
}

/**
 * Compares the messages of a range with the open ids, oldest first, until all are found. A leased
 * range is searched as a whole, it is as large as its pop made it; others up to a bound.
 * @returns false when the bound was met.
 */
function search(
  context: PlanContext,
  partitionRow: number,
  range: { readonly from: number; readonly toExclusive: number; readonly isLeased: boolean },
): boolean {
  const { state, matcher } = context;
  const { blocks } = state;
  let left = range.isLeased ? Infinity : BLOCKS_SEARCHED_MAX;
  let record = blocks.firstAtOrAfter(partitionRow, range.from);
  for (; record !== 0 && matcher.unresolved > 0; record = blocks.next(partitionRow, record)) {
    const baseOffset = blocks.baseOffset(record);
    if (baseOffset >= range.toExclusive) return true;
    if (left === 0) return false;
    left -= 1;
    const first = Math.max(0, range.from - baseOffset);
    const end = Math.min(blocks.count(record), range.toExclusive - baseOffset);
    matcher.scan(openBlock(state, record), first, end);
  }
  return true;
}

function asksForDeadLetter(status: number): boolean {
  return status === ACK_STATUS.FAILED || status === ACK_STATUS.DLQ;
}

function reject(work: AckWork, error: number): void {
  for (const item of work.target.items) work.verdicts.errors[item] = error;
}
