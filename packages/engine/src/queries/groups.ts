// Consumer groups: where they stand and how far behind (reference §9).

import { GROUP_MODE } from '@queen-ts/protocol';
import type { GroupMode, Id128, RequestId } from '@queen-ts/protocol';
import { memoryOf } from '../plan/repeats.ts';
import type { GroupState, QueueState } from '../queue-state.ts';
import { lagSeconds } from './counts.ts';
import { TopList } from './top-list.ts';
import { eachPartition } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** What naming a request costs, in units of a read. */
const HASH_UNITS = 64;

/** Stored subscription of a registered group. */
export interface GroupSubscription {
  readonly mode: GroupMode;
  /** Start of partitions without a cursor, in microseconds; 0 means the beginning. */
  readonly fromUs: number;
  readonly registeredUs: number;
}

/** One group of one queue. */
export interface GroupView {
  readonly group: string;
  readonly queue: string;
  readonly cursors: number;
  readonly partitionsWithLag: number;
  /** Messages that are retained and not acked, over all cursors. */
  readonly totalLag: number;
  /** Age of the oldest of them. */
  readonly maxLagSeconds: number;
  /** Whether the group ever acked a message of the queue. */
  readonly hasConsumed: boolean;
  /** Undefined while only pops of single partitions used the group. */
  readonly subscription: GroupSubscription | undefined;
  readonly conflation: boolean;
}

/** Lists all groups with a cursor, by group, then queue. */
export function* readGroups(view: EngineView): Read<readonly GroupView[]> {
  const views = new TopList<GroupView>(
    Infinity,
    (a, b) => compare(a.group, b.group) || compare(a.queue, b.queue),
  );
  for (const queue of view.state.queuesByName.values()) {
    const sums = new Map<GroupState, GroupSum>();
    yield* eachPartition(view, queue, (row) => {
      for (const group of queue.groups) {
        const cursor = cursorOf(view, row, group);
        if (cursor === undefined) continue;
        let sum = sums.get(group);
        if (sum === undefined) sums.set(group, (sum = new GroupSum()));
        sum.add(view, cursor);
      }
    });
    for (const [group, sum] of sums) views.offer(sum.view(queue, group));
    if (view.spend(8 + sums.size * 32)) yield;
  }
  return yield* views.drain(view);
}

class GroupSum {
  #cursors = 0;
  #withLag = 0;
  #lag = 0;
  #seconds = 0;
  #hasConsumed = false;

  add(view: EngineView, cursor: Cursor): void {
    this.#cursors += 1;
    if (cursor.next > 0) this.#hasConsumed = true;
    if (cursor.lag === 0) return;
    this.#withLag += 1;
    this.#lag += cursor.lag;
    this.#seconds = Math.max(this.#seconds, lagSeconds(view, cursor.row, cursor.from));
  }

  view(queue: QueueState, group: GroupState): GroupView {
    const { mode, fromUs, registeredUs } = group;
    return {
      group: group.name,
      queue: queue.name,
      cursors: this.#cursors,
      partitionsWithLag: this.#withLag,
      totalLag: this.#lag,
      maxLagSeconds: this.#seconds,
      hasConsumed: this.#hasConsumed,
      subscription: group.isRegistered
        ? { mode, fromUs: mode === GROUP_MODE.ALL ? 0 : fromUs, registeredUs }
        : undefined,
      conflation: group.conflation,
    };
  }
}

/** One cursor. */
export interface CursorView {
  readonly queue: string;
  readonly group: string;
  readonly partition: string;
  readonly partitionNumber: number;
  /** First offset that is not acked. */
  readonly next: number;
  readonly lag: number;
  /** Age of the oldest message that is not acked; 0 without one. */
  readonly lagSeconds: number;
  /** Id of the live lease; undefined when none is held. */
  readonly leaseId: Id128 | undefined;
}

/** The cursors of a group in one queue. */
export interface GroupQueueView {
  readonly queue: string;
  readonly conflation: boolean;
  /** In the order in which the queue keeps its partitions. */
  readonly cursors: readonly CursorView[];
}

/** Reads one group over all queues, by queue, up to `limit` cursors. Empty without any cursor. */
export function* readGroup(
  view: EngineView,
  filter: { readonly group: string; readonly limit: number },
): Read<readonly GroupQueueView[]> {
  const views: GroupQueueView[] = [];
  let left = filter.limit;
  for (const queue of yield* queuesOfGroup(view, filter.group)) {
    const group = queue.groupByName(filter.group);
    if (group === undefined || group.cursors === 0) continue;
    const cursors: CursorView[] = [];
    yield* eachPartition(view, queue, (row) => {
      const cursor = left === 0 ? undefined : cursorOf(view, row, group);
      if (cursor === undefined) return;
      cursors.push(viewOf(view, queue, group, cursor));
      left -= 1;
    });
    if (cursors.length > 0) {
      views.push({ queue: queue.name, conflation: group.conflation, cursors });
    }
  }
  return views;
}

