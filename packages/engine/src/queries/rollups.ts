// Counts over many queues: by label, and over all (reference §7, control-plane §3.2).

import type { QueueState } from '../queue-state.ts';
import { CountsSum, countPartition, lagSeconds } from './counts.ts';
import type { MessageCounts } from './queue-view.ts';
import { TopList } from './top-list.ts';
import { eachPartition } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** Counts of the queues with one label. */
export interface LabelRollup {
  readonly label: string;
  readonly queues: number;
  readonly partitions: number;
  readonly total: number;
  /** Excludes what is leased, as in the listing of queues. */
  readonly pending: number;
}

/** Counts by namespace or by task, ordered by label; queues without the label do not count. */
export function* readLabels(
  view: EngineView,
  label: 'namespace' | 'task',
): Read<readonly LabelRollup[]> {
  const rollups = new Map<string, { queues: number; partitions: number; sum: CountsSum }>();
  for (const queue of view.state.queuesByName.values()) {
    const name = queue.options[label];
    if (name === '') continue;
    const rollup = rollups.get(name) ?? { queues: 0, partitions: 0, sum: new CountsSum() };
    rollups.set(name, rollup);
    rollup.queues += 1;
    rollup.partitions += queue.partitions.count;
    yield* eachPartition(view, queue, (row) => rollup.sum.add(countPartition(view, queue, row)));
    if (view.spend(8)) yield;
  }
  return [...rollups]
    .map(([name, { queues, partitions, sum }]) => {
      const { total, pending } = sum.withoutLeased(0);
      return { label: name, queues, partitions, total, pending };
    })
    .sort((a, b) => (a.label < b.label ? -1 : 1));
}

/** Largest and mean value over the queues that lag. */
export interface LagRange {
  readonly avg: number;
  readonly max: number;
}

/** Counts over all queues. */
export interface Overview {
  readonly queues: number;
  readonly partitions: number;
  readonly namespaces: number;
  readonly tasks: number;
  /** `pending` excludes what is leased. */
  readonly messages: MessageCounts;
  /** Age of the oldest pending message in seconds, and pending messages. */
  readonly lag: { readonly time: LagRange; readonly offset: LagRange };
}

/** Reads the overview. */
export function* readOverview(view: EngineView): Read<Overview> {
  const sum = new CountsSum();
  const namespaces = new Set<string>();
  const tasks = new Set<string>();
  const times: number[] = [];
  const offsets: number[] = [];
  let queues = 0;
  let partitions = 0;
  let deadLetters = 0;
  for (const queue of view.state.queuesByName.values()) {
    queues += 1;
    partitions += queue.partitions.count;
    deadLetters += queue.deadLetters;
    namespaces.add(queue.options.namespace);
    tasks.add(queue.options.task);
    const lag = yield* addQueue(view, queue, sum);
    if (lag.pending > 0) {
      times.push(lag.seconds);
      offsets.push(lag.pending);
    }
  }
  namespaces.delete('');
  tasks.delete('');
  return {
    queues,
    partitions,
    namespaces: namespaces.size,
    tasks: tasks.size,
    messages: sum.withoutLeased(deadLetters),
    lag: { time: rangeOf(times), offset: rangeOf(offsets) },
  };
}

function* addQueue(
  view: EngineView,
  queue: QueueState,
  sum: CountsSum,
): Read<{ readonly pending: number; readonly seconds: number }> {
  let pending = 0;
  let seconds = 0;
  yield* eachPartition(view, queue, (row) => {
    const counts = countPartition(view, queue, row);
    sum.add(counts);
    pending += counts.pending;
    if (counts.pending > 0) seconds = Math.max(seconds, lagSeconds(view, row, counts.from));
  });
  return { pending, seconds };
}

function rangeOf(values: readonly number[]): LagRange {
  if (values.length === 0) return { avg: 0, max: 0 };
  const total = values.reduce((sum, value) => sum + value, 0);
  const max = values.reduce((largest, value) => Math.max(largest, value), 0);
  return { avg: total / values.length, max };
}

/** A partition by its backlog. */
export interface BusyPartition {
  readonly queue: string;
  readonly number: number;
  readonly partition: string;
  /** Includes what is leased. */
  readonly pending: number;
  readonly processing: number;
  /** Age of the oldest pending message; undefined when nothing is pending. */
  readonly lagSeconds: number | undefined;
}

/** The partitions with most pending messages, of one queue if it is named. */
export function* readBusiestPartitions(
  view: EngineView,
  filter: { readonly queue: string; readonly limit: number },
): Read<readonly BusyPartition[]> {
  const { queuesByName, partitions } = view.state;
  const named = queuesByName.get(filter.queue);
  const queues = filter.queue === '' ? queuesByName.values() : named === undefined ? [] : [named];
  const top = new TopList<{ readonly number: number; readonly pending: number }>(
    filter.limit,
    (a, b) => b.pending - a.pending || a.number - b.number,
  );
  for (const queue of queues) {
    yield* eachPartition(view, queue, (row) => {
      const { pending } = countPartition(view, queue, row);
      top.offer({ number: partitions.number.get(row), pending });
    });
    if (view.spend(4)) yield;
  }
  const busiest: BusyPartition[] = [];
  for (const { number } of yield* top.drain(view)) {
    const partition = busyOf(view, number);
    if (partition !== undefined) busiest.push(partition);
    if (view.spend(16)) yield;
  }
  return busiest;
}

function busyOf(view: EngineView, number: number): BusyPartition | undefined {
  const { partitions } = view.state;
  const row = partitions.numbers.get(number);
  const queue = row === 0 ? undefined : view.state.queueOf(row);
  if (queue === undefined) return undefined;
  const { pending, processing, from } = countPartition(view, queue, row);
  return {
    queue: queue.name,
    number,
    partition: partitions.names.nameText(row),
    pending,
    processing,
    lagSeconds: pending === 0 ? undefined : lagSeconds(view, row, from),
  };
}
