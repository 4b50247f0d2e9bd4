import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';

const retain = (driver: EngineDriver, budget = 1000): boolean =>
  driver.cycle(() => driver.engine.planRetention(budget));

const total = (driver: EngineDriver): number | undefined => driver.list()[0]?.messages.total;

function pushEach(driver: EngineDriver, count: number, secondsBetween = 10): void {
  for (let i = 0; i < count; i += 1) {
    driver.push({ queue: 'q', id: `m${i}`, data: i });
    driver.wait(secondsBetween);
  }
}

describe('retention', () => {
  test('removes nothing without a rule', () => {
    const driver = new EngineDriver();
    driver.configure('q', { retentionSeconds: 10, completedRetentionSeconds: 10 });
    pushEach(driver, 3, 1000);
    driver.pop({ queue: 'q', autoAck: true });
    const before = driver.entries.length;
    expect(retain(driver)).toBe(true);
    expect(driver.entries.length).toBe(before);
  });

  test('by retentionSeconds takes old appends, consumed or not, whole appends at a time', () => {
    const driver = new EngineDriver();
    driver.configure('q', { retentionEnabled: true, retentionSeconds: 25 });
    driver.push([{ queue: 'q' }, { queue: 'q' }]);
    driver.wait(10);
    pushEach(driver, 3);
    // Ages: 40, 30, 20, 10 seconds.
    retain(driver);
    expect(total(driver)).toBe(2);
    const popped = driver.pop({ queue: 'q' });
    expect(popped.messages.map((message) => message.offset)).toEqual([3, 4]);
  });

  test('by completedRetentionSeconds stops at the lowest cursor, queue mode included', () => {
    const driver = new EngineDriver();
    driver.configure('q', { retentionEnabled: true, completedRetentionSeconds: 5 });
    pushEach(driver, 4);
    retain(driver);
    expect(total(driver)).toBe(4);
    driver.pop({ queue: 'q', group: 'g', batch: 3, autoAck: true });
    driver.pop({ queue: 'q', batch: 1, autoAck: true });
    retain(driver);
    expect(total(driver)).toBe(3);
    driver.pop({ queue: 'q', batch: 10, autoAck: true });
    retain(driver);
    expect(total(driver)).toBe(1);
  });

  test('by completedRetentionSeconds never splits an append', () => {
    const driver = new EngineDriver();
    driver.configure('q', { retentionEnabled: true, completedRetentionSeconds: 5 });
    driver.push([{ queue: 'q' }, { queue: 'q' }]);
    driver.wait(10);
    driver.pop({ queue: 'q', batch: 1, autoAck: true });
    retain(driver);
    expect(total(driver)).toBe(2);
  });

  test('by maxWaitTimeSeconds needs no retentionEnabled and files nothing', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 15 });
    pushEach(driver, 3);
    retain(driver);
    expect(total(driver)).toBe(1);
    expect(driver.engine.counters().deadLetters).toBe(0);
  });

  test('is held back by a named sink until the ceiling, except maxWaitTimeSeconds', () => {
    const driver = new EngineDriver();
    const hold = { retentionSinkHold: 's3', retentionSinkHoldMaxSeconds: 60 };
    driver.configure('q', { retentionEnabled: true, retentionSeconds: 5, ...hold });
    pushEach(driver, 3);
    retain(driver);
    expect(total(driver)).toBe(3);
    driver.wait(45);
    retain(driver);
    expect(total(driver)).toBe(1);
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    retain(driver);
    expect(total(driver)).toBe(0);
  });

  test('lets consumers go on at the first surviving message', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 15 });
    driver.pop({ queue: 'q', group: 'g' });
    pushEach(driver, 3);
    const popped = driver.pop({ queue: 'q', group: 'g', batch: 1 });
    driver.release(popped.lease);
    retain(driver);
    expect(driver.pop({ queue: 'q', group: 'g' }).messages.map((m) => m.data)).toEqual([2]);
  });

  test('does not spare leased messages; their ack is rejected and what survives comes next', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 15, leaseTime: 100 });
    pushEach(driver, 3);
    const popped = driver.pop({ queue: 'q', group: 'g', batch: 2 });
    retain(driver);
    const [first] = popped.messages;
    const { partitionNumber: partition, id } = first!;
    const answers = driver.ack([{ partition, id, lease: popped.lease, status: 'failed' }], 'g');
    expect(answers).toMatchObject([{ error: 'unresolvable', released: false }]);
    driver.wait(101);
    expect(driver.pop({ queue: 'q', group: 'g' }).messages.map((m) => m.data)).toEqual([2]);
  });

  test('that empties a partition seals the cursors by their next pop', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    pushEach(driver, 3);
    const popped = driver.pop({ queue: 'q', group: 'g', batch: 1 });
    driver.release(popped.lease);
    retain(driver);
    const before = driver.entries.length;
    expect(driver.pop({ queue: 'q', group: 'g' })).toMatchObject({ messages: [], reason: 'empty' });
    expect(driver.entries.length).toBe(before + 1);
    driver.pop({ queue: 'q', group: 'g' });
    expect(driver.entries.length).toBe(before + 1);
    driver.push({ queue: 'q', data: 'next' });
    expect(driver.pop({ queue: 'q', group: 'g' }).messages).toMatchObject([
      { data: 'next', offset: 3 },
    ]);
  });

  test('keeps dead letters and the memory of ids', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    driver.push({ queue: 'q', id: 'x', data: 'kept' });
    const popped = driver.pop({ queue: 'q', group: 'g' });
    const partition = popped.messages[0]!.partitionNumber;
    driver.ack([{ partition, id: 'x', lease: popped.lease, status: 'dlq' }], 'g');
    driver.wait(10);
    retain(driver);
    expect(total(driver)).toBe(0);
    expect(driver.deadLetters()).toMatchObject([{ id: 'x', data: 'kept' }]);
    expect(driver.push({ queue: 'q', id: 'x' })[0]).toMatchObject({
      status: 'duplicate',
      offset: 0,
    });
    expect(driver.ack([{ partition, id: 'x' }], 'g')).toMatchObject([{ ok: true, noop: true }]);
  });

  test('works through many partitions in bounded steps', () => {
    const driver = new EngineDriver();
    driver.configure('a', { maxWaitTimeSeconds: 5 });
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    for (let i = 0; i < 7; i += 1) driver.push({ queue: i < 3 ? 'a' : 'q', partition: `p${i}` });
    driver.wait(10);
    const steps: boolean[] = [];
    while (steps.at(-1) !== true) steps.push(retain(driver, 2));
    expect(steps.length).toBe(4);
    expect(driver.engine.counters().blocks).toBe(0);
  });

  test('goes on in the same partition while it holds more than one step removes', () => {
    const driver = new EngineDriver();
    driver.checksRows = false;
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    driver.cycle(() => {
      for (let i = 0; i < 2500; i += 1) driver.push({ queue: 'q' });
    });
    driver.wait(10);
    expect([1, 2, 3].map(() => retain(driver, 5))).toEqual([false, false, true]);
    expect(driver.engine.counters().blocks).toBe(0);
  });
});

