// What planning reads of the log when no place of a block is in memory: few headers, and a bounded number.

import { describe, expect, test } from 'vitest';
import type { Outcome, PopOutcome } from '@queen-ts/protocol';
import type { Engine } from '../engine.ts';
import { popCommand } from '../testing/commands.ts';
import { EngineDriver } from '../testing/driver.ts';

/** Plans pops on the replica, which has no place of a block in memory but the newest ones. */
class ColdLeader {
  readonly driver = new EngineDriver();
  #cycles = 0;

  constructor() {
    this.driver.checksRows = false;
  }

  get engine(): Engine {
    return this.driver.replica;
  }

  /** Pops everything, committed on delivery. Reports the headers read. */
  pop(): { readonly outcome: PopOutcome; readonly reads: number } {
    const { engine, driver } = this;
    this.#cycles += 1;
    const index = driver.entries.at(-1)!.index + this.#cycles;
    const nowUs = driver.nowUs + this.#cycles * 1000;
    const fields = { queue: 'q', group: 'g', batch: 1_000_000, partitions: 100_000, autoAck: true };
    engine.openCycle({ index, nowUs, payloadSizeHint: 0 });
    const before = engine.state.blocks.reads;
    const outcome: Outcome = engine.plan(popCommand(fields, driver.mintId()));
    const reads = engine.state.blocks.reads - before;
    expect(engine.cycleCostBytes).toBeGreaterThanOrEqual(reads * 32 * 1024);
    const parts = engine.closeCycle();
    if (parts !== undefined) driver.payloads.add(index, parts.payload);
    if (outcome.kind !== 'pop') throw new Error(outcome.kind);
    return { outcome, reads };
  }
}

describe('a pop of what nothing in memory tells the place of', () => {
  test('is bounded by the headers it reads, over many partitions', () => {
    const leader = new ColdLeader();
    const { driver } = leader;
    for (let round = 0; round < 3; round += 1) {
      driver.cycle(() => {
        for (let i = 0; i < 1500; i += 1) driver.push({ queue: 'q', partition: `p${i}` });
      });
    }
    let messages = 0;
    let pops = 0;
    for (; messages < 4500 && pops < 20; pops += 1) {
      const { outcome, reads } = leader.pop();
      expect(outcome.messageCount).toBeGreaterThan(0);
      expect(reads).toBeLessThanOrEqual(513);
      messages += outcome.messageCount;
    }
    expect(messages).toBe(4500);
    expect(pops).toBeGreaterThan(2);
  });

  test('reads few headers of one long partition, though no page is kept', () => {
    const leader = new ColdLeader();
    const { driver } = leader;
    for (let i = 0; i < 1000; i += 1) driver.push({ queue: 'q' });
    const { outcome, reads } = leader.pop();
    expect(outcome.messageCount).toBe(1000);
    // 31 pages, each found anew.
    expect(reads).toBeLessThanOrEqual(31 * 8);
  });
});

test('retention looks at the age of what it keeps, not into the log', () => {
  const leader = new ColdLeader();
  const { driver, engine } = leader;
  driver.configure('q', { retentionEnabled: true, retentionSeconds: 3600 });
  for (let round = 0; round < 40; round += 1) {
    driver.push([1, 2, 3].map((i) => ({ queue: 'q', partition: `p${i}` })));
    driver.wait(10);
  }
  const before = engine.state.blocks.reads;
  const index = driver.entries.at(-1)!.index + 1;
  engine.openCycle({ index, nowUs: driver.nowUs + 1000, payloadSizeHint: 0 });
  expect(engine.planRetention(100)).toBe(true);
  expect(engine.closeCycle()).toBeUndefined();
  expect(engine.state.blocks.reads).toBe(before);
  engine.openCycle({ index, nowUs: driver.nowUs + 3_400_000_000, payloadSizeHint: 0 });
  expect(engine.planRetention(100)).toBe(true);
  const parts = engine.closeCycle()!;
  expect(engine.state.blocks.reads - before).toBeGreaterThan(0);
  expect(engine.counters().blocks).toBeLessThan(120);
  // A node that has never looked anything up comes to the same.
  const leading = driver.engine;
  const readsBefore = leading.state.blocks.reads;
  leading.apply({ index, ...parts });
  expect(leading.state.blocks.reads).toBe(readsBefore);
  expect(leading.digest()).toBe(engine.digest());
  expect(leading.counters().blocks).toBe(engine.counters().blocks);
});
