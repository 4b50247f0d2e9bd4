// The listing of messages: newest first over a range of time (reference §10.1). It goes back in time
// by windows that grow, so that a page of a busy hour costs as much as its newest messages.

import { encodeUtf8 } from '@queen-ts/base';
import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { BlockSpan } from '@queen-ts/protocol';
import { spanOf } from '../plan/spans.ts';
import type { QueueState } from '../queue-state.ts';
import { groupsAt, partitionStatus, statusAt } from './message-status.ts';
import type { MessageStatus, PartitionStatus } from './message-status.ts';
import type { PageFilter } from './queue-view.ts';
import { TopList } from './top-list.ts';
import { partitionRow } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** Length of the newest window in microseconds, and how much longer each older one is. */
const WINDOW_US_MIN = 1_000_000;
const WINDOW_GROWTH = 4;

/** Which messages to list; empty texts do not filter. Times are microseconds. */
export interface MessageFilter extends PageFilter {
  readonly queue: string;
  readonly partition: string;
  readonly namespace: string;
  readonly task: string;
  readonly status: MessageStatus | undefined;
  readonly fromUs: number;
  readonly toUsExclusive: number;
}

/** One row. */
export interface ListedMessage {
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  readonly priority: number;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly offset: number;
  /** Its address, one message long. */
  readonly span: BlockSpan;
  readonly status: MessageStatus;
  /** Named groups with a cursor in the partition, and those that have passed the message. */
  readonly totalGroups: number;
  readonly consumedBy: number;
  /** End of a live lease of queue mode in the partition; undefined without one. */
  readonly leaseExpiresUs: number | undefined;
}

/** Which kinds of groups have cursors. */
export interface Readers {
  readonly hasQueueMode: boolean;
  readonly namedGroups: number;
}

/** One page, newest first, and which kinds of readers its queue and partition have. */
export interface MessageList extends Readers {
  readonly messages: readonly ListedMessage[];
}

/** Lists messages. */
export function* readMessages(view: EngineView, filter: MessageFilter): Read<MessageList> {
  const { state } = view;
  const messages: ListedMessage[] = [];
  // What is appended while this read is suspended lies behind this instant.
  let toUs = Math.min(filter.toUsExclusive, Math.max(view.nowUs, state.nowUs) + 1);
  const page = { skip: filter.offset, messages, limit: filter.limit };
  let lengthUs = WINDOW_US_MIN;
  while (toUs > filter.fromUs && messages.length < filter.limit) {
    const fromUs = Math.max(filter.fromUs, toUs - lengthUs);
    const blocks = yield* newestBlocks(view, filter, {
      fromUs,
      toUs,
      limit: page.skip + filter.limit - messages.length,
    });
    for (const block of blocks) {
      if (messages.length < filter.limit) yield* addMessages(view, filter, block, page);
    }
    toUs = fromUs;
    lengthUs *= WINDOW_GROWTH;
  }
  return { messages, ...(yield* readReaders(view, filter)) };
}

interface Block {
  readonly partition: number;
  readonly baseOffset: number;
  readonly createdUs: number;
}

/** The newest blocks of a window that hold a message with the wanted status, newest first. */
function* newestBlocks(
  view: EngineView,
  filter: MessageFilter,
  window: { readonly fromUs: number; readonly toUs: number; readonly limit: number },
): Read<readonly Block[]> {
  const top = new TopList<Block>(
    window.limit,
    (a, b) => b.createdUs - a.createdUs || a.partition - b.partition || b.baseOffset - a.baseOffset,
  );
  for (const queue of queuesOf(view, filter)) {
    for (const partition of partitionsOf(view, queue, filter)) {
      if (partition === undefined) yield;
      else yield* offerBlocks(view, filter, { ...window, partition, top });
    }
  }
  return yield* top.drain(view);
}

function* offerBlocks(
  view: EngineView,
  filter: MessageFilter,
  from: {
    readonly partition: number;
    readonly fromUs: number;
    readonly toUs: number;
    readonly top: TopList<Block>;
  },
): Read<void> {
  const { partitions, blocks } = view.state;
  const { partition, toUs, top } = from;
  let fromUs = Math.max(from.fromUs, top.last?.createdUs ?? 0);
  if (partitions.lastAppendUs.get(partitions.numbers.get(partition)) < fromUs) return;
  const status = filter.status === undefined ? undefined : yield* partitionStatus(view, partition);
  for (;;) {
    const row = partitions.numbers.get(partition);
    const record = row === 0 ? undefined : blocks.firstCreatedAtOrAfter(row, fromUs);
    if (record === undefined || record.createdUs >= toUs) return;
    const { baseOffset, createdUs, count } = record;
    if (hasStatus(status, filter.status, { from: baseOffset, toExclusive: baseOffset + count })) {
      top.offer({ partition, baseOffset, createdUs });
    }
    // Appends of a partition have strictly increasing times.
    fromUs = Math.max(createdUs + 1, top.last?.createdUs ?? 0);
    if (view.spend(8 + (status === undefined ? 0 : count))) yield;
  }
}

