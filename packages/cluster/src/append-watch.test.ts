// Waits for appends: what ends them.

import { EngineDriver } from '@queen-ts/engine/testing';
import { describe, expect, it } from 'vitest';
import { AppendWatch } from './append-watch.ts';
import type { AppendMark } from './append-watch.ts';
import { ManualTime } from './testing/manual-scheduler.ts';

const WATCH_US = 5000;
const WAIT_US = 1_000_000;

function setUp(watchedPartitionsMax = 10) {
  const time = new ManualTime();
  const driver = new EngineDriver();
  driver.push([
    { queue: 'q', partition: 'a' },
    { queue: 'q', partition: 'b' },
  ]);
  let isReadable = true;
  const watch = new AppendWatch({
    scheduler: time,
    limits: { watchedPartitionsMax, watchUs: WATCH_US },
    view: () => (isReadable ? driver.engine.view(driver.nowUs) : undefined),
  });
  const leaver = new AbortController();
  const wait = (marks: readonly AppendMark[], waitUs = WAIT_US): { state: string } => {
    const watched = { state: 'waiting' };
    watch.wait(marks, { waitUs, signal: leaver.signal }).then(
      (isChanged) => (watched.state = isChanged ? 'changed' : 'over'),
      (error: { code: string }) => (watched.state = error.code),
    );
    return watched;
  };
  const setReadable = (value: boolean): void => {
    isReadable = value;
  };
  return { time, driver, watch, wait, leaver, setReadable };
}

const A = { partition: 1, highWatermark: 1 };
const B = { partition: 2, highWatermark: 1 };

describe('a wait for appends', () => {
  it('ends when one of its partitions gets a message, and not for others', async () => {
    const { time, driver, watch, wait } = setUp();
    const [onA, onBoth] = [wait([A]), wait([A, B])];
    driver.push({ queue: 'q', partition: 'b' });
    watch.changed();
    await time.pass(WATCH_US);
    expect([onA.state, onBoth.state]).toEqual(['waiting', 'changed']);
  });

  it('ends soon when there was a message before it began', async () => {
    const { time, wait } = setUp();
    const waiting = wait([{ partition: 1, highWatermark: 0 }]);
    await time.pass(WATCH_US);
    expect(waiting.state).toBe('changed');
  });

  it('for a partition that does not exist ends when any is created', async () => {
    const { time, driver, watch, wait } = setUp();
    const waiting = wait([{ partition: 0, highWatermark: 0 }]);
    driver.push({ queue: 'q', partition: 'a' });
    watch.changed();
    await time.pass(WATCH_US);
    expect(waiting.state).toBe('waiting');
    driver.push({ queue: 'q', partition: 'new' });
    watch.changed();
    await time.pass(WATCH_US);
    expect(waiting.state).toBe('changed');
  });

  it('ends when its partition is gone', async () => {
    const { time, driver, watch, wait } = setUp();
    const waiting = wait([A]);
    driver.deleteQueue('q');
    driver.cycle(() => driver.engine.planHousekeeping(10));
    watch.changed();
    await time.pass(WATCH_US);
    expect(waiting.state).toBe('changed');
  });

  it('looks at the partitions once for many changes', async () => {
    const { time, driver, watch, wait } = setUp();
    const waiting = wait([A]);
    await time.pass(WATCH_US);
    driver.push({ queue: 'q', partition: 'a' });
    for (let i = 0; i < 100; i += 1) watch.changed();
    await time.settle();
    expect(waiting.state).toBe('waiting');
    await time.pass(WATCH_US);
    expect(waiting.state).toBe('changed');
  });

  it('ends with its time, with its client and with the node', async () => {
    const { time, watch, wait, leaver } = setUp();
    const timed = wait([A], 100_000);
    await time.pass(100_000);
    expect(timed.state).toBe('over');
    const left = wait([A]);
    leaver.abort();
    await time.settle();
    expect(left.state).toBe('over');
    const stopped = setUp();
    const last = stopped.wait([A]);
    stopped.watch.endAll();
    await stopped.time.settle();
    expect(last.state).toBe('over');
    expect(watch).toBeDefined();
  });

  it('goes on while the state cannot be read', async () => {
    const { time, driver, watch, wait, setReadable } = setUp();
    const waiting = wait([A]);
    setReadable(false);
    driver.push({ queue: 'q', partition: 'a' });
    watch.changed();
    await time.pass(WATCH_US);
    expect(waiting.state).toBe('waiting');
    setReadable(true);
    watch.changed();
    await time.pass(WATCH_US);
    expect(waiting.state).toBe('changed');
  });

  it('is refused when too many partitions are watched, until others end', async () => {
    const { time, driver, watch, wait } = setUp(2);
    const first = wait([A, B]);
    const second = wait([A]);
    await time.settle();
    expect(second.state).toBe('overloaded');
    driver.push({ queue: 'q', partition: 'a' });
    watch.changed();
    await time.pass(WATCH_US);
    expect(first.state).toBe('changed');
    const third = wait([{ partition: 1, highWatermark: 2 }]);
    await time.settle();
    expect(third.state).toBe('waiting');
  });
});
