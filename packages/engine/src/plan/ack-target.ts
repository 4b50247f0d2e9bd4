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
import type { Marks, Settling } from './settle.ts';

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

/** The cursor of a target's group in its partition. */
interface FoundCursor {
  readonly queue: QueueState;
  readonly group: GroupState;
  readonly cursorRow: number;
}

/** A target with its command. */
export interface AckWork {
  readonly command: AckCommand;
  readonly target: AckTarget;
  readonly verdicts: AckVerdicts;
}

/** What a target came to before anything changed: who is settled, and with which marks. */
export interface ExaminedTarget {
  readonly work: AckWork;
  readonly settling: Settling;
}

/** Decides one target and applies its effects. */
export function settleTarget(context: PlanContext, work: AckWork): void {
  const found = findCursor(context.state, work);
  if (found === undefined) {
    reject(work, ACK_ERROR.UNRESOLVABLE);
    return;
  }
  if (!isFenced(context.state, work, found.cursorRow)) {
    answerSettled(context, work, found);
    return;
  }
  const settling = resolveTarget(context, work, found);
  if (settling !== undefined) settleExamined(context, { work, settling });
}

/**
 * Decides one target of a transaction, where every lease that an item names must be held and hold its
 * message. Changes nothing; items that fail have their error. Undefined when nothing is to be settled.
 */
export function examineTarget(context: PlanContext, work: AckWork): ExaminedTarget | undefined {
  const { state } = context;
  const { command, target, verdicts } = work;
  const found = findCursor(state, work);
  if (found === undefined) {
    reject(work, ACK_ERROR.UNRESOLVABLE);
    return undefined;
  }
  for (const item of target.items) {
    if (!holdsLease(state, command, item, found.cursorRow)) {
      verdicts.errors[item] = ACK_ERROR.INVALID_LEASE;
    }
  }
  const settling = resolveTarget(context, work, found);
  for (const item of target.items) {
    const isNoopUnderLease = verdicts.noops[item] === 1 && !isUnfenced(command, item);
    if (isNoopUnderLease) verdicts.errors[item] = ACK_ERROR.UNRESOLVABLE;
  }
  return settling === undefined ? undefined : { work, settling };
}

/** Applies what was decided for a target. */
export function settleExamined(context: PlanContext, { work, settling }: ExaminedTarget): void {
  const { command, target, verdicts } = work;
  const result = settle(context, settling);
  for (const item of target.items) {
    if (verdicts.errors[item] !== ACK_ERROR.NONE) continue;
    const isSignal = asksForDeadLetter(command.statuses[item]!);
    verdicts.deadLettered[item] = isSignal && result.deadLettered > 0 ? 1 : 0;
  }
  if (result.isReleased) for (const item of target.items) verdicts.leaseReleased[item] = 1;
}

/** The cursor that a target is about; undefined when its group has none there. */
function findCursor(state: State, { command, target }: AckWork): FoundCursor | undefined {
  const queue = state.queueOf(target.partitionRow)!;
  const group = queue.groupByName(command.group);
  const cursorRow = group === undefined ? 0 : state.cursors.find(target.partitionRow, group.number);
  return group === undefined || cursorRow === 0 ? undefined : { queue, group, cursorRow };
}

/** Finds the offsets of a target's items and answers those that are not in its batch. */
function resolveTarget(
  context: PlanContext,
  work: AckWork,
  { queue, cursorRow }: FoundCursor,
): Settling | undefined {
  const { cursors, partitions } = context.state;
  const { command, target } = work;
  const next = cursors.next.get(cursorRow);
  const end = cursors.hasLease(cursorRow)
    ? cursors.leaseToExclusive.get(cursorRow)
    : partitions.tail.get(target.partitionRow);
  context.matcher.start(command, target.items);
  search(context, target.partitionRow, { from: next, toExclusive: end, isLeased: true });
  context.matcher.resolveRepeats();
  const marks = collectMarks(context, work, queue, next);
  return marks === undefined ? undefined : { queue, cursorRow, marks, command };
}

/** Whether the target may act on the cursor's lease. */
function isFenced(state: State, work: AckWork, cursorRow: number): boolean {
  return holdsLease(state, work.command, work.target.items[0]!, cursorRow);
}

/** Whether an item names no lease, or the one that the cursor holds. */
function holdsLease(state: State, command: AckCommand, item: number, cursorRow: number): boolean {
  if (isUnfenced(command, item)) return true;
  const { cursors } = state;
  return (
    command.leaseKinds[item] === ACK_LEASE.NAMED &&
    cursors.isLeased(cursorRow, state.nowUs) &&
    cursors.leases.holds(cursorRow, command.leaseIds, item * ID_WORDS)
  );
}

function isUnfenced(command: AckCommand, item: number): boolean {
  return command.leaseKinds[item] === ACK_LEASE.NONE;
}

/** A lease that is not held: a repeat of the ack that settled it succeeds again, all else fails. */
function answerSettled(context: PlanContext, work: AckWork, cursor: FoundCursor): void {
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
