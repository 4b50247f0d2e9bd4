// How a batch is settled (reference §3.2, steps 5 to 8): the head signal decides, completed items
// before it complete everything below them, and after a filed or dropped head the walk goes on.

import { ACK_STATUS } from '@queen-ts/protocol';
import type { AckCommand, CursorPutEffect } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { PlanContext } from './context.ts';
import { NO_ATTEMPT, NO_LEASE, readCursor } from './cursor-row.ts';
import { deadLetterCostMax, fileDeadLetter } from './dead-letter.ts';

/** Error text of a dead letter whose ack gave none. */
const DEFAULT_ERROR = 'Retries exhausted';

/** Resolved items of one target. */
export interface Marks {
  /** Offset of each, at or above the cursor. */
  readonly offsets: readonly number[];
  /** Position of each in the command. */
  readonly items: readonly number[];
  /** The command's statuses. */
  readonly statuses: Uint8Array;
}

/** What settling did. */
export interface SettleResult {
  readonly isReleased: boolean;
  readonly deadLettered: number;
  /** Where the room for dead letters ended: messages from there on are delivered again. */
  readonly stoppedAt?: number;
}

/** Room that is left for dead letters; see AckBudget. */
export interface DeadLetterRoom {
  letterBytesLeft: number;
}

/** What is settled. */
export interface Settling {
  readonly queue: QueueState;
  readonly cursorRow: number;
  readonly marks: Marks;
  readonly command: AckCommand;
}

/** The strongest mark at an offset: dlq, then failed, then retry, then completed. */
interface Mark {
  readonly status: number;
  readonly item: number;
}

/** Settles a target and applies the effects. */
export function settle(
  context: PlanContext,
  settling: Settling,
  room: DeadLetterRoom,
): SettleResult {
  const { marks } = settling;
  const cursor = readCursor(context.state, settling.cursorRow);
  const isLeased = cursor.leaseToExclusive > 0;
  const head = headOf(marks);
  const next = nextBelow(marks, cursor.next, head);
  if (head === Infinity || !isLeased) return complete(context, cursor, next);
  const status = strongestAt(marks, head);
  const isExhausted = hasNoRetryLeft(settling.queue, cursor.retryCount);
  if (status === ACK_STATUS.RETRY || (status === ACK_STATUS.FAILED && !isExhausted)) {
    const charge = status === ACK_STATUS.FAILED ? 1 : 0;
    context.emit({ ...cursor, next, retryCount: cursor.retryCount + charge, ...NO_LEASE });
    return { isReleased: true, deadLettered: 0 };
  }
  return passHead(context, settling, { cursor, head, isExhausted, room });
}

/** No signal, or none that counts: the completed part moves the cursor. */
function complete(context: PlanContext, cursor: CursorPutEffect, next: number): SettleResult {
  if (next === cursor.next) return { isReleased: false, deadLettered: 0 };
  if (cursor.leaseToExclusive > 0 && next >= cursor.leaseToExclusive) {
    context.emit({
      ...cursor,
      next,
      retryCount: 0,
      ...NO_LEASE,
      ...NO_ATTEMPT,
      ...settledBy(cursor, next),
    });
    return { isReleased: true, deadLettered: 0 };
  }
  // The marker of a delivery moves along with its lease and keeps its count. Without a lease nobody
  // can tell what of it was delivered: the next delivery is a first one.
  const isDelivered = cursor.leaseToExclusive > 0 && cursor.attemptCount > 0;
  context.emit({ ...cursor, next, ...(isDelivered ? { attemptFrom: next } : NO_ATTEMPT) });
  return { isReleased: false, deadLettered: 0 };
}

/** Files or drops the head and what follows it, as far as the marks and the room allow. */
function passHead(
  context: PlanContext,
  settling: Settling,
  at: {
    readonly cursor: CursorPutEffect;
    readonly head: number;
    readonly isExhausted: boolean;
    readonly room: DeadLetterRoom;
  },
): SettleResult {
  const { marks } = settling;
  const { cursor, isExhausted, room } = at;
  const completedTo = nextBelow(marks, 0, Infinity);
  const textOf = errorTexts(settling);
  let deadLettered = 0;
  let isKeptCounter = false;
  let isStopped = false;
  let offset = at.head;
  for (const [marked, { status, item }] of strongestFrom(marks, at.head)) {
    // Unnamed messages in between are done only below a completed one.
    if (marked > offset && offset >= completedTo) break;
    offset = marked;
    if (status === ACK_STATUS.RETRY) break;
    const isLetter = isFiled(settling.queue, status);
    isStopped = isLetter && room.letterBytesLeft <= 0;
    if (status === ACK_STATUS.FAILED && (!isExhausted || isStopped)) isKeptCounter = true;
    if (isKeptCounter || isStopped) break;
    if (isLetter) {
      deadLettered += 1;
      room.letterBytesLeft -= file(context, cursor, { offset, error: textOf(item) });
    }
    offset = marked + 1;
  }
  context.emit({
    ...cursor,
    next: offset,
    retryCount: isKeptCounter ? cursor.retryCount : 0,
    ...NO_LEASE,
    ...NO_ATTEMPT,
    ...settledBy(cursor, offset),
  });
  return { isReleased: true, deadLettered, ...(isStopped ? { stoppedAt: offset } : {}) };
}

