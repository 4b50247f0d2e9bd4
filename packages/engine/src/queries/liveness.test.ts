import { InvariantError } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';
import { liveRanges } from './liveness.ts';

/** The ranges of an entry as both engines see them. */
function live(driver: EngineDriver, position: number): { from: number; toExclusive: number }[] {
  const entry = driver.entries[position]!;
  const ranges = liveRanges(driver.engine.state, entry);
  expect(liveRanges(driver.replica.state, entry)).toEqual(ranges);
  for (const { from, toExclusive } of ranges) {
    expect(from).toBeLessThan(toExclusive);
    expect(toExclusive).toBeLessThanOrEqual(entry.payload.length);
  }
  return ranges;
}

function newest(driver: EngineDriver): number {
  return driver.entries.length - 1;
}

describe('liveness', () => {
  test('of an append ends when retention has removed its last message', () => {
    const driver = new EngineDriver();
    driver.configure('q', { retentionEnabled: true, retentionSeconds: 10 });
    driver.push([{ queue: 'q' }, { queue: 'q', partition: 'b' }, { queue: 'q' }]);
    const first = newest(driver);
    expect(live(driver, first)).toHaveLength(2);
    driver.wait(6);
    driver.push({ queue: 'q' });
    const second = newest(driver);
    driver.wait(6);
    driver.cycle(() => driver.engine.planRetention(100));
    expect([live(driver, first).length, live(driver, second).length]).toEqual([0, 1]);
    driver.wait(6);
    driver.cycle(() => driver.engine.planRetention(100));
    expect(live(driver, second)).toEqual([]);
  });

  test('covers the payload of what is live, and nothing of entries without messages', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 'text' });
    const entry = driver.entries[newest(driver)]!;
    expect(live(driver, newest(driver))).toEqual([{ from: 0, toExclusive: entry.payload.length }]);
    driver.pop({ queue: 'q' });
    expect(live(driver, newest(driver))).toEqual([]);
  });

  test('of a dead letter ends with it, not with its message', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    driver.push({ queue: 'q', id: 'x', data: 'kept' });
    const pushed = newest(driver);
    const popped = driver.pop({ queue: 'q', group: 'g' });
    const partition = popped.messages[0]!.partitionNumber;
    driver.ack([{ partition, id: 'x', lease: popped.lease, status: 'dlq' }], 'g');
    const filed = newest(driver);
    driver.wait(10);
    driver.cycle(() => driver.engine.planRetention(100));
    expect([live(driver, pushed).length, live(driver, filed).length]).toEqual([0, 1]);
    driver.deleteQueue('q');
    driver.cycle(() => driver.engine.planHousekeeping(10));
    expect(live(driver, filed)).toEqual([]);
  });

  test('of everything in a queue ends when its partitions are removed', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q' });
    const pushed = newest(driver);
    driver.deleteQueue('q');
    driver.cycle(() => driver.engine.planHousekeeping(10));
    driver.push({ queue: 'q' });
    expect([live(driver, pushed).length, live(driver, newest(driver)).length]).toEqual([0, 1]);
  });

  test('of an entry that cannot be decoded is no guess', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q' });
    const { index, head } = driver.entries[newest(driver)]!;
    const cut = { index, head: head.subarray(0, head.length - 1) };
    expect(() => liveRanges(driver.engine.state, cut)).toThrow(InvariantError);
  });
});
