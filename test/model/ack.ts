// The model's ack (reference §3.2), target by target, message by message.

import { ACK_ERROR, ACK_STATUS } from '@queen-ts/protocol';
import { formatUuid } from '@queen-ts/base';
import type { PlainAck, PlainAckItem } from './plain-commands.ts';
import { findPartition, tailOf } from './state.ts';
import type {
  ModelCursor,
  ModelLease,
  ModelMessage,
  ModelPartition,
  ModelQueue,
  ModelQueues,
} from './state.ts';
import { isLive } from './visibility.ts';

/** What one ack item may be answered with; several values where the reference is open. */
export interface ModelAckVerdict {
  readonly errors: readonly number[];
  readonly leaseReleased: readonly boolean[];
  readonly deadLettered: readonly boolean[];
  readonly noops: readonly boolean[];
}

type Item = PlainAckItem & { readonly position: number };

/** What an item of a target turned out to name. */
type Named =
  | { readonly kind: 'leased'; readonly item: Item; readonly offset: number }
  | { readonly kind: 'committed'; readonly item: Item }
  | { readonly kind: 'removed'; readonly item: Item }
  | { readonly kind: 'unresolvable'; readonly item: Item };

interface Target {
  readonly queues: ModelQueues;
  readonly queue: ModelQueue;
  readonly partition: ModelPartition;
  readonly group: string;
  readonly cursor: ModelCursor;
  readonly nowUs: number;
}

interface Settling {
  readonly isReleased: boolean;
  readonly hasFiled: boolean;
}

const YES_OR_NO = [true, false];

/** Applies an ack and returns what its items may be answered, in request order. */
export function modelAck(queues: ModelQueues, ack: PlainAck, nowUs: number): ModelAckVerdict[] {
  const verdicts: ModelAckVerdict[] = [];
  const targets = new Map<string, Item[]>();
  ack.items.forEach((plain, position) => {
    const item = { ...plain, position };
    const refusals = refusalsOf(queues, item);
    if (refusals.length > 0) {
      // Whether such an item echoes its target's lease flag is open.
      verdicts[position] = { ...rejected(...refusals), leaseReleased: YES_OR_NO };
      return;
    }
    const key = JSON.stringify([item.partition, item.lease]);
    targets.set(key, [...(targets.get(key) ?? []), item]);
  });
  for (const items of targets.values()) {
    const { queue, partition } = findPartition(queues, items[0]!.partition)!;
    const cursor = partition.cursors.get(ack.group);
    partition.touchedUs = nowUs;
    const target = { queues, queue, partition, group: ack.group, nowUs };
    ackTarget(cursor === undefined ? undefined : { ...target, cursor }, items, verdicts);
  }
  return verdicts;
}

/** Errors that keep an item out of its target. */
function refusalsOf(queues: ModelQueues, item: Item): number[] {
  const refusals: number[] = [];
  if (item.status === ACK_STATUS.UNKNOWN) refusals.push(ACK_ERROR.UNKNOWN_STATUS);
  if (findPartition(queues, item.partition) === undefined) {
    refusals.push(ACK_ERROR.UNKNOWN_PARTITION);
  }
  if (item.lease === 'malformed') refusals.push(ACK_ERROR.INVALID_LEASE);
  return refusals;
}

function rejected(...errors: number[]): ModelAckVerdict {
  return { errors, leaseReleased: [false], deadLettered: [false], noops: [false] };
}

function ackTarget(target: Target | undefined, items: Item[], verdicts: ModelAckVerdict[]): void {
  const { lease } = items[0]!;
  if (target === undefined) {
    const isNamed = lease !== null;
    const errors = isNamed
      ? [ACK_ERROR.UNRESOLVABLE, ACK_ERROR.INVALID_LEASE]
      : [ACK_ERROR.UNRESOLVABLE];
    for (const { position } of items) verdicts[position] = rejected(...errors);
    return;
  }
  const { cursor, nowUs } = target;
  const leaseId = lease === null || lease === 'malformed' ? undefined : formatUuid(lease);
  const isFenced = leaseId !== undefined;
  if (isFenced && !(isLive(cursor, nowUs) && cursor.lease?.id === leaseId)) {
    for (const item of items) verdicts[item.position] = repeatVerdict(target, item, leaseId);
    return;
  }
  const named = items.map((item, i) => resolve(target, item, items.slice(0, i)));
  const settling = settle(target, named);
  for (const it of named) verdicts[it.item.position] = verdictOf(it, settling);
}

