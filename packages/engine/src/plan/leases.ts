// Cursors by the lease they hold.

import type { Id128 } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** Rows that hold the lease, still live, in queues that exist. The zero id is never held. */
export function liveLeases(state: State, leaseId: Id128): number[] {
  const { cursors } = state;
  const rows: number[] = [];
  let row = cursors.deliveries.firstOf(leaseId);
  for (; row !== 0; row = cursors.deliveries.nextOf(row)) {
    const isLive = cursors.isLeased(row, state.nowUs);
    if (isLive && state.queueOf(cursors.index.partitionOf(row)) !== undefined) rows.push(row);
  }
  return rows;
}