function hasStatus(
  partition: PartitionStatus | undefined,
  wanted: MessageStatus | undefined,
  range: { readonly from: number; readonly toExclusive: number },
): boolean {
  if (partition === undefined) return true;
  for (let offset = range.from; offset < range.toExclusive; offset += 1) {
    if (statusAt(partition, offset) === wanted) return true;
  }
  return false;
}

interface Page {
  /** Messages to leave out before the first one of the page. */
  skip: number;
  readonly messages: ListedMessage[];
  readonly limit: number;
}

/** Adds the messages of a block that belong to the page, newest first. */
function* addMessages(
  view: EngineView,
  filter: MessageFilter,
  block: Block,
  page: Page,
): Read<void> {
  const { partitions, blocks } = view.state;
  const status = yield* partitionStatus(view, block.partition);
  const row = partitions.numbers.get(block.partition);
  const queue = row === 0 ? undefined : view.state.queueOf(row);
  const record = row === 0 ? undefined : blocks.firstAtOrAfter(row, block.baseOffset);
  // Retention may have taken it meanwhile.
  if (queue === undefined || record?.baseOffset !== block.baseOffset) return;
  const logStart = partitions.logStart.get(row);
  for (let first = record.count - 1; first >= 0; first -= 1) {
    const offset = block.baseOffset + first;
    if (offset < logStart || page.messages.length === page.limit) return;
    const own = statusAt(status, offset);
    if (filter.status !== undefined && own !== filter.status) continue;
    if (page.skip > 0) page.skip -= 1;
    else {
      const span = spanOf(record, first, 1);
      page.messages.push(viewOf(view, queue, row, { offset, span, status: own }));
    }
  }
  if (view.spend(record.count * 8)) yield;
}

function viewOf(
  view: EngineView,
  queue: QueueState,
  row: number,
  message: Pick<ListedMessage, 'offset' | 'span' | 'status'>,
): ListedMessage {
  const { partitions } = view.state;
  const { namespace, task, priority } = queue.options;
  const groups = groupsAt(view, row, message.offset);
  const named = groups.filter((group) => group.name !== QUEUE_MODE_GROUP);
  const queueMode = groups.find((group) => group.name === QUEUE_MODE_GROUP);
  return {
    queue: queue.name,
    namespace,
    task,
    priority,
    partition: partitions.names.nameText(row),
    partitionNumber: partitions.number.get(row),
    ...message,
    totalGroups: named.length,
    consumedBy: named.filter((group) => group.isConsumed).length,
    leaseExpiresUs: queueMode?.leaseExpiresUs,
  };
}

/** Which kinds of groups read the named queue and partition; empty names mean all. */
function* readReaders(
  view: EngineView,
  filter: Pick<MessageFilter, 'queue' | 'partition'>,
): Read<Readers> {
  const names = new Set<string>();
  for (const queue of queuesOf(view, { queue: filter.queue, namespace: '', task: '' })) {
    const row = filter.partition === '' ? 0 : rowOf(view, queue, filter.partition);
    const isRead = (group: { readonly number: number; readonly cursors: number }): boolean =>
      group.cursors > 0 &&
      (filter.partition === '' || (row !== 0 && view.state.cursors.find(row, group.number) !== 0));
    for (const group of queue.groups) {
      if (isRead(group)) names.add(group.name);
    }
    if (view.spend(4 + queue.groups.length * 4)) yield;
  }
  const hasQueueMode = names.delete(QUEUE_MODE_GROUP);
  return { hasQueueMode, namedGroups: names.size };
}

function* queuesOf(
  view: EngineView,
  filter: Pick<MessageFilter, 'queue' | 'namespace' | 'task'>,
): Generator<QueueState, void, undefined> {
  const { queuesByName } = view.state;
  const named = queuesByName.get(filter.queue);
  const queues = filter.queue === '' ? queuesByName.values() : named === undefined ? [] : [named];
  for (const queue of queues) {
    const { namespace, task } = queue.options;
    const isWanted =
      (filter.namespace === '' || namespace === filter.namespace) &&
      (filter.task === '' || task === filter.task);
    if (isWanted) yield queue;
  }
}

/** Numbers of the partitions to look at; undefined asks to yield. */
function* partitionsOf(
  view: EngineView,
  queue: QueueState,
  filter: MessageFilter,
): Generator<number | undefined, void, undefined> {
  const { number } = view.state.partitions;
  if (filter.partition !== '') {
    const row = rowOf(view, queue, filter.partition);
    if (row !== 0) yield number.get(row);
    if (view.spend(8)) yield undefined;
    return;
  }
  for (let ordinal = 0; ordinal < queue.partitions.end; ordinal += 1) {
    const row = queue.isDeleted ? 0 : queue.partitions.row(ordinal);
    if (row !== 0) yield number.get(row);
    if (view.spend(2)) yield undefined;
  }
}

function rowOf(view: EngineView, queue: QueueState, partition: string): number {
  return partition.isWellFormed() ? partitionRow(view, queue, encodeUtf8(partition)) : 0;
}
