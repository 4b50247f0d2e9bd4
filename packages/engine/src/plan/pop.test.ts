import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';
import type { Popped } from '../testing.ts';

const data = (popped: Popped): unknown[] => popped.messages.map((message) => message.data);

/** Pushes messages 0..count-1 to one partition, each as an append of its own. */
function pushEach(driver: EngineDriver, count: number, partition = 'Default'): void {
  for (let i = 0; i < count; i += 1) driver.push({ queue: 'q', partition, data: i });
}

describe('a pop of a queue', () => {
  test('creates a missing queue with implicit options and answers empty', () => {
    const driver = new EngineDriver();
    const popped = driver.pop({ queue: 'orders.email' });
    expect(popped).toMatchObject({ messages: [], reason: 'empty', lease: [0, 0, 0, 0] });
    expect(driver.list()[0]).toMatchObject({ name: 'orders.email', partitions: 0 });
    expect(driver.list()[0]?.options).toMatchObject({ leaseTime: 60, task: 'email' });
  });

  test('without an effect leaves no entry behind', () => {
    const driver = new EngineDriver();
    driver.pop({ queue: 'q' });
    const before = driver.entries.length;
    driver.pop({ queue: 'q' });
    expect(driver.entries.length).toBe(before);
  });

  test('delivers in offset order over append boundaries, at most the batch', () => {
    const driver = new EngineDriver();
    pushEach(driver, 3);
    driver.push([
      { queue: 'q', data: 3 },
      { queue: 'q', data: 4 },
      { queue: 'q', data: 5 },
    ]);
    const popped = driver.pop({ queue: 'q', batch: 5 });
    expect(data(popped)).toEqual([0, 1, 2, 3, 4]);
    expect(popped.messages.map((message) => message.offset)).toEqual([0, 1, 2, 3, 4]);
  });

  test('spends one budget over all partitions and stops at the cap of partitions', () => {
    const driver = new EngineDriver();
    for (const partition of ['a', 'b', 'c']) pushEach(driver, 3, partition);
    const two = driver.pop({ queue: 'q', batch: 100, partitions: 2 });
    expect(two.partitions).toEqual(['a', 'b']);
    expect(two.messages.length).toBe(6);
    driver.release(two.lease);
    const budget = driver.pop({ queue: 'q', batch: 4, partitions: 0 });
    expect(budget.messages.length).toBe(4);
    expect(budget.partitions).toEqual(['c', 'a']);
  });

  test('takes any number of partitions when the cap is 0', () => {
    const driver = new EngineDriver();
    for (let i = 0; i < 100; i += 1) driver.push({ queue: 'q', partition: `p${i}` });
    expect(driver.pop({ queue: 'q', batch: 100, partitions: 0 }).partitions.length).toBe(100);
  });

  test('treats a batch of 0 as 1', () => {
    const driver = new EngineDriver();
    pushEach(driver, 2);
    expect(driver.pop({ queue: 'q', batch: 0 }).messages.length).toBe(1);
  });

  test('skips leased partitions instead of waiting for them', () => {
    const driver = new EngineDriver();
    pushEach(driver, 2, 'a');
    pushEach(driver, 2, 'b');
    expect(driver.pop({ queue: 'q', batch: 1 }).partitions).toEqual(['a']);
    expect(driver.pop({ queue: 'q', batch: 1 }).partitions).toEqual(['b']);
    expect(driver.pop({ queue: 'q', batch: 1 })).toMatchObject({ messages: [], reason: 'leased' });
  });

  test('visits ready partitions in rotation', () => {
    const driver = new EngineDriver();
    for (const partition of ['a', 'b', 'c']) pushEach(driver, 6, partition);
    const visited: (string | undefined)[] = [];
    for (let i = 0; i < 6; i += 1) {
      visited.push(driver.pop({ queue: 'q', batch: 2, autoAck: true }).partitions[0]);
    }
    expect(visited).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  test('keeps groups apart', () => {
    const driver = new EngineDriver();
    pushEach(driver, 2);
    expect(driver.pop({ queue: 'q', group: 'g' }).messages.length).toBe(2);
    expect(driver.pop({ queue: 'q', group: 'h' }).messages.length).toBe(2);
    expect(driver.pop({ queue: 'q' }).messages.length).toBe(2);
  });

  test('finds partitions that were there before the group, a bounded number of steps a call', () => {
    const driver = new EngineDriver({ partitionsScannedMax: 128 });
    driver.checksRows = false;
    for (let i = 0; i < 300; i += 1) {
      driver.push({ queue: 'q', partition: `p${i}` });
      driver.pop({ queue: 'q', partition: `p${i}`, group: 'g', autoAck: true });
    }
    driver.push({ queue: 'q', partition: 'p299', data: 'new' });
    driver.signals();
    const calls: Popped[] = [];
    while (calls.at(-1)?.messages.length !== 1) {
      calls.push(driver.pop({ queue: 'q', group: 'g' }));
      expect(calls.length).toBeLessThan(6);
    }
    expect(data(calls.at(-1)!)).toEqual(['new']);
    expect(calls.length).toBeGreaterThan(1);
    // A call that was cut asks to be tried again.
    expect(driver.signals()).toContainEqual({ queue: 'q', group: 'g', partition: undefined });
  });

  test('says that a search was cut short, so that nobody takes it for an empty queue', () => {
    const driver = new EngineDriver({ partitionsScannedMax: 128 });
    driver.checksRows = false;
    for (let i = 0; i < 300; i += 1) {
      driver.push({ queue: 'q', partition: `p${i}` });
      driver.pop({ queue: 'q', partition: `p${i}`, group: 'g', autoAck: true });
    }
    const pop = { queue: 'q', group: 'g' };
    const cuts = [1, 2, 3].map(() => driver.pop(pop).isCut);
    expect(cuts).toEqual([true, true, false]);
  });

  test('claims every partition that the batch has room for, however many were not looked at', () => {
    const driver = new EngineDriver({ partitionsScannedMax: 128 });
    driver.checksRows = false;
    for (let i = 0; i < 1000; i += 1) driver.push({ queue: 'q', partition: `p${i}` });
    const popped = driver.pop({ queue: 'q', group: 'g', partitions: 0, batch: 5000 });
    expect(popped.partitions.length).toBe(1000);
  });

  test('does not let a busy ring starve partitions that the group has not looked at', () => {
    const driver = new EngineDriver();
    driver.checksRows = false;
    for (let i = 0; i < 200; i += 1) driver.push({ queue: 'q', partition: `p${i}` });
    const seen = new Set<string>();
    for (let i = 0; i < 400; i += 1) {
      const popped = driver.pop({ queue: 'q', group: 'g', batch: 1, autoAck: true });
      for (const partition of popped.partitions) seen.add(partition);
      driver.push({ queue: 'q', partition: 'p0' });
    }
    expect(seen.size).toBe(200);
  });

  test('without autoAck must bring a lease id', () => {
    const driver = new EngineDriver();
    expect(() => driver.pop({ queue: 'q', leaseId: [0, 0, 0, 0] })).toThrow('lease id zero');
  });
});

describe('a pop of one partition', () => {
  test('creates neither queue nor partition nor group', () => {
    const driver = new EngineDriver();
    const before = driver.entries.length;
    expect(driver.pop({ queue: 'q', partition: 'a' })).toMatchObject({ reason: 'empty' });
    driver.push({ queue: 'q', partition: 'b' });
    expect(driver.pop({ queue: 'q', partition: 'a', group: 'g' }).messages).toEqual([]);
    expect(driver.entries.length).toBe(before + 1);
    expect(driver.engine.counters()).toMatchObject({ partitions: 1, groups: 0 });
  });

  test('claims only there and says when the partition is leased', () => {
    const driver = new EngineDriver();
    pushEach(driver, 1, 'a');
    pushEach(driver, 1, 'b');
    expect(driver.pop({ queue: 'q', partition: 'b', partitions: 5 }).partitions).toEqual(['b']);
    expect(driver.pop({ queue: 'q', partition: 'b' })).toMatchObject({ reason: 'leased' });
    expect(driver.pop({ queue: 'q' }).partitions).toEqual(['a']);
  });

  test('of an unregistered group with «new» starts at the tail of its first call', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 'old' });
    const pop = {
      queue: 'q',
      partition: 'Default',
      group: 'g',
      subscription: { mode: 'new' },
    } as const;
    expect(driver.pop(pop).messages).toEqual([]);
    driver.push({ queue: 'q', data: 'between' });
    expect(data(driver.pop(pop))).toEqual(['between']);
  });

  test('of an unregistered group with «all» starts at the beginning, decided once', () => {
    const driver = new EngineDriver();
    driver.configure('q', { delayedProcessing: 60 });
    driver.push({ queue: 'q', data: 'old' });
    const pop = { queue: 'q', partition: 'Default', group: 'g' } as const;
    expect(driver.pop(pop)).toMatchObject({ messages: [], reason: 'delayed' });
    driver.wait(61);
    expect(data(driver.pop({ ...pop, subscription: { mode: 'new' } }))).toEqual(['old']);
  });

  test('uses the stored subscription of a registered group', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 'old' });
    driver.pop({ queue: 'q', group: 'g', subscription: { mode: 'new' } });
    driver.push({ queue: 'q', data: 'fresh' });
    const popped = driver.pop({ queue: 'q', partition: 'Default', group: 'g' });
    expect(data(popped)).toEqual(['fresh']);
  });
});

