// Partitions of a queue in the order of their creation, and those that were written since an instant
// (reference §11.3). The cursor of a page is the number of its last partition: numbers only grow.

import type { QueueState } from '../queue-state.ts';
import { TopList } from './top-list.ts';
import { eachPartition } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** Which partitions of a queue to list. */
export interface ChangedFilter {
  readonly queue: string;
  /** Written at or after this instant in microseconds; 0 means all. */
  readonly sinceUs: number;
  /** Numbers above this; 0 means from the first. */
  readonly after: number;
  /** Most rows; 0 only tells where to go on. */
  readonly limit: number;
}

/** One partition. Times are microseconds. */
export interface ChangedPartition {
  readonly number: number;
  readonly name: string;
  /** Offset of the newest message, -1 before the first. */
  readonly lastOffset: number;
  readonly logStart: number;
  /** 0 before the first write. */
  readonly lastWriteUs: number;
}

/** One page. */
export interface ChangedPage {
  readonly partitions: readonly ChangedPartition[];
  /** Number to go on after; undefined when the page was not full. */
  readonly next: number | undefined;
}

/** Reads one page; undefined when there is no such queue. */
export function* readChangedPartitions(
  view: EngineView,
  filter: ChangedFilter,
): Read<ChangedPage | undefined> {
  const queue = view.state.queuesByName.get(filter.queue);
  if (queue === undefined) return undefined;
  if (filter.limit === 0) return { partitions: [], next: filter.after };
  const { partitions } = view.state;
  // Either walk finds the page: all numbers from the last one on, or all partitions of the queue.
  const isDense = queue.partitions.count ** 2 > filter.limit * partitions.count;
  const numbers = yield* isDense
    ? walkNumbers(view, queue, filter)
    : walkQueue(view, queue, filter);
  const rows: ChangedPartition[] = [];
  for (const number of numbers) {
    const row = viewOf(view, number);
    if (row !== undefined) rows.push(row);
    if (view.spend(16)) yield;
  }
  const isFull = numbers.length === filter.limit;
  return { partitions: rows, next: isFull ? numbers.at(-1) : undefined };
}

/** Everything stamped up to here, in microseconds, is part of the state. */
export function safeTimeUs(view: EngineView): number {
  return view.state.closedUs;
}

function* walkNumbers(view: EngineView, queue: QueueState, filter: ChangedFilter): Read<number[]> {
  const { numbers, queue: queueOf, lastAppendUs } = view.state.partitions;
  const found: number[] = [];
  let number = numbers.next(filter.after);
  while (number !== 0 && found.length < filter.limit) {
    const row = numbers.get(number);
    const isOwn = queueOf.get(row) === queue.number && !queue.isDeleted;
    if (isOwn && lastAppendUs.get(row) >= filter.sinceUs) found.push(number);
    if (view.spend(1)) yield;
    number = numbers.next(number);
  }
  return found;
}

function* walkQueue(view: EngineView, queue: QueueState, filter: ChangedFilter): Read<number[]> {
  const { number, lastAppendUs } = view.state.partitions;
  const top = new TopList<number>(filter.limit, (a, b) => a - b);
  yield* eachPartition(view, queue, (row) => {
    const isAfter = number.get(row) > filter.after;
    if (isAfter && lastAppendUs.get(row) >= filter.sinceUs) top.offer(number.get(row));
  });
  return yield* top.drain(view);
}

function viewOf(view: EngineView, number: number): ChangedPartition | undefined {
  const { partitions } = view.state;
  const row = partitions.numbers.get(number);
  if (row === 0) return undefined;
  return {
    number,
    name: partitions.names.nameText(row),
    lastOffset: partitions.tail.get(row) - 1,
    logStart: partitions.logStart.get(row),
    lastWriteUs: partitions.lastAppendUs.get(row),
  };
}
