// Reads against plain computations over every message, on random states; and reads that are suspended
// at every chance while the state changes under them.

import { randomBelow, SeededRng } from '@queen-ts/base';
import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';
import { readChangedPartitions } from './changed-partitions.ts';
import { readDeadLetters } from './dead-letters.ts';
import { readGroup, readGroupQueues, readGroups, readLagging } from './groups.ts';
import { readQueueLanes, readQueues } from './list-queues.ts';
import { readMessages } from './message-list.ts';
import type { MessageFilter } from './message-list.ts';
import { MESSAGE_STATUSES } from './message-status.ts';
import type { MessageStatus } from './message-status.ts';
import { readMessage } from './messages.ts';
import { readOffsetsAtTime, readRecords } from './offset-reads.ts';
import { readPositions } from './positions.ts';
import { readQueueDepth } from './queue-depth.ts';
import { readQueueDetail, readQueueSizes } from './queue-detail.ts';
import { readBusiestPartitions, readLabels, readOverview } from './rollups.ts';
import { completed, EngineView } from './view.ts';
import type { Read } from './view.ts';

const SEEDS = Array.from({ length: 12 }, (_, i) => i + 1);
const QUEUES = ['x.a', 'x.b', 'y.a'];
const PARTITIONS = ['p', 'q', 'r', 's'];
const GROUPS = ['g', 'h', QUEUE_MODE_GROUP];
const ALL = { limit: 10_000, offset: 0 };

/** A view whose reads are suspended whenever they may be. */
class ImpatientView extends EngineView {
  override spend(): boolean {
    return true;
  }
}

/** One random step. */
class Chaos {
  readonly driver = new EngineDriver();
  readonly #rng: SeededRng;

  constructor(seed: number) {
    this.#rng = new SeededRng(seed);
    this.driver.checksRows = false;
    this.driver.configure('x.a', { namespace: 'x', task: 'a', delayedProcessing: 3 });
    this.driver.configure('x.b', { namespace: 'x', task: 'b', windowBuffer: 2 });
    this.driver.configure('y.a', { namespace: 'y', maxWaitTimeSeconds: 400 });
  }

  run(steps: number): void {
    for (let i = 0; i < steps; i += 1) this.step();
  }

  step(): void {
    const { driver } = this;
    const queue = this.pick(QUEUES);
    const dice = this.below(100);
    if (dice < 45) this.#push(queue);
    else if (dice < 75) this.#consume(queue);
    else if (dice < 90) driver.wait(this.below(60));
    else if (dice < 95) driver.cycle(() => driver.engine.planRetention(100));
    else if (dice < 97) this.#deleteGroup(queue);
    else if (dice < 98) driver.deleteQueue(queue);
    else driver.cycle(() => driver.engine.planHousekeeping(2));
  }

  /** Leaves messages behind that delays and windows hold back. */
  pushEverywhere(): void {
    for (const waitSeconds of [1.5, 1]) {
      const everywhere = QUEUES.flatMap((queue) =>
        PARTITIONS.map((partition) => ({ queue, partition })),
      );
      this.driver.push(everywhere.filter(() => this.below(2) === 0));
      this.driver.wait(waitSeconds);
    }
  }

  below(bound: number): number {
    return randomBelow(this.#rng, bound);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  #push(queue: string): void {
    const items = Array.from({ length: 1 + this.below(3) }, () => ({
      queue,
      partition: this.pick(PARTITIONS),
      ...(this.below(2) === 0 ? {} : { id: `t${this.below(40)}` }),
    }));
    this.driver.push(items);
  }

  #consume(queue: string): void {
    const group = this.pick(GROUPS);
    const partition = this.below(2) === 0 ? {} : { partition: this.pick(PARTITIONS) };
    const fields = { queue, group, batch: 1 + this.below(3), leaseSeconds: 20, ...partition };
    const autoAck = this.below(4) === 0;
    const { lease, messages } = this.driver.pop({ ...fields, autoAck });
    const [first] = messages;
    if (autoAck || first === undefined || this.below(3) === 0) return;
    const status = this.pick(['completed', 'completed', 'dlq', 'retry'] as const);
    this.driver.ack([{ partition: first.partitionNumber, id: first.id, lease, status }], group);
  }

  #deleteGroup(queue: string): void {
    const group = this.pick(GROUPS);
    this.driver.plan({ kind: 'deleteGroup', queue, group, withRegistration: true });
  }
}

