// Cursor rows as planning reads and rewrites them.

import { EFFECT, ZERO_ID } from '@queen-ts/protocol';
import type { CursorPutEffect } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** The part of a row that describes no lease. */
export const NO_LEASE = {
  leaseId: ZERO_ID,
  leaseExpiresUs: 0,
  leaseFrom: 0,
  leaseToExclusive: 0,
} as const;

/** The part of a row that describes no delivery. */
export const NO_ATTEMPT = { attemptFrom: 0, attemptCount: 0 } as const;

/** A cursor row as it is, to be put again with changes. */
export function readCursor(state: State, row: number): CursorPutEffect {
  const { cursors, partitions } = state;
  return {
    kind: EFFECT.CURSOR_PUT,
    partition: partitions.number.get(cursors.index.partitionOf(row)),
    group: cursors.index.groupOf(row),
    next: cursors.next.get(row),
    retryCount: cursors.deliveries.retryCount.get(row),
    leaseId: cursors.leaseId(row),
    leaseExpiresUs: cursors.deliveries.leaseExpiresUs.get(row),
    leaseFrom: cursors.deliveries.leaseFrom.get(row),
    leaseToExclusive: cursors.deliveries.leaseToExclusive.get(row),
    attemptFrom: cursors.deliveries.attemptFrom.get(row),
    attemptCount: cursors.deliveries.attemptCount.get(row),
    settledLeaseId: cursors.settledLeaseId(row),
    settledFrom: cursors.settledFrom.get(row),
    settledToExclusive: cursors.settledToExclusive.get(row),
  };
}

/** The row of a cursor that does not exist yet. */
export function newCursor(partition: number, group: number, next: number): CursorPutEffect {
  return {
    kind: EFFECT.CURSOR_PUT,
    partition,
    group,
    next,
    retryCount: 0,
    ...NO_LEASE,
    ...NO_ATTEMPT,
    settledLeaseId: ZERO_ID,
    settledFrom: 0,
    settledToExclusive: 0,
  };
}
