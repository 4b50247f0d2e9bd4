import { InvariantError, SeededRng, randomBelow } from '@queen-ts/base';
import { EFFECT, EntryWriter } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { Engine } from './engine.ts';
import { ENGINE_LIMITS_DEFAULT } from './limits.ts';
import { seedOfGroup } from './plan/groups.ts';
import type { GroupState } from './queue-state.ts';
import { dump, EngineDriver, MemoryPayloads, TEST_START_US } from './testing.ts';
import type { AckItem, PoppedMessage } from './testing.ts';

function newEngine(): Engine {
  return new Engine({ payloads: new MemoryPayloads(), limits: ENGINE_LIMITS_DEFAULT });
}

describe('a cycle', () => {
  test('gives its index back when nothing had an effect', () => {
    const engine = newEngine();
    engine.openCycle({ index: 7, nowUs: 10, payloadSizeHint: 0 });
    expect(engine.closeCycle()).toBeUndefined();
    engine.openCycle({ index: 7, nowUs: 11, payloadSizeHint: 0 });
    engine.plan({
      kind: 'configure',
      queue: 'q',
      mode: 'merge',
      options: {},
      queueId: [1, 2, 3, 4],
    });
    expect(engine.closeCycle()?.payload.length).toBe(0);
    const again = { index: 7, nowUs: 12, payloadSizeHint: 0 };
    expect(() => engine.openCycle(again)).toThrow(InvariantError);
  });

  test('must advance in time and must not overlap another', () => {
    const engine = newEngine();
    engine.openCycle({ index: 1, nowUs: 10, payloadSizeHint: 0 });
    const next = { index: 2, nowUs: 11, payloadSizeHint: 0 };
    expect(() => engine.openCycle(next)).toThrow(InvariantError);
    engine.closeCycle();
    expect(() => engine.openCycle({ ...next, nowUs: 10 })).toThrow(InvariantError);
  });

  test('is needed for planning', () => {
    const engine = newEngine();
    expect(() => engine.plan({ kind: 'deleteQueue', queue: 'q' })).toThrow('outside of a cycle');
    expect(() => engine.closeCycle()).toThrow('outside of a cycle');
  });

  test('hands over buffers that later cycles do not touch', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 'first' });
    const copies = driver.entries.map((entry) => [entry.head.slice(), entry.payload.slice()]);
    for (let i = 0; i < 20; i += 1) driver.push({ queue: 'q', data: 'x'.repeat(i * 100) });
    copies.forEach(([head, payload], i) => {
      expect(driver.entries[i]?.head).toEqual(head);
      expect(driver.entries[i]?.payload).toEqual(payload);
    });
  });
});

describe('identity', () => {
  test('is fixed by the first entry and the same on replicas', () => {
    const driver = new EngineDriver();
    expect(driver.engine.identity?.hashKey).toEqual(driver.hashKey);
    expect(driver.replica.identity).toEqual(driver.engine.identity);
    expect(() =>
      driver.cycle(() => {
        driver.engine.planGenesis({ clusterId: [1, 2, 3, 4], hashKey: driver.hashKey });
      }),
    ).toThrow('second genesis');
  });
});

describe('an entry that does not fit', () => {
  function entry(...effects: Parameters<EntryWriter['effect']>[0][]) {
    const writer = new EntryWriter();
    writer.open({ nowUs: TEST_START_US, firstPartition: 1 });
    for (const effect of effects) writer.effect(effect);
    return { index: 1, head: writer.finish(), payload: new Uint8Array(0) };
  }

  test('stops the replica: unknown rows, wrong numbers, gaps', () => {
    const bad = [
      entry({ kind: EFFECT.QUEUE_DELETE, queue: 1 }),
      entry({ kind: EFFECT.PARTITION_DELETE, partition: 1 }),
      entry({
        kind: EFFECT.LOG_START,
        partition: 1,
        offset: 0,
        retainedBlocks: 0,
        retainedBytes: 0,
        oldestUs: 0,
      }),
      entry({ kind: EFFECT.GROUP_DELETE, group: 1 }),
      entry({ kind: EFFECT.CURSOR_DELETE, partition: 1, group: 1 }),
      entry({ kind: EFFECT.DEAD_LETTER_DELETE, deadLetter: 1 }),
      entry({ kind: EFFECT.PARTITION_PUT, queue: 5, name: Uint8Array.of(1) }),
    ];
    for (const one of bad) expect(() => newEngine().apply(one)).toThrow(InvariantError);
  });

  test('stops the replica: bytes that are no entry', () => {
    const good = entry({ kind: EFFECT.GENESIS, clusterId: [1, 2, 3, 4], hashKey: [1, 2, 3, 4] });
    expect(() => newEngine().apply({ ...good, head: good.head.subarray(0, 30) })).toThrow(
      InvariantError,
    );
    const engine = newEngine();
    engine.apply(good);
    expect(() => engine.apply({ ...good, index: 2 })).toThrow(InvariantError);
  });

  test('stops the replica: a block that is not the announced one', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'x' });
    const engine = newEngine();
    engine.apply(driver.entries[0]!);
    const damaged = driver.entries[1]!.payload.slice();
    damaged[4] = 9;
    expect(() => engine.apply({ ...driver.entries[1]!, payload: damaged })).toThrow(InvariantError);
  });
});

