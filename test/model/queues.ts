// The model's configure, delete and listing (reference §6, §7).

import {
  CONFIGURED_QUEUE_DEFAULTS,
  QUEUE_MODE_GROUP,
  QUEUE_OPTION_NAMES,
} from '@queen-ts/protocol';
import { formatUuid } from '@queen-ts/base';
import type { ConfigureCommand, QueueOptions } from '@queen-ts/protocol';
import { tailOf } from './state.ts';
import type { ModelPartition, ModelQueue, ModelQueues } from './state.ts';
import { isLive } from './visibility.ts';

/** Applies a configure and returns the queue's options. */
export function modelConfigure(
  queues: ModelQueues,
  command: ConfigureCommand,
  nowUs: number,
): ModelQueue {
  const known = queues.get(command.queue);
  const isMerge = command.mode === 'merge';
  const base = isMerge && known !== undefined ? known.options : CONFIGURED_QUEUE_DEFAULTS;
  const options: Record<string, unknown> = { ...base };
  for (const name of QUEUE_OPTION_NAMES) {
    const value = command.options[name];
    if (value !== undefined) options[name] = value ?? CONFIGURED_QUEUE_DEFAULTS[name];
  }
  const settled = options as unknown as QueueOptions;
  if (known !== undefined) {
    known.options = settled;
    return known;
  }
  const created: ModelQueue = {
    name: command.queue,
    id: formatUuid(command.queueId),
    createdUs: nowUs,
    options: settled,
    partitions: new Map(),
    groups: new Map(),
    deadLetters: [],
    newestAppendUs: 0,
  };
  queues.set(command.queue, created);
  return created;
}

/** One row of the listing as the model sees it. */
export interface ModelQueueView {
  readonly name: string;
  readonly createdUs: number;
  readonly options: QueueOptions;
  readonly partitions: number;
  readonly segments: number;
  readonly messages: Readonly<Record<Exclude<CountName, 'completed'>, number>>;
  /** Dead letters may be taken off partition by partition or for the whole queue. */
  readonly completed: readonly number[];
}

type CountName = 'total' | 'pending' | 'processing' | 'completed' | 'deadLetter';

/** Lists all queues, newest first. */
export function modelListQueues(queues: ModelQueues, nowUs: number): ModelQueueView[] {
  return [...queues.values()].reverse().map((queue) => viewOf(queue, nowUs));
}

function viewOf(queue: ModelQueue, nowUs: number): ModelQueueView {
  const partitions = [...queue.partitions.values()];
  const counts = partitions.map((partition) => countsOf(queue, partition, nowUs));
  const sum = (name: CountName): number => counts.reduce((total, it) => total + it[name], 0);
  return {
    name: queue.name,
    createdUs: queue.createdUs,
    options: queue.options,
    partitions: partitions.length,
    segments: partitions.reduce((total, partition) => total + retainedAppends(partition), 0),
    messages: {
      total: sum('total'),
      pending: sum('pending'),
      processing: sum('processing'),
      deadLetter: queue.deadLetters.length,
    },
    completed: [
      sum('completed'),
      Math.max(0, sum('total') - sum('pending') - sum('processing') - queue.deadLetters.length),
    ],
  };
}

function retainedAppends({ appends, logStart }: ModelPartition): number {
  return appends.filter(({ baseOffset, count }) => baseOffset + count > logStart).length;
}

/**
 * The arithmetic of the 2.x listing: the slowest named group counts, else queue mode, else nobody. Of
 * leased batches, what is still retained counts, as in all other numbers.
 */
function countsOf(
  queue: ModelQueue,
  partition: ModelPartition,
  nowUs: number,
): Record<CountName, number> {
  const { cursors, logStart } = partition;
  const total = tailOf(partition) - logStart;
  const named = [...cursors].filter(([group]) => group !== QUEUE_MODE_GROUP);
  const baseline =
    named.length > 0
      ? Math.min(...named.map(([, { next }]) => next))
      : (cursors.get(QUEUE_MODE_GROUP)?.next ?? 0);
  const unacked = tailOf(partition) - Math.max(baseline, logStart);
  const leased = [...cursors.values()]
    .filter((cursor) => isLive(cursor, nowUs))
    .reduce((sum, { lease, next }) => {
      return sum + Math.max(0, lease!.toExclusive - Math.max(next, logStart));
    }, 0);
  const processing = Math.min(leased, unacked);
  const deadLetter = queue.deadLetters.filter((it) => it.partition === partition.name).length;
  const completed = Math.max(0, total - unacked - deadLetter);
  return { total, pending: unacked - processing, processing, completed, deadLetter };
}