interface Message {
  readonly queue: string;
  readonly namespace: string;
  readonly partition: string;
  readonly number: number;
  readonly offset: number;
  readonly createdUs: number;
  readonly status: MessageStatus;
}

interface Cursor {
  readonly queue: string;
  readonly partition: string;
  readonly number: number;
  readonly group: string;
  readonly next: number;
  readonly isLeased: boolean;
  readonly leasedTo: number;
}

/** Everything there is, as lists. */
class Facts {
  readonly messages: Message[] = [];
  readonly cursors: Cursor[] = [];
  readonly #driver: EngineDriver;

  constructor(driver: EngineDriver) {
    this.#driver = driver;
    const { partitions } = driver.engine.state;
    partitions.numbers.forEach((number, row) => this.#addPartition(number, row));
  }

  cursorsIn(number: number): Cursor[] {
    return this.cursors.filter((cursor) => cursor.number === number);
  }

  /** First offset that counts as pending in a partition. */
  baseline(number: number): number {
    const cursors = this.cursorsIn(number);
    const named = cursors.filter(({ group }) => group !== QUEUE_MODE_GROUP);
    const deciding = named.length > 0 ? named : cursors;
    return deciding.length === 0 ? 0 : Math.min(...deciding.map(({ next }) => next));
  }

  isPending(message: Message): boolean {
    return message.offset >= this.baseline(message.number);
  }

  pendingIn(number: number): number {
    return this.messages.filter((it) => it.number === number && this.isPending(it)).length;
  }

  processingIn(number: number): number {
    const leased = this.cursorsIn(number)
      .filter(({ isLeased }) => isLeased)
      .flatMap(({ next, leasedTo }) =>
        this.messages.filter(
          (it) => it.number === number && it.offset >= next && it.offset < leasedTo,
        ),
      );
    return Math.min(leased.length, this.pendingIn(number));
  }

  #addPartition(number: number, row: number): void {
    const { state } = this.#driver.engine;
    const { nowUs } = this.#driver;
    const queue = state.queueOf(row);
    if (queue === undefined) return;
    const partition = state.partitions.names.nameText(row);
    for (const group of queue.groups) {
      const cursor = state.cursors.find(row, group.number);
      if (cursor === 0) continue;
      this.cursors.push({
        queue: queue.name,
        partition,
        number,
        group: group.name,
        next: state.cursors.next.get(cursor),
        isLeased: state.cursors.deliveries.leaseExpiresUs.get(cursor) > nowUs,
        leasedTo: state.cursors.deliveries.leaseToExclusive.get(cursor),
      });
    }
    const dead = new Set<number>();
    state.deadLetters.numbers.forEach((_, letter) => {
      if (state.deadLetters.partitionRow.get(letter) !== row) return;
      dead.add(state.deadLetters.offset.get(letter));
    });
    const { blocks } = state;
    for (let it = blocks.oldest(row); it !== undefined; it = blocks.next(row, it)) {
      for (let offset = it.baseOffset; offset < it.baseOffset + it.count; offset += 1) {
        this.messages.push({
          queue: queue.name,
          namespace: queue.options.namespace,
          partition,
          number,
          offset,
          createdUs: it.createdUs,
          status: this.#statusOf(number, offset, dead),
        });
      }
    }
  }

  #statusOf(number: number, offset: number, dead: ReadonlySet<number>): MessageStatus {
    if (dead.has(offset)) return 'dead_letter';
    if (this.cursorsIn(number).length > 0 && offset < this.baseline(number)) return 'completed';
    return this.cursorsIn(number).some((it) => it.isLeased) ? 'processing' : 'pending';
  }
}

function viewOf({ driver }: Chaos): EngineView {
  return new ImpatientView(driver.engine.state, driver.nowUs);
}