describe('where a new cursor starts', () => {
  test('with «new»: at the first append after the registration', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', partition: 'a', data: 'old' });
    const pop = { queue: 'q', group: 'g', partitions: 0, subscription: { mode: 'new' } } as const;
    expect(driver.pop(pop).messages).toEqual([]);
    driver.push({ queue: 'q', partition: 'a', data: 'fresh a' });
    driver.push({ queue: 'q', partition: 'b', data: 'first b' });
    expect(data(driver.pop(pop))).toEqual(['fresh a', 'first b']);
  });

  test('with an instant: at the first append at or after it', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 0 });
    driver.wait(10);
    driver.push({ queue: 'q', data: 1 });
    const fromUs = driver.nowUs;
    driver.wait(10);
    driver.push({ queue: 'q', data: 2 });
    const popped = driver.pop({ queue: 'q', group: 'g', subscription: { mode: 'from', fromUs } });
    expect(data(popped)).toEqual([1, 2]);
  });

  test('with a future instant: nothing before it is ever delivered', () => {
    const driver = new EngineDriver();
    const fromUs = driver.nowUs + 60_000_000;
    const pop = { queue: 'q', group: 'g', subscription: { mode: 'from', fromUs } } as const;
    driver.push({ queue: 'q', data: 'early' });
    expect(driver.pop(pop).messages).toEqual([]);
    driver.wait(60);
    driver.push({ queue: 'q', data: 'late' });
    expect(data(driver.pop(pop))).toEqual(['late']);
  });

  test('with an instant out of any range: like the nearest one', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 0 });
    const ancient = { mode: 'from', fromUs: Number.MIN_SAFE_INTEGER } as const;
    const remote = { mode: 'from', fromUs: Number.MAX_SAFE_INTEGER } as const;
    expect(data(driver.pop({ queue: 'q', group: 'g', subscription: ancient }))).toEqual([0]);
    expect(driver.pop({ queue: 'q', group: 'h', subscription: remote }).messages).toEqual([]);
  });

  test('is decided by the first contact; later pops change nothing', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 'old' });
    driver.pop({ queue: 'q', group: 'g', subscription: { mode: 'new' } });
    expect(driver.pop({ queue: 'q', group: 'g', subscription: { mode: 'all' } }).messages).toEqual(
      [],
    );
  });

  test('is the beginning in queue mode, whatever the pop says', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 'old' });
    expect(data(driver.pop({ queue: 'q', subscription: { mode: 'new' } }))).toEqual(['old']);
  });
});

