// What a group could take from a partition at a moment (reference §2.4, §2.5), and when time alone
// will change that. Everything is computed anew from the messages each time it is asked.

import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { EmptyReason, Subscription } from '@queen-ts/protocol';
import { SECOND_US, tailOf } from './state.ts';
import type { ModelCursor, ModelGroup, ModelPartition, ModelQueue } from './state.ts';

/**
 * Timers fire at whole ticks: what time alone made claimable may be noticed this much later, by
 * parked pops and by those that take any partition.
 */
export const TICK_US = 1000;

/** What a claim would find. `toExclusive` is where visible messages end. */
export type Claimable =
  | { readonly kind: 'some'; readonly from: number; readonly toExclusive: number }
  | { readonly kind: 'none'; readonly reasons: readonly EmptyReason[] };

/** True while a lease holds its batch: it ends at its expiry, not after it. */
export function isLive(cursor: ModelCursor | undefined, nowUs: number): boolean {
  return cursor?.lease !== undefined && cursor.lease.expiresUs > nowUs;
}

/** Offset of the first message appended at or after an instant; the tail when there is none. */
function firstSince(partition: ModelPartition, instantUs: number): number {
  const append = partition.appends.find(({ createdUs }) => createdUs >= instantUs);
  return Math.max(append?.baseOffset ?? tailOf(partition), partition.logStart);
}

/** Where a group without a cursor would start in a partition (reference §2.4). */
export function startOf(
  partition: ModelPartition,
  group: { readonly name: string; readonly row: ModelGroup | undefined },
  subscription: Subscription,
): number {
  if (group.name === QUEUE_MODE_GROUP) return partition.logStart;
  const registration = group.row?.registration;
  if (registration !== undefined) return firstSince(partition, registration.fromUs);
  switch (subscription.mode) {
    case 'all':
      return partition.logStart;
    case 'new':
      return tailOf(partition);
    case 'from':
      return firstSince(partition, subscription.fromUs);
  }
}

/** Offset after the last message old enough for `delayedProcessing`. */
function visibleEnd(queue: ModelQueue, partition: ModelPartition, nowUs: number): number {
  const delayUs = queue.options.delayedProcessing * SECOND_US;
  // Appends of one cycle are stamped a little ahead of it; without a delay that hides nothing.
  if (delayUs <= 0) return tailOf(partition);
  const deferred = partition.appends.find(({ createdUs }) => nowUs - createdUs < delayUs);
  return deferred?.baseOffset ?? tailOf(partition);
}

function isInWindow(queue: ModelQueue, partition: ModelPartition, nowUs: number): boolean {
  const newest = partition.appends.at(-1);
  const windowUs = queue.options.windowBuffer * SECOND_US;
  return newest !== undefined && windowUs > 0 && nowUs - newest.createdUs < windowUs;
}

/** What the group can take from the partition now; `next` is its cursor's or where it would start. */
export function claimableOf(
  queue: ModelQueue,
  partition: ModelPartition,
  at: {
    readonly cursor: ModelCursor | undefined;
    readonly next: number;
    readonly nowUs: number;
  },
): Claimable {
  const from = Math.max(at.next, partition.logStart);
  const end = visibleEnd(queue, partition, at.nowUs);
  const reasons: EmptyReason[] = [];
  if (isLive(at.cursor, at.nowUs)) reasons.push('leased');
  if (from < tailOf(partition)) {
    if (isInWindow(queue, partition, at.nowUs)) reasons.push('window');
    if (from >= end) reasons.push('delayed');
  }
  if (reasons.length > 0) return { kind: 'none', reasons };
  if (from >= end) {
    // Nothing to deliver, and something that would hold it back: either reason is true.
    const open: EmptyReason[] = ['empty'];
    if (isInWindow(queue, partition, at.nowUs)) open.push('window');
    if (end < tailOf(partition)) open.push('delayed');
    return { kind: 'none', reasons: open };
  }
  return { kind: 'some', from, toExclusive: end };
}

/** A (partition, group) that the broker knows and so must wake pops for. */
export interface KnownPair {
  readonly queue: ModelQueue;
  readonly partition: ModelPartition;
  readonly group: string;
  readonly cursor: ModelCursor | undefined;
}

/** Every pair of a partition and a group whose place in it is decided. */
export function knownPairs(queues: Iterable<ModelQueue>): KnownPair[] {
  const all = [...queues].flatMap((queue) =>
    [...queue.partitions.values()].flatMap((partition) =>
      [...queue.groups.keys()].map((group) => {
        return { queue, partition, group, cursor: partition.cursors.get(group) };
      }),
    ),
  );
  return all.filter(({ queue, group, cursor }) => {
    const isRegistered = queue.groups.get(group)?.registration !== undefined;
    return cursor !== undefined || isRegistered;
  });
}

/** True when a pop of the pair's group would take something from its partition. */
export function isClaimable(pair: KnownPair, nowUs: number): boolean {
  const { queue, partition, group, cursor } = pair;
  const row = queue.groups.get(group);
  const next = cursor?.next ?? startOf(partition, { name: group, row }, { mode: 'all' });
  return claimableOf(queue, partition, { cursor, next, nowUs }).kind === 'some';
}

/** First moment after `nowUs` at which the pair becomes claimable if nothing else happens. */
export function nextClaimableUs(pair: KnownPair, nowUs: number): number {
  if (isClaimable(pair, nowUs)) return Infinity;
  const { queue, partition, cursor } = pair;
  const newest = partition.appends.at(-1);
  if (newest === undefined) return Infinity;
  const moments = [
    cursor?.lease?.expiresUs ?? 0,
    newest.createdUs + queue.options.windowBuffer * SECOND_US,
    ...partition.appends.map((it) => it.createdUs + queue.options.delayedProcessing * SECOND_US),
  ];
  const later = moments.filter((momentUs) => momentUs > nowUs && isClaimable(pair, momentUs));
  return Math.min(Infinity, ...later);
}