describe.each(SEEDS)('on the random state %i', (seed) => {
  const chaos = new Chaos(seed);
  chaos.run(120);
  chaos.pushEverywhere();
  const facts = new Facts(chaos.driver);
  const view = (): EngineView => viewOf(chaos);
  const queueNames = chaos.driver.list().map(({ name }) => name);

  test('queues, details and labels count what lists of messages count', () => {
    const queues = completed(readQueues(view(), {}));
    for (const queue of queues) {
      const own = facts.messages.filter((it) => it.queue === queue.name);
      const numbers = [...new Set(own.map(({ number }) => number))];
      const pending = own.filter((it) => facts.isPending(it)).length;
      const processing = numbers.reduce((sum, it) => sum + facts.processingIn(it), 0);
      expect(queue.messages).toMatchObject({
        total: own.length,
        pending: pending - processing,
        processing,
      });
      const detail = completed(readQueueDetail(view(), queue.name, ALL));
      expect(detail?.totals).toMatchObject({ total: own.length, pending, processing });
      expect(detail?.totals.deadLetter).toBe(queue.messages.deadLetter);
      for (const partition of detail?.partitions ?? []) {
        expect(partition.messages).toMatchObject({
          total: own.filter((it) => it.number === partition.number).length,
          pending: facts.pendingIn(partition.number),
          processing: facts.processingIn(partition.number),
        });
      }
      const names = detail?.partitions.map(({ name }) => name) ?? [];
      expect(names).toEqual(names.toSorted());
      expect(completed(readQueueSizes(view(), queue.name, ALL))).toEqual(
        detail?.partitions.map(({ name, retainedBytes: bytes }) => ({ name, bytes })),
      );
    }
    expect(completed(readQueueLanes(view(), {})).map(({ name }) => name)).toEqual(queueNames);
    for (const { label, total } of completed(readLabels(view(), 'namespace'))) {
      expect(total).toBe(facts.messages.filter(({ namespace }) => namespace === label).length);
    }
    expect(completed(readOverview(view())).messages.total).toBe(facts.messages.length);
  });

  test('the busiest partitions are those with most pending messages', () => {
    const busiest = completed(readBusiestPartitions(view(), { queue: '', limit: 3 }));
    const numbers = [...new Set(facts.messages.map(({ number }) => number))];
    const counts = numbers.map((number) => facts.pendingIn(number)).sort((a, b) => b - a);
    expect(busiest.map(({ pending }) => pending).slice(0, counts.length)).toEqual(
      counts.slice(0, 3),
    );
  });

  test('the depth of a group counts what its next pops could find', () => {
    for (const queue of queueNames) {
      for (const group of GROUPS) {
        const depth = completed(readQueueDepth(view(), queue, { ...ALL, group }));
        const cursors = facts.cursors.filter((it) => it.queue === queue && it.group === group);
        const nextIn = new Map(cursors.map((cursor) => [cursor.number, cursor]));
        const pending = facts.messages.filter(
          (it) => it.queue === queue && it.offset >= (nextIn.get(it.number)?.next ?? 0),
        );
        expect(depth?.pending).toBe(pending.length);
        const { options } = chaos.driver.list().find(({ name }) => name === queue)!;
        const quiet = (number: number): boolean =>
          facts.messages.every(
            (it) =>
              it.number !== number ||
              it.createdUs + options.windowBuffer * 1_000_000 <= chaos.driver.nowUs,
          );
        const ready = pending.filter(
          (it) =>
            nextIn.get(it.number)?.isLeased !== true &&
            it.createdUs + options.delayedProcessing * 1_000_000 <= chaos.driver.nowUs &&
            quiet(it.number),
        );
        expect(depth?.ready).toBe(ready.length);
        expect(depth?.partitionsReady).toBe(new Set(ready.map(({ number }) => number)).size);
      }
    }
  });

  test('groups, their cursors and positions are those of the cursors', () => {
    const groups = completed(readGroups(view()));
    const keys = new Set(facts.cursors.map(({ group, queue }) => `${group} ${queue}`));
    expect(groups.map(({ group, queue }) => `${group} ${queue}`)).toEqual([...keys].toSorted());
    const lagOf = ({ number, next }: Cursor): number =>
      facts.messages.filter((it) => it.number === number && it.offset >= next).length;
    for (const group of groups) {
      const own = facts.cursors.filter(
        (it) => it.group === group.group && it.queue === group.queue,
      );
      const lags = own.map(lagOf);
      expect(group.cursors).toBe(own.length);
      expect(group.partitionsWithLag).toBe(lags.filter((lag) => lag > 0).length);
      expect(group.totalLag).toBe(lags.reduce((sum, lag) => sum + lag, 0));
    }
    for (const group of GROUPS) {
      const own = facts.cursors.filter((it) => it.group === group);
      const shown = completed(readGroup(view(), { group, limit: 10_000 }));
      const cursors = shown.flatMap((it) => it.cursors);
      expect(cursors.map((it) => `${it.partitionNumber} ${it.next} ${it.lag}`).sort()).toEqual(
        own.map((it) => `${it.number} ${it.next} ${lagOf(it)}`).sort(),
      );
      const entries = QUEUES.flatMap((queue) =>
        PARTITIONS.map((partition) => ({ queue, partition })),
      );
      const positions = completed(readPositions(view(), { group, entries, limit: 0 }));
      expect(positions.map(({ offset }) => offset)).toEqual(
        entries.map(
          (at) => own.find((it) => it.queue === at.queue && it.partition === at.partition)?.next,
        ),
      );
      const all = completed(readPositions(view(), { group, entries: undefined, limit: 10_000 }));
      expect(all).toHaveLength(own.length);
      const known = completed(readGroupQueues(view(), group));
      expect(known).toEqual(expect.arrayContaining([...new Set(own.map(({ queue }) => queue))]));
    }
  });

  test('lagging cursors are the oldest ones', () => {
    const oldestOf = (cursor: Cursor): number =>
      Math.min(
        ...facts.messages
          .filter((it) => it.number === cursor.number && it.offset >= cursor.next)
          .map(({ createdUs }) => createdUs),
      );
    const expected = facts.cursors
      .map(oldestOf)
      .filter((us) => us < chaos.driver.nowUs - 30_000_000)
      .sort((a, b) => a - b);
    const lagging = completed(readLagging(view(), { minSeconds: 30, limit: 10_000 }));
    expect(lagging.map(({ oldestUs }) => oldestUs)).toEqual(expected);
    const first = completed(readLagging(view(), { minSeconds: 30, limit: 2 }));
    expect(first.map(({ oldestUs }) => oldestUs)).toEqual(expected.slice(0, 2));
  });

  test('messages are listed newest first, whatever the filter and the page', () => {
    const base: MessageFilter = {
      queue: '',
      partition: '',
      namespace: '',
      task: '',
      status: undefined,
      fromUs: 0,
      toUsExclusive: Infinity,
      ...ALL,
    };
    const key = (it: { createdUs?: number; offset: number }, number: number): string =>
      `${number}:${it.offset}`;
    for (let round = 0; round < 12; round += 1) {
      const nowUs = chaos.driver.nowUs;
      const filter: MessageFilter = {
        ...base,
        queue: chaos.pick(['', ...QUEUES]),
        partition: chaos.pick(['', '', ...PARTITIONS]),
        namespace: chaos.pick(['', '', 'x', 'y']),
        status: chaos.pick([undefined, ...MESSAGE_STATUSES]),
        fromUs: chaos.pick([0, nowUs - 300_000_000, nowUs - 60_000_000]),
        toUsExclusive: chaos.pick([Infinity, nowUs - 30_000_000]),
        limit: chaos.pick([1, 5, 10_000]),
        offset: chaos.pick([0, 0, 3]),
      };
      const matching = facts.messages.filter(
        (it) =>
          (filter.queue === '' || it.queue === filter.queue) &&
          (filter.partition === '' || it.partition === filter.partition) &&
          (filter.namespace === '' || it.namespace === filter.namespace) &&
          (filter.status === undefined || it.status === filter.status) &&
          it.createdUs >= filter.fromUs &&
          it.createdUs < filter.toUsExclusive,
      );
      const newestFirst = matching.sort(
        (a, b) => b.createdUs - a.createdUs || a.number - b.number || b.offset - a.offset,
      );
      const page = newestFirst.slice(filter.offset, filter.offset + filter.limit);
      const { messages } = completed(readMessages(view(), filter));
      expect(messages.map((it) => key(it, it.partitionNumber))).toEqual(
        page.map((it) => key(it, it.number)),
      );
      expect(messages.map(({ status }) => status)).toEqual(page.map(({ status }) => status));
    }
  });

  test('records by offset are all that is retained', () => {
    for (const queue of queueNames) {
      for (const partition of PARTITIONS) {
        const own = facts.messages.filter((it) => it.queue === queue && it.partition === partition);
        const offset = own[0]?.offset ?? 0;
        const entry = { queue, partition, offset, maxBytes: 1_000_000 };
        const [fetched] = completed(readRecords(view(), [entry], Infinity));
        const isEmptied = fetched?.error === 'OFFSET_OUT_OF_RANGE';
        expect(isEmptied && own.length > 0).toBe(false);
        const offsets = (fetched?.spans ?? []).flatMap((span) =>
          Array.from({ length: span.count }, (_, i) => span.baseOffset + span.first + i),
        );
        expect(offsets).toEqual(own.map((it) => it.offset));
        const fromUs = chaos.driver.nowUs - chaos.below(600) * 1_000_000;
        const [at] = completed(readOffsetsAtTime(view(), [{ queue, partition, fromUs }]));
        expect(at?.offset).toBe(own.find(({ createdUs }) => createdUs >= fromUs)?.offset);
      }
    }
  });

  test('changed partitions come page by page, each once, in order of creation', () => {
    for (const queue of queueNames) {
      const sinceUs = chaos.pick([0, chaos.driver.nowUs - 100_000_000]);
      const detail = completed(readQueueDetail(view(), queue, ALL));
      const { partitions } = chaos.driver.engine.state;
      const expected = (detail?.partitions ?? [])
        .filter((it) => partitions.lastAppendUs.get(partitions.numbers.get(it.number)) >= sinceUs)
        .map(({ number }) => number)
        .sort((a, b) => a - b);
      const seen: number[] = [];
      for (let after: number | undefined = 0; after !== undefined;) {
        const page: ReturnType<typeof readChangedPartitions> = readChangedPartitions(view(), {
          queue,
          sinceUs,
          after,
          limit: 2,
        });
        const read = completed(page);
        seen.push(...(read?.partitions.map(({ number }) => number) ?? []));
        after = read?.next;
      }
      expect(seen).toEqual(expected);
    }
  });

  test('dead letters are listed newest first', () => {
    const { state } = chaos.driver.engine;
    const live: number[] = [];
    state.deadLetters.numbers.forEach((number, row) => {
      if (state.queueOf(state.deadLetters.partitionRow.get(row)) !== undefined) live.push(number);
    });
    const { deadLetters, total } = completed(readDeadLetters(view(), { ...ALL }));
    expect(total).toBe(live.length);
    const times = deadLetters.map(({ failedUs }) => failedUs);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(deadLetters).toHaveLength(live.length);
    const page = completed(readDeadLetters(view(), { limit: 2, offset: 1, group: 'g' }));
    const own = deadLetters.filter(({ group }) => group === 'g');
    expect(page.total).toBe(own.length);
    expect(page.deadLetters.map(({ id }) => id)).toEqual(own.slice(1, 3).map(({ id }) => id));
  });
});