describe('cleanup', () => {
  const clean = (driver: EngineDriver, days = 30): boolean =>
    driver.cycle(() => driver.engine.planCleanup({ budget: 100, idleUs: days * 86_400_000_000 }));

  test('removes an empty partition after the idle time; a later push starts again at 0', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    driver.push({ queue: 'q', partition: 'a', id: 'x' });
    const popped = driver.pop({ queue: 'q', group: 'g', autoAck: true });
    driver.wait(10);
    retain(driver);
    driver.wait(29 * 86_400);
    clean(driver);
    expect(driver.engine.counters()).toMatchObject({ partitions: 1, cursors: 1 });
    driver.wait(86_400);
    expect(clean(driver)).toBe(true);
    expect(driver.engine.counters()).toMatchObject({ partitions: 0, cursors: 0 });
    driver.push({ queue: 'q', partition: 'a', id: 'x' });
    const again = driver.pop({ queue: 'q', group: 'g' });
    expect(again.messages).toMatchObject([{ offset: 0, attempt: 1 }]);
    const number = popped.messages[0]!.partitionNumber;
    expect(again.messages[0]!.partitionNumber).toBeGreaterThan(number);
  });

  test('spares partitions with messages or dead letters', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', partition: 'full' });
    driver.push({ queue: 'r', partition: 'dead', id: 'x' });
    const popped = driver.pop({ queue: 'r' });
    const partition = popped.messages[0]!.partitionNumber;
    driver.ack([{ partition, id: 'x', lease: popped.lease, status: 'dlq' }]);
    driver.configure('r', { maxWaitTimeSeconds: 5 });
    driver.wait(10);
    driver.cycle(() => driver.engine.planRetention(100));
    driver.wait(40 * 86_400);
    clean(driver);
    expect(driver.engine.counters().partitions).toBe(2);
  });

  test('lets a reused ordinal serve groups that looked at it before', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    driver.push({ queue: 'q', partition: 'a' });
    driver.pop({ queue: 'q', group: 'g', autoAck: true });
    driver.wait(10);
    retain(driver);
    driver.wait(40 * 86_400);
    clean(driver);
    driver.push({ queue: 'q', partition: 'b', data: 'new' });
    expect(driver.pop({ queue: 'q', group: 'g' }).messages).toMatchObject([{ data: 'new' }]);
  });
});
