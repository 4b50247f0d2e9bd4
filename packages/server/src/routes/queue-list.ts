// What the queue resources show (data-plane reference §7, control-plane §3.1).

import { formatTimestampUs, formatUuid } from '@queen-ts/base';
import type {
  MessageCounts,
  PartitionView,
  QueueDepth,
  QueueDetail,
  QueueLane,
  QueueView,
} from '@queen-ts/engine';
import { partitionIdText, showQueueOptions } from '@queen-ts/protocol';
import type { Piece } from '@queen-ts/protocol';
import { arrayPieces, objectPieces, Pieces } from '../http/paced-json.ts';

/** The full listing. Key-value rows and timers do not exist in this build, so there are none. */
export function fullQueueList(queues: readonly QueueView[]): Iterable<Piece> {
  return objectPieces([
    ['queues', new Pieces(arrayPieces(queues, fullRow))],
    ['kvRows', 0],
    ['kvBytes', 0],
    ['timerRows', 0],
    ['timerBytes', 0],
  ]);
}

/** The short listing (`?stats=lanes`). */
export function laneQueueList(queues: readonly QueueLane[]): Iterable<Piece> {
  return objectPieces([
    ['queues', new Pieces(arrayPieces(queues, laneRow))],
    ['stats', 'lanes'],
  ]);
}

/** The detail of one queue. */
export function queueDetail(queue: QueueDetail): Iterable<Piece> {
  const { options, totals, partitions } = queue;
  const { total, pending, processing, completed, deadLetter } = totals;
  return objectPieces([
    ['id', formatUuid(queue.id)],
    ['name', queue.name],
    ['namespace', options.namespace],
    ['task', options.task],
    ['createdAt', formatTimestampUs(queue.createdUs)],
    ['options', showQueueOptions(options)],
    ['partitions', new Pieces(arrayPieces(partitions, partitionRow))],
    ['segments', { segments: queue.segments, messages: total }],
    ['totals', { total, pending, processing, completed, failed: null, deadLetter }],
    ['retainedBytes', queue.retainedBytes],
    ...cutMember(partitions.length, queue.partitionCount),
  ]);
}

/** The depth of one queue; `group` as it was asked for. */
export function queueDepth(depth: QueueDepth, group: string | undefined): Iterable<Piece> {
  const { pending, processing, ready, partitionsPending, partitionsReady, conflation } = depth;
  return objectPieces([
    ['queue', depth.queue],
    ['group', group ?? null],
    ['pending', pending],
    ['processing', processing],
    ['ready', ready],
    ['partitionsPending', partitionsPending],
    ['partitionsReady', partitionsReady],
    ['conflation', conflation],
    ['effectivePending', conflation ? partitionsPending : pending],
    ['effectiveReady', conflation ? partitionsReady : ready],
    ['partitions', new Pieces(arrayPieces(depth.partitions, (row) => row))],
    ...cutMember(depth.partitions.length, depth.partitionCount),
  ]);
}

/** Says how many there are when a page does not show all of them. */
function cutMember(shown: number, all: number): readonly (readonly [string, unknown])[] {
  return shown === all ? [] : [['partitionCount', all]];
}

function laneRow({ id, name, partitions, createdUs }: QueueLane): unknown {
  const createdAt = formatTimestampUs(createdUs);
  return { id: formatUuid(id), name, queue: name, partitions, createdAt };
}

function fullRow(queue: QueueView): unknown {
  const { name, options, partitions, segments, messages, retainedBytes, createdUs } = queue;
  return {
    id: formatUuid(queue.id),
    name,
    queue: name,
    namespace: options.namespace,
    task: options.task,
    storage: 'segments',
    partitions,
    segments: { segments, messages: messages.total },
    messages,
    retainedBytes,
    options: showQueueOptions(options),
    createdAt: formatTimestampUs(createdUs),
  };
}

function partitionRow(partition: PartitionView): unknown {
  const messages: MessageCounts = partition.messages;
  return {
    id: partitionIdText(partition.number),
    name: partition.name,
    createdAt: formatTimestampUs(partition.createdUs),
    messages,
    stats: messages,
    cursor: { totalConsumed: partition.totalConsumed, batchesConsumed: 0 },
    lastActivity: instant(partition.activeUs),
    oldestMessage: instant(partition.oldestMessageUs),
    newestMessage: instant(partition.newestMessageUs),
    retainedBytes: partition.retainedBytes,
  };
}

function instant(us: number): string | null {
  return us === 0 ? null : formatTimestampUs(us);
}