test('the random states have messages of every status, leases and removed prefixes', () => {
  const statuses = new Set<string>();
  let leases = 0;
  let starts = 0;
  for (const seed of SEEDS) {
    const chaos = new Chaos(seed);
    chaos.run(120);
    const facts = new Facts(chaos.driver);
    for (const { status } of facts.messages) statuses.add(status);
    leases += facts.cursors.filter(({ isLeased }) => isLeased).length;
    const { partitions } = chaos.driver.engine.state;
    partitions.numbers.forEach((_, row) => {
      if (partitions.logStart.get(row) > 0) starts += 1;
    });
  }
  expect([...statuses].toSorted()).toEqual([...MESSAGE_STATUSES].toSorted());
  expect(leases).toBeGreaterThan(5);
  expect(starts).toBeGreaterThan(5);
});

test('reads that are suspended while the state changes under them end', () => {
  const page = { limit: 5, offset: 1 };
  const filter: MessageFilter = {
    queue: '',
    partition: '',
    namespace: '',
    task: '',
    status: 'pending',
    ...ALL,
    fromUs: 0,
    toUsExclusive: Infinity,
  };
  const reads: ((view: EngineView) => Read<unknown>)[] = [
    (view) => readQueues(view, {}),
    (view) => readQueueDetail(view, 'x.a', page),
    (view) => readQueueDepth(view, 'x.b', { ...page, group: undefined }),
    (view) => readQueueSizes(view, 'x.a', page),
    (view) => readLabels(view, 'task'),
    readOverview,
    (view) => readBusiestPartitions(view, { queue: '', limit: 3 }),
    readGroups,
    (view) => readGroup(view, { group: 'g', limit: 5 }),
    (view) => readLagging(view, { minSeconds: 0, limit: 4 }),
    (view) => readPositions(view, { group: 'g', entries: undefined, limit: 5 }),
    (view) => readMessages(view, filter),
    (view) => readMessages(view, { ...filter, status: undefined, limit: 3 }),
    (view) => readMessage(view, { partition: 2, transactionId: 'nobody' }),
    (view) => readMessage(view, { partition: 3, transactionId: 't1' }),
    (view) => readDeadLetters(view, page),
    (view) => readChangedPartitions(view, { queue: 'x.a', sinceUs: 0, after: 0, limit: 3 }),
  ];
  for (const seed of SEEDS) {
    const chaos = new Chaos(seed * 1000);
    chaos.run(60);
    const running = reads.map((read) => read(viewOf(chaos)));
    for (let open = running.length; open > 0;) {
      chaos.step();
      open = running.filter((read) => read.next().done !== true).length;
    }
  }
});