describe('a lease', () => {
  test('runs out after leaseSeconds, else the queue’s leaseTime, at least one second', () => {
    const driver = new EngineDriver();
    driver.configure('q', { leaseTime: 30 });
    pushEach(driver, 1);
    driver.pop({ queue: 'q' });
    driver.wait(29.9);
    expect(driver.pop({ queue: 'q' }).reason).toBe('leased');
    driver.wait(0.2);
    expect(driver.pop({ queue: 'q', leaseSeconds: 5 }).messages.length).toBe(1);
    driver.wait(5.1);
    expect(driver.pop({ queue: 'q' }).messages.length).toBe(1);
    driver.configure('q', { leaseTime: 0 });
    driver.wait(31);
    expect(driver.pop({ queue: 'q' }).messages.length).toBe(1);
    driver.wait(0.5);
    expect(driver.pop({ queue: 'q' }).reason).toBe('leased');
    driver.wait(0.6);
    expect(driver.pop({ queue: 'q' }).messages.length).toBe(1);
  });

  test('that ran out redelivers from the first unacked message with the attempt counted', () => {
    const driver = new EngineDriver();
    pushEach(driver, 2);
    const first = driver.pop({ queue: 'q' });
    expect(first.messages.map((message) => message.attempt)).toEqual([1, 1]);
    driver.wait(61);
    const second = driver.pop({ queue: 'q' });
    expect(data(second)).toEqual([0, 1]);
    expect(second.messages.map((message) => message.attempt)).toEqual([2, 2]);
  });

  test('tells who waits when it runs out', () => {
    const driver = new EngineDriver();
    pushEach(driver, 1);
    driver.pop({ queue: 'q', group: 'g', leaseSeconds: 10 });
    driver.signals();
    const dueUs = driver.nowUs + 10_000_000;
    expect(driver.engine.nextTimerUs()).toBeLessThanOrEqual(dueUs + 1000);
    let atUs = driver.nowUs;
    while (driver.engine.nextTimerUs() <= dueUs + 1000) {
      atUs = driver.engine.nextTimerUs();
      driver.engine.advanceTo(atUs);
    }
    expect(atUs).toBeGreaterThanOrEqual(dueUs);
    expect(driver.signals()).toEqual([{ queue: 'q', group: 'g', partition: 'Default' }]);
    expect(driver.engine.nextTimerUs()).toBe(Infinity);
  });

  test('is shared by all partitions of a call', () => {
    const driver = new EngineDriver();
    pushEach(driver, 1, 'a');
    pushEach(driver, 1, 'b');
    const popped = driver.pop({ queue: 'q', partitions: 2 });
    expect(driver.extend(popped.lease, 100).renewed).toBe(2);
  });
});

