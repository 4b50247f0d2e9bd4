// How a batch is settled (reference §3.2, steps 5 to 8): the head signal decides, completed items
// before it complete everything below them, and after a filed or dropped head the walk goes on.

import { ACK_STATUS } from '@queen-ts/protocol';
import type { AckCommand, CursorPutEffect } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { PlanContext } from './context.ts';
import { NO_ATTEMPT, NO_LEASE, readCursor } from './cursor-row.ts';
import { fileDeadLetter } from './dead-letter.ts';

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
export function settle(context: PlanContext, settling: Settling): SettleResult {
  const { marks } = settling;
  const cursor = readCursor(context.state, settling.cursorRow);
  const isLeased = cursor.leaseToExclusive > 0;
  const head = headOf(marks);
  const next = nextBelow(marks, cursor.next, head);
  if (head === Infinity || !isLeased) return complete(context, cursor, next);
  const status = strongest(marks, head);
  const isExhausted = cursor.retryCount >= Math.max(0, settling.queue.options.retryLimit);
  if (status.status === ACK_STATUS.RETRY || (status.status === ACK_STATUS.FAILED && !isExhausted)) {
    const charge = status.status === ACK_STATUS.FAILED ? 1 : 0;
    context.emit({ ...cursor, next, retryCount: cursor.retryCount + charge, ...NO_LEASE });
    return { isReleased: true, deadLettered: 0 };
  }
  return passHead(context, settling, { cursor, head, isExhausted });
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

/** Files or drops the head and what follows it, as far as the marks allow. */
function passHead(
  context: PlanContext,
  settling: Settling,
  at: { readonly cursor: CursorPutEffect; readonly head: number; readonly isExhausted: boolean },
): SettleResult {
  const { marks } = settling;
  const { cursor, isExhausted } = at;
  const byOffset = strongestByOffset(marks);
  const completedTo = nextBelow(marks, 0, Infinity);
  let deadLettered = 0;
  let isKeptCounter = false;
  let offset = at.head;
  for (; offset < cursor.leaseToExclusive; offset += 1) {
    const mark = byOffset.get(offset);
    const status = mark?.status ?? ACK_STATUS.UNKNOWN;
    if (mark === undefined && offset >= completedTo) break;
    if (status === ACK_STATUS.RETRY) break;
    if (status === ACK_STATUS.FAILED && !isExhausted) {
      isKeptCounter = true;
      break;
    }
    if (mark !== undefined && isFiled(settling.queue, status)) {
      deadLettered += 1;
      file(context, settling, cursor, { offset, item: mark.item });
    }
  }
  context.emit({
    ...cursor,
    next: offset,
    retryCount: isKeptCounter ? cursor.retryCount : 0,
    ...NO_LEASE,
    ...NO_ATTEMPT,
    ...settledBy(cursor, offset),
  });
  return { isReleased: true, deadLettered };
}

function isFiled(queue: QueueState, status: number): boolean {
  if (status === ACK_STATUS.DLQ) return true;
  const { deadLetterQueue, dlqAfterMaxRetries } = queue.options;
  return status === ACK_STATUS.FAILED && (deadLetterQueue || dlqAfterMaxRetries);
}

function file(
  context: PlanContext,
  settling: Settling,
  cursor: CursorPutEffect,
  letter: { readonly offset: number; readonly item: number },
): void {
  fileDeadLetter(context, {
    partition: cursor.partition,
    group: cursor.group,
    offset: letter.offset,
    retryCount: cursor.retryCount,
    error: errorOf(settling, letter.item),
  });
}

/** The item's own error, else the first one of the target that did not complete. */
function errorOf(settling: Settling, item: number): string {
  const { command, marks } = settling;
  const own = command.errors?.[item];
  if (own !== undefined && own !== null) return own;
  for (const other of marks.items) {
    const text = command.errors?.[other];
    const isCompleted = command.statuses[other] === ACK_STATUS.COMPLETED;
    if (!isCompleted && text !== undefined && text !== null) return text;
  }
  return DEFAULT_ERROR;
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

function strongest(marks: Marks, offset: number): Mark {
  return strongestByOffset(marks).get(offset)!;
}

function strongestByOffset(marks: Marks): Map<number, Mark> {
  const byOffset = new Map<number, Mark>();
  for (let i = 0; i < marks.items.length; i += 1) {
    const item = marks.items[i]!;
    const status = marks.statuses[item]!;
    const known = byOffset.get(marks.offsets[i]!);
    if (known === undefined || rank(status) > rank(known.status)) {
      byOffset.set(marks.offsets[i]!, { status, item });
    }
  }
  return byOffset;
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