/**
 * Names of the queues that know a group, with or without cursors, in order.
 * @param requestIdOf names a request for each queue: those where it was done before are there as well.
 */
export function* readGroupQueues(
  view: EngineView,
  group: string,
  requestIdOf?: (queue: string) => RequestId,
): Read<readonly string[]> {
  const queues = yield* queuesOfGroup(view, group);
  const names = new Set(queues.map((queue) => queue.name));
  if (requestIdOf === undefined) return [...names];
  for (const name of view.state.queuesByName.keys()) {
    const request = requestIdOf(name);
    if (memoryOf(view.state, request).find(request.words) !== undefined) names.add(name);
    if (view.spend(HASH_UNITS)) yield;
  }
  return [...names].toSorted();
}

/** A cursor that lags. */
export interface LaggingCursor extends CursorView {
  /** Time of the oldest message that is not acked, in microseconds. */
  readonly oldestUs: number;
}

/** Lists the cursors that lag by more than `minSeconds`, longest lag first. */
export function* readLagging(
  view: EngineView,
  filter: { readonly minSeconds: number; readonly limit: number },
): Read<readonly LaggingCursor[]> {
  const top = new TopList<{ readonly order: number; readonly cursor: LaggingCursor }>(
    filter.limit,
    (a, b) => a.cursor.oldestUs - b.cursor.oldestUs || a.order - b.order,
  );
  const oldestUs = view.nowUs - filter.minSeconds * 1_000_000;
  let order = 0;
  for (const queue of view.state.queuesByName.values()) {
    yield* eachPartition(view, queue, (row) => {
      for (const group of queue.groups) {
        const cursor = cursorOf(view, row, group);
        if (cursor === undefined || cursor.lag === 0) continue;
        const seconds = lagSeconds(view, row, cursor.from);
        const createdUs = view.nowUs - Math.round(seconds * 1_000_000);
        order += 1;
        const last = top.last;
        if (createdUs >= oldestUs || (last !== undefined && createdUs >= last.cursor.oldestUs)) {
          continue;
        }
        const shown = viewOf(view, queue, group, cursor);
        top.offer({ order, cursor: { ...shown, oldestUs: createdUs } });
      }
    });
    if (view.spend(8)) yield;
  }
  const lagging = yield* top.drain(view);
  return lagging.map(({ cursor }) => cursor);
}

interface Cursor {
  readonly row: number;
  readonly cursorRow: number;
  readonly next: number;
  /** First retained offset that is not acked. */
  readonly from: number;
  readonly lag: number;
}

function cursorOf(view: EngineView, row: number, group: GroupState): Cursor | undefined {
  const { cursors, partitions } = view.state;
  const cursorRow = group.cursors === 0 ? 0 : cursors.find(row, group.number);
  if (cursorRow === 0) return undefined;
  const next = cursors.next.get(cursorRow);
  const from = Math.max(next, partitions.logStart.get(row));
  return { row, cursorRow, next, from, lag: partitions.tail.get(row) - from };
}

function viewOf(
  view: EngineView,
  queue: QueueState,
  group: GroupState,
  cursor: Cursor,
): CursorView {
  const { cursors, partitions } = view.state;
  const { row, cursorRow, next, from, lag } = cursor;
  const isLeased = cursors.isLeased(cursorRow, view.nowUs);
  return {
    queue: queue.name,
    group: group.name,
    partition: partitions.names.nameText(row),
    partitionNumber: partitions.number.get(row),
    next,
    lag,
    lagSeconds: lag === 0 ? 0 : lagSeconds(view, row, from),
    leaseId: isLeased ? cursors.leaseId(cursorRow) : undefined,
  };
}

/** The queues that know a group, by name. */
export function* queuesOfGroup(view: EngineView, group: string): Read<readonly QueueState[]> {
  const queues = new TopList<QueueState>(Infinity, (a, b) => compare(a.name, b.name));
  for (const queue of view.state.queuesByName.values()) {
    if (queue.groupByName(group) !== undefined) queues.offer(queue);
    if (view.spend(8)) yield;
  }
  return yield* queues.drain(view);
}

/** Order of texts by code units. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