describe('the digest', () => {
  test('differs when an entry differs by one bit', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q' });
    const last = driver.entries.at(-1)!;
    const engine = newEngine();
    engine.apply(driver.entries[0]!);
    const head = last.head.slice();
    // One microsecond of the time stamp: the two lowest bits of the double are fractions.
    head[8]! ^= 4;
    engine.apply({ ...last, head });
    expect(engine.digest()).toMatch(/^[0-9a-f]{16}$/);
    expect(engine.digest()).not.toBe(driver.engine.digest());
  });
});

/** Random work of all kinds on a few names; the driver compares both replicas after every entry. */
function work(driver: EngineDriver, seed: number, steps: number): void {
  const rng = new SeededRng(seed);
  const below = (bound: number): number => randomBelow(rng, bound);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const queues = ['a.x', 'a.y', 'b'] as const;
  const groups = [undefined, 'g', 'h'] as const;
  let held: PoppedMessage[] = [];
  const push = (): void => {
    const count = 1 + below(6);
    driver.push(
      Array.from({ length: count }, () => ({
        queue: pick(queues),
        partition: `p${below(4)}`,
        ...(below(2) === 0 ? {} : { id: `id${below(30)}` }),
        data: below(1000),
      })),
    );
  };
  const pop = (): void => {
    const group = pick(groups);
    const scope = pick([
      { queue: pick(queues) },
      { queue: pick(queues), partition: `p${below(5)}` },
      { namespace: 'a' },
    ]);
    const popped = driver.pop({
      ...scope,
      ...(group === undefined ? {} : { group }),
      batch: 1 + below(10),
      partitions: below(4),
      autoAck: below(5) === 0,
      leaseSeconds: below(3) * 20,
      subscription: pick([
        { mode: 'all' },
        { mode: 'new' },
        { mode: 'from', fromUs: driver.nowUs },
      ]),
    });
    held = held.concat(popped.messages).slice(-60);
  };
  const ack = (): void => {
    const items = Array.from({ length: 1 + below(5) }, (): AckItem | undefined => {
      if (held.length === 0) return undefined;
      const { partitionNumber: partition, id, lease } = pick(held);
      const status = pick(['completed', 'completed', 'failed', 'retry', 'dlq'] as const);
      return { partition, id, status, ...(below(4) === 0 ? {} : { lease }) };
    }).filter((item) => item !== undefined);
    driver.ack(items, pick(groups));
  };
  const manage = (): void => {
    const queue = pick(queues);
    const group = pick(['g', 'h', '__QUEUE_MODE__'] as const);
    const target = pick([{ kind: 'end' }, { kind: 'instant', atUs: driver.nowUs - 50e6 }] as const);
    const seek = { kind: 'seek', queue, partition: undefined, group, target } as const;
    const [letter] = driver.deadLetters();
    const steps = [
      () => driver.admin({ ...seek, from: 0, budget: 2 }, 'seek'),
      () =>
        driver.admin(
          { kind: 'deleteGroup', queue, group, withRegistration: true, from: 0, budget: 100 },
          'deleteGroup',
        ),
      () => driver.admin({ kind: 'subscribe', group, fromUs: driver.nowUs - 60e6 }, 'subscribe'),
      () =>
        driver.admin({ kind: 'purgeDeadLetters', queue, group, budget: 2 }, 'deletedDeadLetters'),
      () => {
        if (letter === undefined) return;
        const { deadLetterId: id } = letter;
        const messageId = driver.mintId();
        driver.admin(
          { kind: 'replayDeadLetter', id, queue: undefined, partition: 'p0', messageId },
          'replayDeadLetter',
        );
      },
    ];
    pick(steps)();
  };
  const rare = (): void => {
    const kind = below(10);
    if (kind === 0) driver.deleteQueue(pick(queues));
    else if (kind === 1 && held.length > 0) driver.release(pick(held).lease);
    else if (kind === 2 && held.length > 0) driver.extend(pick(held).lease, 1 + below(100));
    else if (kind === 3) {
      driver.configure(pick(queues), {
        delayedProcessing: below(2) * 10,
        windowBuffer: below(2) * 5,
        retryLimit: below(3),
        dedupWindowSeconds: below(2) * 100,
        maxWaitTimeSeconds: below(2) * 200,
        retentionEnabled: true,
        completedRetentionSeconds: below(2) * 20,
      });
    } else if (kind === 4) driver.cycle(() => driver.engine.planHousekeeping(1 + below(3)));
    else if (kind === 5) driver.cycle(() => driver.engine.planRetention(1 + below(5)));
    else if (kind === 6) {
      driver.cycle(() => driver.engine.planCleanup({ budget: 10, idleUs: 30e6 }));
    } else if (kind <= 8) manage();
    else driver.wait(below(60));
  };
  const kinds = [push, push, pop, pop, pop, ack, ack, rare];
  for (let i = 0; i < steps; i += 1) {
    driver.cycle(() => {
      const calls = 1 + below(4);
      for (let call = 0; call < calls; call += 1) {
        const kind = pick(kinds);
        if (kind !== rare) kind();
      }
    });
    if (below(4) === 0) rare();
  }
}