/** Most that filing the dead letters of a target can count for, in bytes. */
export function deadLettersCostMax(context: PlanContext, settling: Settling): number {
  const { queue, cursorRow, marks } = settling;
  const { cursors, partitions } = context.state;
  const isExhausted = hasNoRetryLeft(queue, cursors.deliveries.retryCount.get(cursorRow));
  const partition = partitions.number.get(cursors.index.partitionOf(cursorRow));
  const textOf = errorTexts(settling);
  let costBytes = 0;
  marks.items.forEach((item, i) => {
    const status = marks.statuses[item]!;
    if (!isFiled(queue, status) || (status === ACK_STATUS.FAILED && !isExhausted)) return;
    const letter = { partition, offset: marks.offsets[i]!, error: textOf(item) };
    costBytes += deadLetterCostMax(context.state, letter);
  });
  return costBytes;
}

function hasNoRetryLeft(queue: QueueState, retryCount: number): boolean {
  return retryCount >= Math.max(0, queue.options.retryLimit);
}

function isFiled(queue: QueueState, status: number): boolean {
  if (status === ACK_STATUS.DLQ) return true;
  const { deadLetterQueue, dlqAfterMaxRetries } = queue.options;
  return status === ACK_STATUS.FAILED && (deadLetterQueue || dlqAfterMaxRetries);
}

/** Files one message; returns what that counts for. */
function file(
  context: PlanContext,
  cursor: CursorPutEffect,
  letter: { readonly offset: number; readonly error: string },
): number {
  const { partition, group, retryCount } = cursor;
  return fileDeadLetter(context, { partition, group, retryCount, ...letter });
}

/** The text of an item: its own error, else the first one of the target that did not complete. */
function errorTexts({ command, marks }: Settling): (item: number) => string {
  const { errors, statuses } = command;
  const isText = (item: number): boolean => typeof errors?.[item] === 'string';
  const first = marks.items.find((item) => statuses[item] !== ACK_STATUS.COMPLETED && isText(item));
  const shared = (first === undefined ? undefined : errors?.[first]) ?? DEFAULT_ERROR;
  return (item) => errors?.[item] ?? shared;
}

/** The memory of the lease that ends here, for repeats of this ack. */
function settledBy(
  cursor: CursorPutEffect,
  toExclusive: number,
): Pick<CursorPutEffect, 'settledLeaseId' | 'settledFrom' | 'settledToExclusive'> {
  return {
    settledLeaseId: cursor.leaseId,
    settledFrom: cursor.leaseFrom,
    settledToExclusive: toExclusive,
  };
}

/** Lowest offset with a signal, or Infinity. */
function headOf(marks: Marks): number {
  let head = Infinity;
  for (let i = 0; i < marks.items.length; i += 1) {
    const isSignal = marks.statuses[marks.items[i]!] !== ACK_STATUS.COMPLETED;
    if (isSignal && marks.offsets[i]! < head) head = marks.offsets[i]!;
  }
  return head;
}

/** Where the cursor goes by the completed items below `head`; at least `next`. */
function nextBelow(marks: Marks, next: number, head: number): number {
  let moved = next;
  for (let i = 0; i < marks.items.length; i += 1) {
    const offset = marks.offsets[i]!;
    const isCompleted = marks.statuses[marks.items[i]!] === ACK_STATUS.COMPLETED;
    if (isCompleted && offset < head && offset >= moved) moved = offset + 1;
  }
  return moved;
}

/** The strongest status at an offset. */
function strongestAt(marks: Marks, offset: number): number {
  let status: number = ACK_STATUS.COMPLETED;
  for (let i = 0; i < marks.items.length; i += 1) {
    const other = marks.statuses[marks.items[i]!]!;
    if (marks.offsets[i] === offset && rank(other) > rank(status)) status = other;
  }
  return status;
}

/** The strongest mark of every named offset from `from` on, in the order of the offsets. */
function* strongestFrom(marks: Marks, from: number): Generator<readonly [number, Mark]> {
  if (!isAscending(marks.offsets)) {
    yield* sortedFrom(marks, from);
    return;
  }
  // As a rule: items in the order of their messages, each named once.
  for (let i = 0; i < marks.items.length; i += 1) {
    const offset = marks.offsets[i]!;
    const item = marks.items[i]!;
    if (offset >= from) yield [offset, { status: marks.statuses[item]!, item }];
  }
}

function isAscending(offsets: readonly number[]): boolean {
  for (let i = 1; i < offsets.length; i += 1) {
    if (offsets[i]! <= offsets[i - 1]!) return false;
  }
  return true;
}

function sortedFrom(marks: Marks, from: number): readonly (readonly [number, Mark])[] {
  const byOffset = new Map<number, Mark>();
  for (let i = 0; i < marks.items.length; i += 1) {
    const offset = marks.offsets[i]!;
    if (offset < from) continue;
    const item = marks.items[i]!;
    const status = marks.statuses[item]!;
    const known = byOffset.get(offset);
    if (known === undefined || rank(status) > rank(known.status)) {
      byOffset.set(offset, { status, item });
    }
  }
  return [...byOffset].sort(([a], [b]) => a - b);
}

function rank(status: number): number {
  switch (status) {
    case ACK_STATUS.DLQ:
      return 3;
    case ACK_STATUS.FAILED:
      return 2;
    case ACK_STATUS.RETRY:
      return 1;
    default:
      return 0;
  }
}
