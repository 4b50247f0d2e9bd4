// Claims from one partition: what is visible past the cursor, as much as the call's budget allows,
// under a lease or committed at once (reference §2.5, §2.6).

import { ZERO_ID } from '@queen-ts/protocol';
import type { Claim, CursorPutEffect, EmptyReason, PopCommand } from '@queen-ts/protocol';
import type { GroupState, QueueState } from '../queue-state.ts';
import { deferUntil, keepLeaseTimer } from '../readiness.ts';
import type { State } from '../state.ts';
import type { PlanContext } from './context.ts';
import { newCursor, NO_ATTEMPT, NO_LEASE, readCursor } from './cursor-row.ts';
import { holdsForeignKey } from './foreign-key.ts';
import { seedOfGroup } from './groups.ts';
import { takeSpans } from './spans.ts';

const US_PER_SECOND = 1_000_000;

/** One pop while it is planned. */
export interface Claiming {
  readonly command: PopCommand;
  readonly claims: Claim[];
  /** Messages, partitions and bytes that the call may still take. */
  messagesLeft: number;
  partitionsLeft: number;
  bytesLeft: number;
  /** Partitions that the call may still look at in vain. */
  scansLeft: number;
  /** Whether it gave up because of that. */
  isCut: boolean;
  messageCount: number;
  isConflating: boolean;
  isConflict: boolean;
  /** Whether it met messages that the node which asks cannot open. */
  isForeign: boolean;
  /** What kept the last partition that had messages from being claimed. */
  reason: EmptyReason;
}

/** Where a claim happens. */
export interface ClaimTarget {
  readonly queue: QueueState;
  readonly group: GroupState;
  readonly row: number;
  /** First offset if the group has no cursor here; undefined means by the group's subscription. */
  readonly seed: number | undefined;
}

/** Claims what it can; returns undefined if it did, else what prevented it. */
export function claimPartition(
  context: PlanContext,
  claiming: Claiming,
  target: ClaimTarget,
): EmptyReason | undefined {
  const { state } = context;
  const { group, row } = target;
  const { partitions, cursors } = state;
  const cursorRow = cursors.find(row, group.number);
  if (cursorRow !== 0 && cursors.isLeased(cursorRow, state.nowUs)) {
    // The time may have been set back after its timer fired: then nothing else would offer it again.
    keepLeaseTimer(state, cursorRow, group);
    return 'leased';
  }
  const next = nextOffset(state, target, cursorRow);
  const start = Math.max(next, partitions.logStart.get(row));
  if (start >= partitions.tail.get(row)) {
    if (cursorRow !== 0 && next < start) seal(context, cursorRow, start);
    return 'empty';
  }
  const end = visibleEnd(state, target.queue, row);
  if (end < 0) return 'window';
  if (start >= end) return 'delayed';
  const cursor =
    cursorRow === 0
      ? newCursor(partitions.number.get(row), group.number, next)
      : readCursor(state, cursorRow);
  const from = group.conflation ? end - 1 : start;
  const range = { row, from, toExclusive: Math.min(end, from + claiming.messagesLeft) };
  const { spans, toExclusive, sizeBytes } = takeSpans(state, range, claiming.bytesLeft);
  if (holdsForeignKey(state, claiming.command, { queue: target.queue, spans })) {
    return leaveForeign(state, claiming, target);
  }
  const attempt = claiming.command.autoAck
    ? commit(context, cursor, toExclusive)
    : lease(context, claiming, target, { cursor, from: start, toExclusive });
  claiming.claims.push({
    queue: target.queue.name,
    partition: partitions.names.nameText(row),
    partitionNumber: partitions.number.get(row),
    deliveryAttempt: attempt,
    spans,
  });
  claiming.messageCount += toExclusive - from;
  claiming.messagesLeft -= toExclusive - from;
  // What did not fit ends the call: a committed partition could be claimed again at once.
  claiming.bytesLeft = toExclusive < range.toExclusive ? 0 : claiming.bytesLeft - sizeBytes;
  claiming.partitionsLeft -= 1;
  return undefined;
}

/** Leaves a partition to those who can open its messages, and ends the call: others may be alike. */
function leaveForeign(state: State, claiming: Claiming, { group, row }: ClaimTarget): EmptyReason {
  const ordinal = state.partitions.ordinal.get(row);
  if (group.isRegistered && ordinal < group.walkFrom) group.ready.push(ordinal);
  claiming.isForeign = true;
  claiming.partitionsLeft = 0;
  return 'empty';
}