describe('autoAck', () => {
  test('commits at the hand-out, without a lease and as the first attempt', () => {
    const driver = new EngineDriver();
    pushEach(driver, 3);
    driver.pop({ queue: 'q' });
    driver.wait(61);
    const popped = driver.pop({ queue: 'q', batch: 2, autoAck: true });
    expect(popped.lease).toEqual([0, 0, 0, 0]);
    expect(popped.messages.map((message) => [message.data, message.attempt])).toEqual([
      [0, 1],
      [1, 1],
    ]);
    const rest = driver.pop({ queue: 'q', autoAck: true });
    expect(data(rest)).toEqual([2]);
    expect(driver.pop({ queue: 'q' })).toMatchObject({ messages: [], reason: 'empty' });
  });

  test('tells who waits that it left messages behind', () => {
    const driver = new EngineDriver();
    pushEach(driver, 3);
    driver.signals();
    driver.pop({ queue: 'q', group: 'g', batch: 1, autoAck: true });
    expect(driver.signals()).toContainEqual({ queue: 'q', group: 'g', partition: 'Default' });
  });
});

describe('delayedProcessing', () => {
  test('holds a message until its append is old enough; later ones wait on', () => {
    const driver = new EngineDriver();
    driver.configure('q', { delayedProcessing: 10 });
    driver.push({ queue: 'q', data: 0 });
    driver.wait(5);
    driver.push({ queue: 'q', data: 1 });
    expect(driver.pop({ queue: 'q' })).toMatchObject({ messages: [], reason: 'delayed' });
    driver.wait(5);
    expect(data(driver.pop({ queue: 'q', autoAck: true }))).toEqual([0]);
    expect(driver.pop({ queue: 'q' })).toMatchObject({ messages: [], reason: 'delayed' });
    driver.wait(5);
    expect(data(driver.pop({ queue: 'q' }))).toEqual([1]);
  });

  test('signals nothing at the append and everything when the delay ends', () => {
    const driver = new EngineDriver();
    driver.configure('q', { delayedProcessing: 10 });
    driver.pop({ queue: 'q', group: 'g' });
    driver.signals();
    driver.push({ queue: 'q' });
    expect(driver.signals()).toEqual([]);
    driver.engine.advanceTo(driver.nowUs + 9_990_000);
    expect(driver.signals()).toEqual([]);
    driver.engine.advanceTo(driver.nowUs + 10_001_000);
    expect(driver.signals()).toEqual([{ queue: 'q', group: undefined, partition: 'Default' }]);
  });

  test('tells groups that popped before the partition was there, when it ends', () => {
    const driver = new EngineDriver();
    driver.configure('q', { delayedProcessing: 10 });
    driver.pop({ queue: 'q', partition: 'p', group: 'g' });
    driver.push({ queue: 'q', partition: 'p' });
    driver.signals();
    driver.engine.advanceTo(driver.nowUs + 10_001_000);
    expect(driver.signals()).toEqual([{ queue: 'q', group: undefined, partition: 'p' }]);
  });

  test('that is switched off lets waiting messages out at once', () => {
    const driver = new EngineDriver();
    driver.configure('q', { delayedProcessing: 3600 });
    driver.push({ queue: 'q', data: 0 });
    expect(driver.pop({ queue: 'q', group: 'g' }).reason).toBe('delayed');
    driver.signals();
    driver.configure('q', { delayedProcessing: 0 });
    expect(driver.signals()).toContainEqual({ queue: 'q', group: undefined, partition: undefined });
    expect(data(driver.pop({ queue: 'q', group: 'g' }))).toEqual([0]);
  });

  test('applies to pops of one partition and to conflating pops', () => {
    const driver = new EngineDriver();
    driver.configure('q', { delayedProcessing: 10 });
    driver.push({ queue: 'q', data: 0 });
    driver.wait(5);
    driver.push({ queue: 'q', data: 1 });
    driver.wait(6);
    const conflating = { queue: 'q', group: 'g', conflation: true };
    expect(data(driver.pop(conflating))).toEqual([0]);
    expect(data(driver.pop({ queue: 'q', partition: 'Default' }))).toEqual([0]);
  });
});

