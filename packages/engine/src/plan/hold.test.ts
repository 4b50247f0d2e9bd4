import type { Id128 } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { EngineDriver, popCommand } from '../testing.ts';
import type { PopFields } from '../testing.ts';

const LEASE: Id128 = [1, 2, 3, 4];

/** A queue that asks for fuller batches, with a group that popped before. */
function newDriver(options: { readonly windowBuffer?: number } = {}): EngineDriver {
  const driver = new EngineDriver();
  driver.configure('q', { minPopWaitTime: 300, ...options });
  driver.pop({ queue: 'q', group: 'g' });
  return driver;
}

function pushEach(driver: EngineDriver, partitions: readonly string[], each = 1): void {
  driver.push(partitions.flatMap((partition) => Array(each).fill({ queue: 'q', partition })));
}

function holdUs(driver: EngineDriver, fields: PopFields = {}): number {
  const command = popCommand(
    { queue: 'q', group: 'g', batch: 10, partitions: 0, ...fields },
    LEASE,
  );
  return driver.cycle(() => driver.engine.holdUs(command));
}

describe('a pop is held for a fuller batch', () => {
  test('while it could claim something, but not all it asked for', () => {
    const driver = newDriver();
    expect(holdUs(driver)).toBe(0);
    pushEach(driver, ['a', 'b'], 3);
    expect(holdUs(driver)).toBe(300_000);
    expect(holdUs(driver, { batch: 6 })).toBe(0);
    pushEach(driver, ['c'], 4);
    expect(holdUs(driver)).toBe(0);
  });

  test('by what the partitions that it may claim from hold', () => {
    const driver = newDriver();
    pushEach(driver, ['a', 'b', 'c'], 5);
    expect(holdUs(driver, { partitions: 1 })).toBe(300_000);
    expect(holdUs(driver, { partitions: 2 })).toBe(0);
  });

  test('not for what is leased or deferred', () => {
    const driver = newDriver({ windowBuffer: 5 });
    pushEach(driver, ['a'], 3);
    expect(holdUs(driver)).toBe(0);
    driver.wait(6);
    driver.cycle(() => driver.engine.advanceTo(driver.nowUs));
    expect(holdUs(driver)).toBe(300_000);
    driver.pop({ queue: 'q', group: 'g', batch: 2 });
    expect(holdUs(driver)).toBe(0);
  });

  test('only with a batch, on a whole queue, of a known group that does not conflate', () => {
    const driver = newDriver();
    pushEach(driver, ['a']);
    expect(holdUs(driver, { batch: 1 })).toBe(0);
    expect(holdUs(driver, { partition: 'a' })).toBe(0);
    expect(holdUs(driver, { group: 'unknown' })).toBe(0);
    driver.pop({ queue: 'q', group: 'last', conflation: true, leaseSeconds: 1 });
    driver.wait(2);
    expect(holdUs(driver, { group: 'last' })).toBe(0);
    driver.configure('q', { minPopWaitTime: 0 });
    expect(holdUs(driver)).toBe(0);
  });

  test('and nothing changes by asking: the rotation goes on where it was', () => {
    const driver = newDriver();
    pushEach(driver, ['a', 'b', 'c']);
    const before = driver.entries.length;
    holdUs(driver);
    holdUs(driver, { partitions: 2 });
    expect(driver.entries.length).toBe(before);
    const popped = [1, 2, 3].map(() => driver.pop({ queue: 'q', group: 'g' }).partitions);
    expect(popped).toEqual([['a'], ['b'], ['c']]);
  });
});
