// The model's extend and release: every live lease that carries the id (reference §4, decisions D2).

import { SECOND_US } from './state.ts';
import type { ModelCursor, ModelLease, ModelQueues } from './state.ts';
import { isLive } from './visibility.ts';

interface Holder {
  readonly cursor: ModelCursor;
  readonly lease: ModelLease;
}

function holdersOf(queues: ModelQueues, leaseId: string | undefined, nowUs: number): Holder[] {
  const partitions = [...queues.values()].flatMap((queue) => [...queue.partitions.values()]);
  return partitions.flatMap((partition) =>
    [...partition.cursors.values()].flatMap((cursor) => {
      const { lease } = cursor;
      if (lease === undefined || lease.id !== leaseId || !isLive(cursor, nowUs)) return [];
      partition.touchedUs = nowUs;
      return [{ cursor, lease }];
    }),
  );
}

/** Extends; returns how many leases and the earliest new expiry, 0 without any. */
export function modelExtend(
  queues: ModelQueues,
  extend: { readonly leaseId: string | undefined; readonly seconds: number },
  nowUs: number,
): { readonly renewed: number; readonly expiresAtUs: number } {
  const holders = holdersOf(queues, extend.leaseId, nowUs);
  for (const { lease } of holders) {
    lease.expiresUs = Math.max(lease.expiresUs, nowUs + extend.seconds * SECOND_US);
  }
  const expiries = holders.map(({ lease }) => lease.expiresUs);
  return { renewed: holders.length, expiresAtUs: holders.length === 0 ? 0 : Math.min(...expiries) };
}

/** Gives leases back with their attempt; returns how many. */
export function modelRelease(queues: ModelQueues, leaseId: string, nowUs: number): number {
  const holders = holdersOf(queues, leaseId, nowUs);
  for (const { cursor } of holders) {
    cursor.lease = undefined;
    const { from, counts } = cursor.attempt;
    cursor.attempt = { from, counts: counts.map((count) => Math.max(0, count - 1)) };
  }
  return holders.length;
}
