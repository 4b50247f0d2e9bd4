// Message counts of one partition (control-plane reference §3.1): what the slowest named group has not
// acked is pending (queue mode counts only when no named group has a cursor), leased batches are
// processing, the rest is completed. They are computed, not kept: acks and appends stay as cheap as
// they are, and an answer is exact for every partition at the moment it is looked at.

import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { MessageCounts } from './queue-view.ts';
import type { EngineView } from './view.ts';

/** Counts of one partition; here `pending` includes what is leased. */
export interface PartitionCounts {
  readonly total: number;
  readonly pending: number;
  readonly processing: number;
  /** First offset that is pending; the tail when none is. */
  readonly from: number;
  /** First offset that the group which counts has not acked; 0 without a cursor. */
  readonly next: number;
}

/** Counts one partition. */
export function countPartition(view: EngineView, queue: QueueState, row: number): PartitionCounts {
  const { cursors, partitions } = view.state;
  let named = Infinity;
  let queueMode = Infinity;
  const logStart = partitions.logStart.get(row);
  let leased = 0;
  for (const group of queue.groups) {
    const cursorRow = group.cursors === 0 ? 0 : cursors.find(row, group.number);
    if (cursorRow === 0) continue;
    const next = cursors.next.get(cursorRow);
    if (group.name === QUEUE_MODE_GROUP) queueMode = next;
    else named = Math.min(named, next);
    if (cursors.isLeased(cursorRow, view.nowUs)) {
      // What retention removed of a batch is no message any more.
      leased += Math.max(
        0,
        cursors.deliveries.leaseToExclusive.get(cursorRow) - Math.max(next, logStart),
      );
    }
  }
  const next = named !== Infinity ? named : queueMode !== Infinity ? queueMode : 0;
  const tail = partitions.tail.get(row);
  const from = Math.max(next, logStart);
  const pending = tail - from;
  return { total: tail - logStart, pending, processing: Math.min(leased, pending), from, next };
}

/** Sums over partitions. */
export class CountsSum {
  total = 0;
  pending = 0;
  processing = 0;

  /** Adds one partition. */
  add(counts: PartitionCounts): void {
    this.total += counts.total;
    this.pending += counts.pending;
    this.processing += counts.processing;
  }

  /** The sums with what is dead; `pending` still includes what is leased. */
  withLeased(deadLetter: number): MessageCounts {
    const { total, pending, processing } = this;
    const completed = Math.max(0, total - pending - deadLetter);
    return { total, pending, processing, completed, deadLetter };
  }

  /** The sums with what is dead; `pending` excludes what is leased. */
  withoutLeased(deadLetter: number): MessageCounts {
    const counts = this.withLeased(deadLetter);
    return { ...counts, pending: counts.pending - counts.processing };
  }
}

/** Age in seconds of the oldest message from an offset on; 0 when there is none. */
export function lagSeconds(view: EngineView, row: number, offset: number): number {
  const createdUs = view.state.blocks.createdUs(row, offset);
  return createdUs === 0 ? 0 : Math.max(0, (view.nowUs - createdUs) / 1_000_000);
}