describe('readiness', () => {
  test.each([11, 12, 13, 14, 15, 16])(
    'loses nothing: after random work %i every group drains every partition',
    (seed) => {
      const driver = new EngineDriver({ partitionsScannedMax: 100 });
      work(driver, seed, 200);
      driver.wait(10_000);
      const groups = [...driver.engine.state.groups.values()];
      for (const group of groups.filter((one) => one.isRegistered && !one.queue.isDeleted)) {
        drain(driver, group);
      }
    },
  );
});

/** Pops until nothing comes; then every partition must be behind the group. */
function drain(driver: EngineDriver, group: GroupState): void {
  const { state } = driver.engine;
  const pop = { queue: group.queue.name, group: group.name, partitions: 0, autoAck: true };
  while (driver.pop({ ...pop, batch: 7 }).messages.length > 0);
  for (let ordinal = 0; ordinal < group.queue.partitions.end; ordinal += 1) {
    const row = group.queue.partitions.row(ordinal);
    if (row === 0) continue;
    const cursor = state.cursors.find(row, group.number);
    const next = cursor === 0 ? seedOfGroup(state, group, row) : state.cursors.next.get(cursor);
    const where = `${group.queue.name}/${group.name}/${ordinal}`;
    expect(next, where).toBe(state.partitions.tail.get(row));
  }
}

describe('replicas', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'agree on digest and rows after every entry of random work %i',
    (seed) => {
      const driver = new EngineDriver();
      work(driver, seed, 250);
      expect(driver.entries.length).toBeGreaterThan(200);
    },
  );

  test('that replay the whole log end up with the same rows, and can lead', () => {
    const driver = new EngineDriver();
    work(driver, 99, 150);
    const replayed = new Engine({ payloads: driver.payloads, limits: driver.limits });
    for (const entry of driver.entries) replayed.apply(entry);
    expect(dump(replayed)).toEqual(dump(driver.engine));
    expect(replayed.digest()).toBe(driver.engine.digest());
    const index = driver.entries.at(-1)!.index + 1;
    const nowUs = driver.nowUs + 3_600_000_000;
    replayed.openCycle({ index, nowUs, payloadSizeHint: 0 });
    let delivered = 0;
    for (let i = 1; i < 50; i += 1) {
      const outcome = replayed.plan({
        kind: 'pop',
        scope: { kind: 'labels', namespace: 'a', task: '' },
        group: 'g',
        leaseId: [9, 9, 9, i],
        batch: 1000,
        partitions: 0,
        autoAck: true,
        leaseSeconds: 0,
        subscription: { mode: 'all' },
        conflation: undefined,
      });
      if (outcome.kind === 'pop') delivered += outcome.messageCount;
    }
    const pending = replayed
      .listQueues({ namespace: 'a', nowUs })
      .reduce((sum, queue) => sum + (queue.partitions > 0 ? 1 : 0), 0);
    expect(pending).toBeGreaterThan(0);
    expect(delivered).toBeGreaterThan(0);
  });
});