/** Items of the batch that this very lease settled succeed again (reference §3.2, 2). */
function repeatVerdict(target: Target, item: Item, leaseId: string): ModelAckVerdict {
  const { cursor, partition } = target;
  const settled = cursor.settled.find((it) => it?.id === leaseId);
  if (settled === undefined) return rejected(ACK_ERROR.INVALID_LEASE);
  const batch = partition.messages.slice(settled.from, Math.min(settled.toExclusive, cursor.next));
  const named = batch.filter((message) => isNamedBy(message, item));
  if (named.length === 0) return rejected(ACK_ERROR.INVALID_LEASE, ACK_ERROR.UNRESOLVABLE);
  // Whether the repeat says again that it filed a dead letter, or that it changed nothing, is open.
  // Whether the id of a message that retention removed is still known is open, too.
  const isKnown = named.some(({ offset }) => offset >= partition.logStart);
  const isCertain = cursor.settled.length === 1 && isKnown;
  return {
    errors: isCertain ? [ACK_ERROR.NONE] : [ACK_ERROR.NONE, ACK_ERROR.INVALID_LEASE],
    leaseReleased: isCertain ? [true] : YES_OR_NO,
    deadLettered: item.status === ACK_STATUS.COMPLETED ? [false] : YES_OR_NO,
    noops: item.status === ACK_STATUS.COMPLETED ? YES_OR_NO : [false],
  };
}

function isNamedBy(message: ModelMessage, item: Item): boolean {
  return (message.txn ?? message.id) === item.txn;
}

/**
 * Without dedup an id can occur several times in a batch. Which occurrence an item means is open; here
 * the items that name it take them in offset order, and what they name beyond that is the last one.
 */
function resolve(target: Target, item: Item, before: readonly Item[]): Named {
  const { cursor, partition } = target;
  const retained = partition.messages.slice(partition.logStart);
  const end = cursor.lease?.toExclusive ?? tailOf(partition);
  const occurrences = retained.filter(
    (it) => it.offset >= cursor.next && it.offset < end && isNamedBy(it, item),
  );
  const mentions = before.filter(({ txn }) => txn === item.txn).length;
  const found = occurrences[mentions] ?? occurrences.at(-1);
  if (found !== undefined) return { kind: 'leased', item, offset: found.offset };
  const isCommitted = retained.some((it) => it.offset < cursor.next && isNamedBy(it, item));
  if (isCommitted && item.status === ACK_STATUS.COMPLETED) return { kind: 'committed', item };
  const isRemoved = partition.messages
    .slice(0, partition.logStart)
    .some((message) => isNamedBy(message, item));
  return { kind: isRemoved ? 'removed' : 'unresolvable', item };
}

function verdictOf(named: Named, settling: Settling): ModelAckVerdict {
  const leaseReleased = [settling.isReleased];
  switch (named.kind) {
    case 'unresolvable':
      return { ...rejected(ACK_ERROR.UNRESOLVABLE), leaseReleased };
    case 'removed': {
      // Whether the engine still remembers the id of a message that retention removed is open.
      const errors = [ACK_ERROR.NONE, ACK_ERROR.UNRESOLVABLE];
      return { errors, leaseReleased, deadLettered: YES_OR_NO, noops: YES_OR_NO };
    }
    case 'committed':
      return { errors: [ACK_ERROR.NONE], leaseReleased, deadLettered: [false], noops: [true] };
    case 'leased': {
      const { status } = named.item;
      const asksForIt = status === ACK_STATUS.FAILED || status === ACK_STATUS.DLQ;
      const deadLettered = [asksForIt && settling.hasFiled];
      return { errors: [ACK_ERROR.NONE], leaseReleased, deadLettered, noops: [false] };
    }
  }
}

/** Strongest statement on one offset: dlq, then failed, then retry, then completed. */
const STRENGTH = [ACK_STATUS.COMPLETED, ACK_STATUS.RETRY, ACK_STATUS.FAILED, ACK_STATUS.DLQ];

function settle(target: Target, named: readonly Named[]): Settling {
  const { cursor } = target;
  const { lease } = cursor;
  const statements = new Map<number, Item[]>();
  for (const it of named) {
    if (it.kind !== 'leased') continue;
    const said = [...(statements.get(it.offset) ?? []), it.item];
    said.sort((a, b) => strength(b) - strength(a) || a.position - b.position);
    statements.set(it.offset, said);
  }
  if (statements.size === 0) return { isReleased: false, hasFiled: false };
  const offsets = [...statements.keys()].sort((a, b) => a - b);
  const statusAt = (offset: number): number | undefined => statements.get(offset)?.[0]!.status;
  const head = offsets.find((offset) => statusAt(offset) !== ACK_STATUS.COMPLETED);
  const completed = [...statements].flatMap(([offset, said]) =>
    said.some(({ status }) => status === ACK_STATUS.COMPLETED) ? [offset] : [],
  );
  const before = cursor.next;
  const below = completed.filter((offset) => head === undefined || offset < head);
  cursor.next = Math.max(before, ...below.map((offset) => offset + 1));
  if (lease === undefined) {
    moveWithoutLease(cursor, before);
    return { isReleased: false, hasFiled: false };
  }
  if (head === undefined) return settleCompleted(cursor, lease, before);
  const status = statusAt(head);
  if (status === ACK_STATUS.DLQ || (status === ACK_STATUS.FAILED && isExhausted(target))) {
    return settleHead(target, { lease, head, statements, completed, named });
  }
  if (status === ACK_STATUS.FAILED) cursor.retries = cursor.retries.map((count) => count + 1);
  if (cursor.next > before) {
    // «may show 1 again»: whether a completed prefix carries the count along is open.
    cursor.attempt = { from: cursor.next, counts: [0, ...attemptsAt(cursor, before)] };
  }
  cursor.lease = undefined;
  return { isReleased: true, hasFiled: false };
}

