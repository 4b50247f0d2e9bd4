// The listing of queues with their counts (reference §7). Counts of messages walk the partitions of
// the listed queues; everything else is kept up to date.

import type { GroupState, QueueState } from '../queue-state.ts';
import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { State } from '../state.ts';
import type { MessageCounts, QueueFilter, QueueView } from './queue-view.ts';

/** Lists queues, newest first. */
export function listQueues(
  state: State,
  filter: QueueFilter & { readonly nowUs: number },
): readonly QueueView[] {
  const from = filter.offset ?? 0;
  const toExclusive = filter.limit === undefined ? Infinity : from + filter.limit;
  return [...state.queuesByName.values()]
    .filter((queue) => matches(queue, filter))
    .sort((a, b) => b.createdUs - a.createdUs || b.number - a.number)
    .slice(from, toExclusive)
    .map((queue) => viewOf(state, queue, filter.nowUs));
}

function matches(queue: QueueState, filter: QueueFilter): boolean {
  const { namespace = '', task = '', search = '' } = filter;
  return (
    (namespace === '' || queue.options.namespace === namespace) &&
    (task === '' || queue.options.task === task) &&
    queue.name.includes(search)
  );
}

function viewOf(state: State, queue: QueueState, nowUs: number): QueueView {
  return {
    id: queue.id,
    name: queue.name,
    options: queue.options,
    createdUs: queue.createdUs,
    partitions: queue.partitions.count,
    segments: queue.retainedBlocks,
    messages: countMessages(state, queue, nowUs),
    retainedBytes: queue.retainedBytes,
  };
}

/**
 * Per partition: what the slowest named group has not acked is pending (queue mode counts only when
 * no named group has a cursor), leased batches are processing, the rest is completed.
 */
function countMessages(state: State, queue: QueueState, nowUs: number): MessageCounts {
  const readers = queue.groups.filter((group) => group.cursors > 0);
  let pending = 0;
  let processing = 0;
  for (let ordinal = 0; ordinal < queue.partitions.end; ordinal += 1) {
    const row = queue.partitions.row(ordinal);
    if (row === 0) continue;
    const partition = countPartition(state, { row, readers, nowUs });
    pending += partition.pending;
    processing += partition.processing;
  }
  const total = queue.retainedMessages;
  return {
    total,
    pending: pending - processing,
    processing,
    completed: Math.max(0, total - pending - queue.deadLetters),
    deadLetter: queue.deadLetters,
  };
}

/** Counts of one partition; here pending includes what is leased. */
export function countPartition(
  state: State,
  of: { readonly row: number; readonly readers: readonly GroupState[]; readonly nowUs: number },
): { readonly pending: number; readonly processing: number } {
  const { cursors, partitions } = state;
  let named = Infinity;
  let queueMode = Infinity;
  let leased = 0;
  for (const group of of.readers) {
    const cursorRow = cursors.find(of.row, group.number);
    if (cursorRow === 0) continue;
    const next = cursors.next.get(cursorRow);
    if (group.name === QUEUE_MODE_GROUP) queueMode = next;
    else named = Math.min(named, next);
    if (cursors.isLeased(cursorRow, of.nowUs)) {
      leased += cursors.leaseToExclusive.get(cursorRow) - next;
    }
  }
  const baseline = named !== Infinity ? named : queueMode !== Infinity ? queueMode : 0;
  const from = Math.max(baseline, partitions.logStart.get(of.row));
  const pending = partitions.tail.get(of.row) - from;
  return { pending, processing: Math.min(leased, pending) };
}