/** How many messages of a partition a claim would find, batch and size aside. */
export function countVisible(state: State, target: ClaimTarget): number {
  const { group, queue, row } = target;
  const cursorRow = state.cursors.find(row, group.number);
  if (cursorRow !== 0 && state.cursors.isLeased(cursorRow, state.nowUs)) return 0;
  const start = Math.max(nextOffset(state, target, cursorRow), state.partitions.logStart.get(row));
  if (start >= state.partitions.tail.get(row)) return 0;
  return Math.max(0, visibleEnd(state, queue, row) - start);
}

/** Whether a group may find something in a partition: cheap, may say yes where a claim says no. */
export function mayClaim(state: State, group: GroupState, row: number): boolean {
  const { partitions, cursors } = state;
  const tail = partitions.tail.get(row);
  const cursorRow = group.cursors === 0 ? 0 : cursors.find(row, group.number);
  if (cursorRow !== 0) return cursors.next.get(cursorRow) < tail;
  return partitions.logStart.get(row) < tail && partitions.lastAppendUs.get(row) >= group.fromUs;
}

function nextOffset(state: State, target: ClaimTarget, cursorRow: number): number {
  if (cursorRow !== 0) return state.cursors.next.get(cursorRow);
  return target.seed ?? seedOfGroup(state, target.group, target.row);
}

/** Retention took what the cursor had not reached: nothing is left to wait for. */
function seal(context: PlanContext, cursorRow: number, next: number): void {
  context.emit({
    ...readCursor(context.state, cursorRow),
    next,
    ...NO_LEASE,
    ...NO_ATTEMPT,
  });
}

/** Offset where the deferred suffix starts, -1 when the queue's window holds everything back. */
function visibleEnd(state: State, queue: QueueState, row: number): number {
  const { partitions, blocks, nowUs } = state;
  const { windowUs, delayUs } = queue;
  if (windowUs > 0) {
    const quietUs = partitions.lastAppendUs.get(row) + windowUs;
    if (quietUs > nowUs) {
      deferUntil(state, row, quietUs);
      return -1;
    }
  }
  const tail = partitions.tail.get(row);
  if (delayUs === 0) return tail;
  const deferred = blocks.firstSince(row, nowUs - delayUs + 1);
  if (deferred === undefined) return tail;
  deferUntil(state, row, deferred.createdUs + delayUs);
  return deferred.baseOffset;
}

/** Commits on delivery: at most once, no lease, always the first attempt. */
function commit(context: PlanContext, cursor: CursorPutEffect, toExclusive: number): number {
  context.emit({ ...cursor, next: toExclusive, retryCount: 0, ...NO_LEASE, ...NO_ATTEMPT });
  return 1;
}

function lease(
  context: PlanContext,
  claiming: Claiming,
  target: ClaimTarget,
  batch: {
    readonly cursor: CursorPutEffect;
    readonly from: number;
    readonly toExclusive: number;
  },
): number {
  const { cursor } = batch;
  const { command } = claiming;
  const seconds = command.leaseSeconds > 0 ? command.leaseSeconds : target.queue.options.leaseTime;
  // A conflated delivery is anchored where its span starts, so superseded ones keep counting.
  const attemptFrom = target.group.conflation ? cursor.next : batch.from;
  const isRepeat = cursor.attemptCount > 0 && cursor.attemptFrom === attemptFrom;
  const attemptCount = isRepeat ? cursor.attemptCount + 1 : 1;
  context.emit({
    ...cursor,
    leaseId: command.leaseId,
    leaseExpiresUs: context.state.nowUs + Math.max(1, seconds) * US_PER_SECOND,
    leaseFrom: batch.from,
    leaseToExclusive: batch.toExclusive,
    attemptFrom,
    attemptCount,
  });
  return attemptCount;
}

/** Lease id of an answer: none when it was committed on delivery or holds nothing. */
export function answeredLeaseId(claiming: Claiming): PopCommand['leaseId'] {
  const { command, claims } = claiming;
  return command.autoAck || claims.length === 0 ? ZERO_ID : command.leaseId;
}