describe('windowBuffer', () => {
  test('delivers nothing until the partition has been quiet for the window, then all', () => {
    const driver = new EngineDriver();
    driver.configure('q', { windowBuffer: 10 });
    driver.push({ queue: 'q', data: 0 });
    driver.wait(8);
    driver.push({ queue: 'q', data: 1 });
    driver.wait(8);
    expect(driver.pop({ queue: 'q' })).toMatchObject({ messages: [], reason: 'window' });
    driver.wait(2);
    expect(data(driver.pop({ queue: 'q' }))).toEqual([0, 1]);
  });

  test('that was switched off is no reason for an empty pop any more', () => {
    const driver = new EngineDriver();
    driver.configure('q', { windowBuffer: 1 });
    driver.push({ queue: 'q' });
    driver.configure('q', { windowBuffer: 0 });
    driver.pop({ queue: 'q', autoAck: true });
    expect(driver.pop({ queue: 'q' }).reason).toBe('empty');
  });

  test('holds back one partition only', () => {
    const driver = new EngineDriver();
    driver.configure('q', { windowBuffer: 10 });
    driver.push({ queue: 'q', partition: 'a', data: 0 });
    driver.wait(8);
    driver.push({ queue: 'q', partition: 'b', data: 1 });
    driver.wait(3);
    expect(driver.pop({ queue: 'q', partitions: 0 }).partitions).toEqual(['a']);
  });

  test('wakes when the last append is old enough, not when the first one is', () => {
    const driver = new EngineDriver();
    driver.configure('q', { windowBuffer: 10 });
    driver.pop({ queue: 'q', group: 'g' });
    driver.push({ queue: 'q' });
    driver.wait(8);
    driver.push({ queue: 'q' });
    driver.signals();
    driver.engine.advanceTo(driver.nowUs + 5_000_000);
    expect(driver.signals()).toEqual([]);
    driver.engine.advanceTo(driver.nowUs + 10_001_000);
    expect(driver.signals()).toEqual([{ queue: 'q', group: undefined, partition: 'Default' }]);
  });
});

