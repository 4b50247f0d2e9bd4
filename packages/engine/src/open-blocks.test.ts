import { expect, test, vi } from 'vitest';
import { EngineDriver } from './testing.ts';
import type { AckItem, Popped, PushItem } from './testing.ts';

const COUNT = 4000;

/** A driver that does not compare all rows, with a queue. */
function newDriver(): EngineDriver {
  const driver = new EngineDriver();
  driver.checksRows = false;
  driver.configure('q', { deadLetterQueue: true });
  return driver;
}

const items = (prefix: string, count = COUNT): PushItem[] =>
  Array.from({ length: count }, (_, i) => ({ queue: 'q', id: `${prefix}${i}`, data: i }));

/** Bytes of stored payloads that were read while `run` ran. */
function bytesRead(driver: EngineDriver, run: () => void): number {
  const spy = vi.spyOn(driver.payloads, 'payload');
  run();
  const sizes = spy.mock.calls.map(([{ from, toExclusive }]) => toExclusive - from);
  spy.mockRestore();
  return sizes.reduce((sum, size) => sum + size, 0);
}

const sizeOf = (driver: EngineDriver): number =>
  driver.entries.reduce((sum, entry) => sum + entry.payload.length, 0);

function acks(popped: Popped, status: NonNullable<AckItem['status']>): AckItem[] {
  return popped.messages.map((message) => ({
    partition: message.partitionNumber,
    id: message.id,
    lease: popped.lease,
    status,
  }));
}

test('filing many dead letters of one block reads the block once', () => {
  const driver = newDriver();
  driver.push(items('m'));
  const stored = sizeOf(driver);
  const popped = driver.pop({ queue: 'q', batch: COUNT });
  const read = bytesRead(driver, () => driver.ack(acks(popped, 'dlq')));
  expect(driver.engine.counters().deadLetters).toBe(COUNT);
  expect(read).toBeLessThan(stored * 3);
});

test('filing dead letters of one block reads many of its messages at once', () => {
  const driver = newDriver();
  driver.push(items('m'));
  const popped = driver.pop({ queue: 'q', batch: COUNT });
  const spy = vi.spyOn(driver.payloads, 'payload');
  driver.ack(acks(popped, 'dlq'));
  expect(spy.mock.calls.length).toBeLessThan(10);
  spy.mockRestore();
  expect(driver.deadLetters().map(({ data }) => data)).toEqual(
    Array.from({ length: COUNT }, (_, i) => i),
  );
});

test('duplicates of messages in several blocks read each of them once, in any order', () => {
  const driver = newDriver();
  const blocks = ['a', 'b', 'c'].map((prefix) => items(prefix));
  for (const block of blocks) driver.push(block);
  const stored = sizeOf(driver);
  const mixed = Array.from({ length: COUNT }, (_, i) => blocks.map((block) => block[i]!)).flat();
  const read = bytesRead(driver, () => {
    expect(driver.push(mixed).every(({ status }) => status === 'duplicate')).toBe(true);
  });
  expect(read).toBeLessThan(stored * 2);
});

test('repeated acks of messages below the cursor read their block once', () => {
  const driver = newDriver();
  driver.push(items('m'));
  const stored = sizeOf(driver);
  const popped = driver.pop({ queue: 'q', batch: COUNT });
  driver.ack(acks(popped, 'completed'));
  const bare = acks(popped, 'completed').map(({ partition, id }) => ({ partition, id }));
  const read = bytesRead(driver, () => {
    expect(driver.ack(bare).every(({ noop }) => noop)).toBe(true);
  });
  expect(read).toBeLessThan(stored * 2);
});

test('a block that took the record of a removed one is not mistaken for it', () => {
  const driver = newDriver();
  driver.configure('q', { completedRetentionSeconds: 1, retentionEnabled: true });
  driver.push(items('m', 2));
  const popped = driver.pop({ queue: 'q' });
  driver.ack(acks(popped, 'completed'));
  driver.wait(2);
  driver.cycle(() => {
    // Opens the old block, removes it, and stores others, all in one cycle.
    expect(driver.push(items('m', 2)).map(({ status }) => status)).toEqual([
      'duplicate',
      'duplicate',
    ]);
    driver.engine.planRetention(100);
    driver.push(items('n', 2));
    expect(driver.pop({ queue: 'q' }).messages.map(({ id }) => id)).toEqual(['n0', 'n1']);
    expect(driver.push(items('n', 2))[1]).toMatchObject({ status: 'duplicate', offset: 3 });
  });
});
