// How much of a queue waits for a group, and how much of it could be claimed now (reference §7).

import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { GroupState, QueueState } from '../queue-state.ts';
import { NamePage } from './name-page.ts';
import type { PageFilter } from './queue-view.ts';
import { eachPartition } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** Messages of one partition. */
export interface Depth {
  /** Not acked, leased ones included. */
  readonly pending: number;
  readonly processing: number;
  /** What a pop could claim now: not leased, not held back by a delay or a window. */
  readonly ready: number;
}

/** Depth of a queue. */
export interface QueueDepth extends Depth {
  readonly queue: string;
  readonly partitionsPending: number;
  readonly partitionsReady: number;
  /** Whether the groups that count deliver the last message of a partition only. */
  readonly conflation: boolean;
  /** A page by name. */
  readonly partitions: readonly (Depth & { readonly partition: string })[];
  readonly partitionCount: number;
}

/**
 * Reads the depth for one group, or, without a name, in every partition for the named group that is
 * slowest there; queue mode counts when there is no named group. A group without a cursor in a
 * partition has acked nothing there. Undefined when there is no such queue.
 */
export function* readQueueDepth(
  view: EngineView,
  name: string,
  filter: PageFilter & { readonly group: string | undefined },
): Read<QueueDepth | undefined> {
  const { queuesByName, partitions } = view.state;
  const queue = queuesByName.get(name);
  if (queue === undefined) return undefined;
  const sum = { pending: 0, processing: 0, ready: 0, partitionsPending: 0, partitionsReady: 0 };
  const names = new NamePage(view, filter);
  yield* eachPartition(view, queue, (row) => {
    const { pending, processing, ready } = depthOf(view, queue, row, filter.group);
    sum.pending += pending;
    sum.processing += processing;
    sum.ready += ready;
    if (pending > 0) sum.partitionsPending += 1;
    if (ready > 0) sum.partitionsReady += 1;
    names.offer(row);
  });
  const rows: (Depth & { readonly partition: string })[] = [];
  for (const number of yield* names.drain()) {
    const row = partitions.numbers.get(number);
    if (row === 0) continue;
    const partition = partitions.names.nameText(row);
    rows.push({ partition, ...depthOf(view, queue, row, filter.group) });
    if (view.spend(16)) yield;
  }
  const readers = readersOf(queue, filter.group);
  return {
    queue: queue.name,
    ...sum,
    conflation: readers.length > 0 && readers.every((group) => group.conflation),
    partitions: rows,
    partitionCount: queue.partitions.count,
  };
}

/** The groups that count. */
function readersOf(queue: QueueState, name: string | undefined): readonly GroupState[] {
  if (name !== undefined) {
    const group = queue.groupByName(name);
    return group === undefined ? [] : [group];
  }
  const named = queue.groups.filter((group) => isReader(group) && group.name !== QUEUE_MODE_GROUP);
  if (named.length > 0) return named;
  const queueMode = queue.groupByName(QUEUE_MODE_GROUP);
  return queueMode === undefined ? [] : [queueMode];
}

/** Rows of groups also remain for their dead letters alone. */
function isReader(group: GroupState): boolean {
  return group.isRegistered || group.cursors > 0;
}

function depthOf(
  view: EngineView,
  queue: QueueState,
  row: number,
  name: string | undefined,
): Depth {
  let slowest: Depth | undefined;
  for (const group of readersOf(queue, name)) {
    const depth = depthFor(view, queue, row, group);
    if (slowest === undefined || depth.pending > slowest.pending) slowest = depth;
  }
  return slowest ?? depthFor(view, queue, row, undefined);
}

function depthFor(
  view: EngineView,
  queue: QueueState,
  row: number,
  group: GroupState | undefined,
): Depth {
  const { cursors, partitions } = view.state;
  const cursorRow = group === undefined ? 0 : cursors.find(row, group.number);
  const next = cursorRow === 0 ? 0 : cursors.next.get(cursorRow);
  const from = Math.max(next, partitions.logStart.get(row));
  const pending = partitions.tail.get(row) - from;
  if (cursorRow !== 0 && cursors.isLeased(cursorRow, view.nowUs)) {
    const processing = Math.max(0, cursors.deliveries.leaseToExclusive.get(cursorRow) - from);
    return { pending, processing, ready: 0 };
  }
  const ready = Math.max(0, visibleEnd(view, queue, row) - from);
  return { pending, processing: 0, ready };
}

/** Offset where what is held back starts. */
function visibleEnd(view: EngineView, queue: QueueState, row: number): number {
  const { partitions, blocks } = view.state;
  if (partitions.lastAppendUs.get(row) + queue.windowUs > view.nowUs) return 0;
  const tail = partitions.tail.get(row);
  if (queue.delayUs === 0) return tail;
  return blocks.firstSince(row, view.nowUs - queue.delayUs + 1)?.baseOffset ?? tail;
}