function strength({ status }: Item): number {
  return STRENGTH.findIndex((it) => it === status);
}

/** The retry counter after a completed ack that no lease covered is open, and so is the attempt. */
function moveWithoutLease(cursor: ModelCursor, before: number): void {
  if (cursor.next === before) return;
  cursor.retries = [...new Set([0, ...cursor.retries])];
  cursor.attempt = { from: cursor.next, counts: [0, ...attemptsAt(cursor, before)] };
}

function settleCompleted(cursor: ModelCursor, lease: ModelLease, before: number): Settling {
  if (cursor.next === lease.toExclusive) {
    release(cursor, lease);
    return { isReleased: true, hasFiled: false };
  }
  if (cursor.next > before) {
    cursor.attempt = { from: cursor.next, counts: attemptsAt(cursor, before) };
  }
  return { isReleased: false, hasFiled: false };
}

/** Counts that a batch starting at `offset` has been delivered. */
function attemptsAt(cursor: ModelCursor, offset: number): readonly number[] {
  const { from, counts } = cursor.attempt;
  if (from === offset) return counts;
  // Whether an attempt still counts after retention removed where it started is open.
  return from > offset ? [0, ...counts] : [0];
}

/** Ends a lease whose whole batch is settled. */
function release(cursor: ModelCursor, lease: ModelLease): void {
  cursor.lease = undefined;
  cursor.settled = [lease];
  cursor.retries = [0];
  cursor.attempt = { from: 0, counts: [0] };
}

/** The retry counter is known here: it is only open until the next look at the engine's rows. */
function isExhausted({ queue, cursor }: Target): boolean {
  return cursor.retries[0]! >= Math.max(0, queue.options.retryLimit);
}

interface HeadSettling {
  readonly lease: ModelLease;
  readonly head: number;
  readonly statements: ReadonlyMap<number, readonly Item[]>;
  readonly completed: readonly number[];
  readonly named: readonly Named[];
}

/** Files or drops the head and settles what follows it (reference §3.2, 8). */
function settleHead(target: Target, at: HeadSettling): Settling {
  const { cursor, queue } = target;
  const { lease, head, statements, completed } = at;
  const hasDeadLetters = queue.options.deadLetterQueue || queue.options.dlqAfterMaxRetries;
  const exhausted = isExhausted(target);
  const highestCompleted = Math.max(-1, ...completed);
  let hasFiled = false;
  let keepsRetries = false;
  let offset = head;
  for (; offset < lease.toExclusive; offset += 1) {
    const said = statements.get(offset);
    const status = said?.[0]!.status;
    if (status === ACK_STATUS.RETRY) break;
    if (status === undefined && offset > highestCompleted) break;
    if (status === ACK_STATUS.FAILED && !exhausted) {
      keepsRetries = true;
      break;
    }
    if (status === ACK_STATUS.DLQ || (status === ACK_STATUS.FAILED && hasDeadLetters)) {
      file(target, offset, at);
      hasFiled = true;
    }
  }
  cursor.next = offset;
  if (cursor.next === lease.toExclusive) release(cursor, lease);
  else cursor.settled = [{ ...lease, toExclusive: offset }, ...cursor.settled];
  cursor.lease = undefined;
  if (!keepsRetries) cursor.retries = [0];
  cursor.attempt = { from: 0, counts: [0] };
  return { isReleased: true, hasFiled };
}

function file(target: Target, offset: number, at: HeadSettling): void {
  const { queues, queue, partition, group, cursor, nowUs } = target;
  queue.deadLetters.push({
    queue: queue.name,
    partition: partition.name,
    group,
    offset,
    message: partition.messages[offset]!,
    number: nextNumber(queues),
    retryCounts: cursor.retries,
    failedUs: nowUs,
    errors: errorTexts(offset, at),
  });
}

/** Later than every dead letter that is there. */
function nextNumber(queues: ModelQueues): number {
  const all = [...queues.values()].flatMap(({ deadLetters }) => deadLetters);
  return 1 + Math.max(0, ...all.map(({ number }) => number));
}

/** The item's own text, else one of another item of the target, else a default. */
function errorTexts(offset: number, { statements, named }: HeadSettling): (string | undefined)[] {
  const said = statements.get(offset) ?? [];
  const own = said.filter(({ status }) => status === said[0]!.status).map(({ error }) => error);
  const texts = own.filter((error) => error !== null);
  if (texts.length === own.length) return texts;
  const others = named
    .filter(({ kind, item }) => kind === 'leased' && item.status !== ACK_STATUS.COMPLETED)
    .map(({ item }) => item.error)
    .filter((error) => error !== null);
  return [...texts, ...others.slice(0, 1), ...(others.length === 0 ? [undefined] : [])];
}
