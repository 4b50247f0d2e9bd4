// One queue with its partitions: the detail and the sizes (reference §7, control-plane §3.1).

import type { Id128, QueueOptions } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import { CountsSum, countPartition } from './counts.ts';
import { NamePage } from './name-page.ts';
import type { MessageCounts, PageFilter } from './queue-view.ts';
import { eachDeadLetter, eachPartition } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** One partition. Times are microseconds; 0 means that there is none. */
export interface PartitionView {
  readonly number: number;
  readonly name: string;
  readonly createdUs: number;
  /** `pending` includes what is leased. */
  readonly messages: MessageCounts;
  /** Messages that the slowest group has acked. */
  readonly totalConsumed: number;
  /** Last write, claim or ack. */
  readonly activeUs: number;
  readonly oldestMessageUs: number;
  readonly newestMessageUs: number;
  readonly retainedBytes: number;
}

/** One queue. */
export interface QueueDetail {
  readonly id: Id128;
  readonly name: string;
  readonly createdUs: number;
  readonly options: QueueOptions;
  /** A page by name. */
  readonly partitions: readonly PartitionView[];
  /** All partitions, on this page or not. */
  readonly partitionCount: number;
  readonly segments: number;
  /** Over all partitions; `pending` includes what is leased. */
  readonly totals: MessageCounts;
  readonly retainedBytes: number;
}

/** Reads one queue; undefined when there is none. */
export function* readQueueDetail(
  view: EngineView,
  name: string,
  page: PageFilter,
): Read<QueueDetail | undefined> {
  const queue = view.state.queuesByName.get(name);
  if (queue === undefined) return undefined;
  const sum = new CountsSum();
  const names = new NamePage(view, page);
  yield* eachPartition(view, queue, (row) => {
    sum.add(countPartition(view, queue, row));
    names.offer(row);
  });
  const partitions: PartitionView[] = [];
  for (const number of yield* names.drain()) {
    const row = view.state.partitions.numbers.get(number);
    if (row === 0) continue;
    const deadLetter = yield* countDeadLetters(view, number);
    const partition = viewOf(view, queue, number, deadLetter);
    if (partition !== undefined) partitions.push(partition);
  }
  return {
    id: queue.id,
    name: queue.name,
    createdUs: queue.createdUs,
    options: queue.options,
    partitions,
    partitionCount: queue.partitions.count,
    segments: queue.retainedBlocks,
    totals: sum.withLeased(queue.deadLetters),
    retainedBytes: queue.retainedBytes,
  };
}

/** Retained bytes by partition. */
export interface PartitionSize {
  readonly name: string;
  readonly bytes: number;
}

/** Reads the sizes of a page of partitions by name; undefined when there is no such queue. */
export function* readQueueSizes(
  view: EngineView,
  name: string,
  page: PageFilter,
): Read<readonly PartitionSize[] | undefined> {
  const { queuesByName, partitions } = view.state;
  const queue = queuesByName.get(name);
  if (queue === undefined) return undefined;
  const names = new NamePage(view, page);
  yield* eachPartition(view, queue, (row) => names.offer(row));
  const sizes: PartitionSize[] = [];
  for (const number of yield* names.drain()) {
    const row = partitions.numbers.get(number);
    if (row === 0) continue;
    const bytes = partitions.retainedBytes.get(row);
    sizes.push({ name: partitions.names.nameText(row), bytes });
    if (view.spend(8)) yield;
  }
  return sizes;
}

/** Dead letters of one partition. */
function* countDeadLetters(view: EngineView, partition: number): Read<number> {
  let count = 0;
  for (const letter of eachDeadLetter(view, partition)) {
    if (letter === undefined) yield;
    else count += 1;
  }
  return count;
}

function viewOf(
  view: EngineView,
  queue: QueueState,
  number: number,
  deadLetter: number,
): PartitionView | undefined {
  const { partitions, blocks } = view.state;
  const row = partitions.numbers.get(number);
  if (row === 0) return undefined;
  const counts = countPartition(view, queue, row);
  const sum = new CountsSum();
  sum.add(counts);
  const { tails } = blocks;
  return {
    number,
    name: partitions.names.nameText(row),
    createdUs: partitions.createdUs.get(row),
    messages: sum.withLeased(deadLetter),
    totalConsumed: counts.next,
    activeUs: partitions.activeUs.get(row),
    oldestMessageUs: tails.oldestUs(row),
    newestMessageUs: tails.retained(row) === 0 ? 0 : partitions.lastAppendUs.get(row),
    retainedBytes: partitions.retainedBytes.get(row),
  };
}