describe('the size of an answer', () => {
  const PAYLOAD = 'x'.repeat(64 * 1024);
  /** Room for sixteen of them, less what messages and appends count for besides. */
  const LIMITS = { popBytesMax: 1024 * 1024 };

  function pushLarge(driver: EngineDriver, count: number, partition: (i: number) => string) {
    for (let i = 0; i < count; i += 30) {
      const items = Array.from({ length: Math.min(30, count - i) }, (_, j) => i + j);
      driver.push(
        items.map((n) => ({ queue: 'q', partition: partition(n), data: PAYLOAD, id: `${n}` })),
      );
    }
  }

  test('is bounded in one partition, and the rest stays claimable', () => {
    const driver = new EngineDriver(LIMITS);
    pushLarge(driver, 100, () => 'p');
    const seen: number[] = [];
    for (;;) {
      const { messages } = driver.pop({ queue: 'q', batch: 1000, autoAck: true });
      if (messages.length === 0) break;
      expect(messages.length).toBe(Math.min(15, 100 - seen.length));
      seen.push(...messages.map((message) => message.offset));
    }
    expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  test('ends the call where it is reached, also when what is left is claimable at once', () => {
    const driver = new EngineDriver({ popBytesMax: 1000 });
    driver.push(Array.from({ length: 10 }, () => ({ queue: 'q' })));
    const { partitions, messages } = driver.pop({ queue: 'q', partitions: 3, autoAck: true });
    expect([partitions, messages.length]).toEqual([['Default'], 3]);
  });

  test('is bounded over many partitions', () => {
    const driver = new EngineDriver(LIMITS);
    pushLarge(driver, 40, (n) => `p-${n}`);
    const sizes = [1, 2, 3].map(
      () => driver.pop({ queue: 'q', batch: 1000, partitions: 0 }).messages.length,
    );
    expect(sizes).toEqual([15, 15, 10]);
  });

  test('never keeps a single message back, however large', () => {
    const driver = new EngineDriver({ popBytesMax: 1000 });
    driver.push([
      { queue: 'q', data: 'x'.repeat(5000) },
      { queue: 'q', data: 'small' },
    ]);
    const first = driver.pop({ queue: 'q', autoAck: true });
    expect(first.messages.map((message) => message.offset)).toEqual([0]);
    expect(driver.pop({ queue: 'q' }).messages.map((message) => message.data)).toEqual(['small']);
  });
});

describe('a conflating group', () => {
  const pop = { queue: 'q', group: 'g', conflation: true } as const;

  test('gets the newest message of each partition under a lease over all of them', () => {
    const driver = new EngineDriver();
    pushEach(driver, 3, 'a');
    pushEach(driver, 2, 'b');
    const popped = driver.pop({ ...pop, partitions: 64 });
    expect(popped.messages.map((message) => [message.partition, message.data])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    expect(popped.conflation).toBe(true);
    const [first] = popped.messages;
    const item = { partition: first!.partitionNumber, id: first!.id, lease: popped.lease };
    expect(driver.ack([item], 'g')).toMatchObject([{ ok: true, released: true }]);
    expect(driver.pop({ ...pop, partitions: 64 }).messages).toEqual([]);
  });

  test('gets a message pushed after the claim next', () => {
    const driver = new EngineDriver();
    pushEach(driver, 2);
    const popped = driver.pop(pop);
    driver.push({ queue: 'q', data: 'later' });
    const [message] = popped.messages;
    driver.ack(
      [{ partition: message!.partitionNumber, id: message!.id, lease: popped.lease }],
      'g',
    );
    expect(data(driver.pop(pop))).toEqual(['later']);
  });

  test('counts attempts over superseded deliveries', () => {
    const driver = new EngineDriver();
    pushEach(driver, 1);
    driver.pop(pop);
    driver.wait(61);
    driver.push({ queue: 'q', data: 'newer' });
    expect(driver.pop(pop).messages).toMatchObject([{ data: 'newer', attempt: 2 }]);
  });

  test('keeps its stored policy and says when a pop disagrees', () => {
    const driver = new EngineDriver();
    driver.pop(pop);
    driver.pop({ queue: 'q', group: 'plain' });
    expect(driver.pop({ ...pop, conflation: false })).toMatchObject({
      conflation: true,
      conflict: true,
    });
    expect(driver.pop({ queue: 'q', group: 'g' })).toMatchObject({
      conflation: true,
      conflict: false,
    });
    expect(driver.pop({ ...pop, group: 'plain' })).toMatchObject({
      conflation: false,
      conflict: true,
    });
  });

  test('is refused without a group and together with autoAck', () => {
    const driver = new EngineDriver();
    expect(() => driver.pop({ queue: 'q', conflation: true })).toThrow('consumerGroup');
    expect(() => driver.pop({ ...pop, autoAck: true })).toThrow('autoAck or commitOnDelivery');
    expect(driver.list()).toEqual([]);
  });

  test('gets at most 64 messages a call', () => {
    const driver = new EngineDriver();
    driver.checksRows = false;
    for (let i = 0; i < 70; i += 1) driver.push({ queue: 'q', partition: `p${i}` });
    expect(driver.pop({ ...pop, partitions: 0 }).messages.length).toBe(64);
  });

  test('is registered by a pop of one partition too', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q' });
    expect(driver.pop({ ...pop, partition: 'none' })).toMatchObject({ conflation: true });
    expect(driver.pop({ queue: 'q', group: 'g' }).conflation).toBe(true);
    expect(driver.pop({ ...pop, queue: 'none', partition: 'x' })).toMatchObject({
      conflation: true,
      conflict: false,
    });
    expect(driver.list().length).toBe(1);
  });
});

describe('a pop by labels', () => {
  test('shares one budget and one lease over all matching queues', () => {
    const driver = new EngineDriver();
    driver.push([
      { queue: 'orders.email' },
      { queue: 'orders.email' },
      { queue: 'orders.invoice' },
      { queue: 'billing.email' },
    ]);
    const popped = driver.pop({ namespace: 'orders', group: 'g', partitions: 0, batch: 10 });
    expect(popped.messages.map((message) => message.queue).sort()).toEqual([
      'orders.email',
      'orders.email',
      'orders.invoice',
    ]);
    expect(driver.extend(popped.lease, 10).renewed).toBe(2);
    expect(driver.pop({ task: 'email', group: 'h', partitions: 0 }).messages.length).toBe(3);
    const both = driver.pop({ namespace: 'orders', task: 'email', group: 'i', partitions: 0 });
    expect(both.messages.length).toBe(2);
  });

  test('matches nothing without labels and creates no queue', () => {
    const driver = new EngineDriver();
    driver.configure('unlabelled');
    driver.push({ queue: 'unlabelled' });
    expect(driver.pop({ namespace: '', task: '', group: 'g' }).messages).toEqual([]);
    expect(driver.pop({ namespace: 'nothing', group: 'g' }).messages).toEqual([]);
    expect(driver.list().length).toBe(1);
  });

  test('registers the group on every matching queue, even past the budget', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'n.a' }, { queue: 'n.b' }]);
    const pop = { namespace: 'n', group: 'g', batch: 1, subscription: { mode: 'all' } } as const;
    driver.pop(pop);
    expect(driver.engine.counters().groups).toBe(2);
  });

  test('leases with each queue’s own lease time', () => {
    const driver = new EngineDriver();
    driver.configure('a', { namespace: 'n', leaseTime: 10 });
    driver.configure('b', { namespace: 'n', leaseTime: 100 });
    driver.push([{ queue: 'a' }, { queue: 'b' }]);
    driver.pop({ namespace: 'n', group: 'g', partitions: 0 });
    driver.wait(11);
    const again = driver.pop({ namespace: 'n', group: 'g', partitions: 0 });
    expect(again.messages.map((message) => message.queue)).toEqual(['a']);
  });

  test('starts with another queue each time', () => {
    const driver = new EngineDriver();
    for (let i = 0; i < 4; i += 1) driver.push([{ queue: 'n.a' }, { queue: 'n.b' }]);
    const visited: (string | undefined)[] = [];
    for (let i = 0; i < 4; i += 1) {
      const popped = driver.pop({ namespace: 'n', group: 'g', batch: 1, autoAck: true });
      visited.push(popped.messages[0]?.queue);
    }
    expect(visited).toEqual(['n.a', 'n.b', 'n.a', 'n.b']);
  });

  test('follows labels as they change', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'a.x' });
    driver.pop({ namespace: 'moved', group: 'g' });
    driver.configure('a.x', { namespace: 'moved' });
    expect(driver.pop({ namespace: 'moved', group: 'g' }).messages.length).toBe(1);
    driver.deleteQueue('a.x');
    expect(driver.pop({ namespace: 'moved', group: 'h' }).messages).toEqual([]);
  });
});
