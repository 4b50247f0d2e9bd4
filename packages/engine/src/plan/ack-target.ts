// One ack target: the fence of its lease, the offsets of its items, and the verdicts that do not
// depend on how the batch is settled (reference §3.2, steps 1 to 4).

import { ACK_ERROR, ACK_LEASE, ACK_STATUS, ID_WORDS } from '@queen-ts/protocol';
import type { AckCommand } from '@queen-ts/protocol';
import type { DeadLetterRange } from '../dead-letters.ts';
import type { GroupState, QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import type { AckBudget } from './ack-budget.ts';
import { searchAhead, searchBatch, searchConsumed } from './ack-search.ts';
import type { PlanContext } from './context.ts';
import { deadLettersCostMax, settle } from './settle.ts';
import type { DeadLetterRoom, Marks, Settling } from './settle.ts';

/** Where the items of a transaction were promised room for their dead letters. */
const PROMISED_ROOM: DeadLetterRoom = { letterBytesLeft: Infinity };

/** Dead letters that a repeated ack looks at for its own. */
const DEAD_LETTERS_SEARCHED_MAX = 65_536;

/** What looking at one costs, in bytes. */
const DEAD_LETTER_COST_BYTES = 16;

/** The verdicts of a command, one an item. */
export interface AckVerdicts {
  readonly errors: Uint8Array;
  readonly leaseReleased: Uint8Array;
  readonly deadLettered: Uint8Array;
  readonly noops: Uint8Array;
}

/** Items of one partition and lease. */
export interface AckTarget {
  /** Number of the partition. It existed when the ack began. */
  readonly partition: number;
  /** Positions in the command, ascending. */
  readonly items: number[];
}

/** The cursor of a target's group in its partition. */
interface FoundCursor {
  readonly queue: QueueState;
  readonly group: GroupState;
  readonly partitionRow: number;
  readonly cursorRow: number;
}

/** A target with its command. */
export interface AckWork {
  readonly command: AckCommand;
  readonly target: AckTarget;
  readonly verdicts: AckVerdicts;
  readonly budget: AckBudget;
}

/** Where a target's items were looked for. */
interface ResolvedPlace {
  readonly queue: QueueState;
  readonly partitionRow: number;
  readonly next: number;
  readonly isWhole: boolean;
}

/** What a target came to before anything changed: who is settled, and with which marks. */
export interface ExaminedTarget {
  readonly work: AckWork;
  readonly settling: Settling;
  readonly room: DeadLetterRoom;
}

/** Decides one target and applies its effects. */
export function settleTarget(context: PlanContext, work: AckWork): void {
  const { budget } = work;
  budget.beginTarget();
  const found = findCursor(context.state, work);
  if (typeof found === 'number') {
    refuseTarget(work, found);
    return;
  }
  if (!isFenced(context.state, work, found.cursorRow)) {
    answerSettled(context, work, found);
    return;
  }
  const settling = resolveTarget(context, work, found);
  if (settling !== undefined) settleExamined(context, { work, settling, room: budget });
}

/**
 * Decides one target of a transaction, where every lease that an item names must be held and hold its
 * message. Changes nothing; items that fail have their error. Undefined when nothing is to be settled.
 */
export function examineTarget(context: PlanContext, work: AckWork): ExaminedTarget | undefined {
  const { state } = context;
  const { command, target, verdicts, budget } = work;
  if (budget.isSpent) {
    refuseTarget(work, ACK_ERROR.TOO_MUCH);
    return undefined;
  }
  budget.beginTarget();
  const found = findCursor(state, work);
  if (typeof found === 'number') {
    refuseTarget(work, found);
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
  if (settling === undefined) return undefined;
  // A single letter is filed whatever its size.
  budget.letterBytesLeft -= deadLettersCostMax(context, settling);
  if (budget.letterBytesLeft < 0 && settling.marks.items.length > 1) {
    refuseTarget(work, ACK_ERROR.TOO_MUCH);
  }
  return { work, settling, room: PROMISED_ROOM };
}

/** Applies what was decided for a target. */
export function settleExamined(context: PlanContext, examined: ExaminedTarget): void {
  const { work, settling, room } = examined;
  const { command, target, verdicts } = work;
  const result = settle(context, settling, room);
  if (result.stoppedAt !== undefined) refuseFrom(settling.marks, verdicts, result.stoppedAt);
  for (const item of target.items) {
    if (verdicts.errors[item] !== ACK_ERROR.NONE) continue;
    const isSignal = asksForDeadLetter(command.statuses[item]!);
    verdicts.deadLettered[item] = isSignal && result.deadLettered > 0 ? 1 : 0;
  }
  if (result.isReleased) for (const item of target.items) verdicts.leaseReleased[item] = 1;
}

/** What is delivered again because there was no room for its dead letter, or for one before it. */
function refuseFrom({ items, offsets }: Marks, verdicts: AckVerdicts, offset: number): void {
  items.forEach((item, i) => {
    if (offsets[i]! >= offset) verdicts.errors[item] = ACK_ERROR.TOO_MUCH;
  });
}

/** The cursor that a target is about, or the error of one that has none. */
function findCursor(state: State, { command, target }: AckWork): FoundCursor | number {
  const partitionRow = state.partitions.numbers.get(target.partition);
  // It may have been removed since the step before.
  const queue = partitionRow === 0 ? undefined : state.queueOf(partitionRow);
  if (queue === undefined) return ACK_ERROR.UNKNOWN_PARTITION;
  const group = queue.groupByName(command.group);
  const cursorRow = group === undefined ? 0 : state.cursors.find(partitionRow, group.number);
  if (group === undefined || cursorRow === 0) return ACK_ERROR.UNRESOLVABLE;
  return { queue, group, partitionRow, cursorRow };
}

/** Finds the offsets of a target's items and answers those that are not in its batch. */
function resolveTarget(
  context: PlanContext,
  work: AckWork,
  { queue, group, partitionRow, cursorRow }: FoundCursor,
): Settling | undefined {
  const { cursors, partitions } = context.state;
  const { command, target } = work;
  const from = cursors.next.get(cursorRow);
  const isLeased = cursors.hasLease(cursorRow);
  const toExclusive = isLeased
    ? cursors.deliveries.leaseToExclusive.get(cursorRow)
    : partitions.tail.get(partitionRow);
  context.matcher.start(command, target.items);
  let isWhole = true;
  const range = { partitionRow, from, toExclusive };
  if (isLeased && !group.conflation) searchBatch(context, range);
  else isWhole = searchAhead(context, work, range);
  const marks = collectMarks(context, work, { queue, partitionRow, next: from, isWhole });
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
    cursors.deliveries.holds(cursorRow, command.leaseIds, item * ID_WORDS)
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
    refuseTarget(work, ACK_ERROR.INVALID_LEASE);
    return;
  }
  const from = cursors.settledFrom.get(cursorRow);
  matcher.start(command, target.items);
  const { partitionRow } = cursor;
  const range = { partitionRow, from, toExclusive };
  if (cursor.group.conflation) searchAhead(context, work, range);
  else searchBatch(context, range);
  const group = cursor.group.number;
  const hasDeadLetter = hasFiled(state, partitionRow, { group, from, toExclusive });
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

/** Whether the group has a dead letter in a range, among the newest of the partition. */
function hasFiled(state: State, partitionRow: number, range: DeadLetterRange): boolean {
  const { deadLetters, openBlocks } = state;
  const searched = Math.min(deadLetters.count, DEAD_LETTERS_SEARCHED_MAX);
  openBlocks.charge(searched * DEAD_LETTER_COST_BYTES);
  return deadLetters.hasIn(partitionRow, range, DEAD_LETTERS_SEARCHED_MAX);
}

/** Answers what did not resolve, and returns the rest by offset; undefined when nothing is left. */
function collectMarks(
  context: PlanContext,
  work: AckWork,
  place: ResolvedPlace,
): Marks | undefined {
  const { matcher } = context;
  const { next } = place;
  const { command, target, verdicts } = work;
  if (matcher.unresolved > 0) answerUnresolved(context, work, place);
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

/**
 * Ids that are not in the batch: completed ones may lie at or below the cursor. `isWhole` is false when
 * the budget ended before all of the batch was looked at.
 */
function answerUnresolved(context: PlanContext, work: AckWork, place: ResolvedPlace): void {
  const { matcher } = context;
  const { command, target, verdicts } = work;
  const { queue, partitionRow, next, isWhole } = place;
  const isOpen = (position: number): boolean =>
    matcher.offset(position) < 0 &&
    command.statuses[target.items[position]!] === ACK_STATUS.COMPLETED;
  const isKnown = isWhole && searchConsumed(context, work, { queue, partitionRow, next, isOpen });
  target.items.forEach((item, position) => {
    if (verdicts.noops[item] === 1) return;
    const offset = matcher.offset(position);
    const isCompleted = command.statuses[item] === ACK_STATUS.COMPLETED;
    if (offset >= next) return;
    if (offset >= 0 && isCompleted) verdicts.noops[item] = 1;
    else verdicts.errors[item] = isKnown ? ACK_ERROR.UNRESOLVABLE : ACK_ERROR.TOO_MUCH;
  });
}

function asksForDeadLetter(status: number): boolean {
  return status === ACK_STATUS.FAILED || status === ACK_STATUS.DLQ;
}

/** Refuses all items of a target. */
export function refuseTarget(
  { target, verdicts }: Pick<AckWork, 'target' | 'verdicts'>,
  error: number,
): void {
  for (const item of target.items) verdicts.errors[item] = error;
}
