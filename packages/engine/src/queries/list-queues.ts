// The listing of queues with their counts (reference §7).

import type { QueueState } from '../queue-state.ts';
import { CountsSum, countPartition } from './counts.ts';
import type { QueueFilter, QueueLane, QueueList, QueueView } from './queue-view.ts';
import { eachPartition } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** Lists queues with their counts, newest first; looks at every partition of the listed queues. */
export function* readQueues(view: EngineView, filter: QueueFilter): Read<QueueList> {
  const views: QueueView[] = [];
  for (const queue of yield* select(view, filter)) {
    if (queue.isDeleted) continue;
    const sum = new CountsSum();
    yield* eachPartition(view, queue, (row) => sum.add(countPartition(view, queue, row)));
    views.push({
      ...laneOf(queue),
      options: queue.options,
      segments: queue.retainedBlocks,
      messages: sum.withoutLeased(queue.deadLetters),
      retainedBytes: queue.retainedBytes,
    });
    if (view.spend(16)) yield;
  }
  return views;
}

/** Lists queues without counts, newest first: cheap, whatever they hold. */
export function* readQueueLanes(view: EngineView, filter: QueueFilter): Read<readonly QueueLane[]> {
  const lanes: QueueLane[] = [];
  for (const queue of yield* select(view, filter)) {
    if (!queue.isDeleted) lanes.push(laneOf(queue));
    if (view.spend(4)) yield;
  }
  return lanes;
}

function laneOf(queue: QueueState): QueueLane {
  const { id, name, createdUs, partitions } = queue;
  return { id, name, createdUs, partitions: partitions.count };
}

/** The queues of the page that a filter asks for, newest first. */
function* select(view: EngineView, filter: QueueFilter): Read<readonly QueueState[]> {
  const from = filter.offset ?? 0;
  const toExclusive = filter.limit === undefined ? Infinity : from + filter.limit;
  const found: QueueState[] = [];
  // Numbers are given out in order of creation.
  const newestFirst = [...view.state.queuesByName.values()].sort((a, b) => b.number - a.number);
  for (const queue of newestFirst) {
    if (found.length >= toExclusive) break;
    if (matches(queue, filter)) found.push(queue);
    if (view.spend(4)) yield;
  }
  return found.slice(from);
}

function matches(queue: QueueState, filter: QueueFilter): boolean {
  const { namespace = '', task = '', search = '' } = filter;
  return (
    (namespace === '' || queue.options.namespace === namespace) &&
    (task === '' || queue.options.task === task) &&
    queue.name.includes(search)
  );
}
