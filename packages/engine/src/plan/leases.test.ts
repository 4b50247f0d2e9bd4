import { describe, expect, test } from 'vitest';
import { advanceTimers } from '../readiness.ts';
import { EngineDriver } from '../testing.ts';

function withTwoPartitions(): EngineDriver {
  const driver = new EngineDriver();
  driver.push([
    { queue: 'q', partition: 'a', id: '0' },
    { queue: 'q', partition: 'a', id: '1' },
    { queue: 'q', partition: 'b', id: '2' },
  ]);
  return driver;
}

describe('extend', () => {
  test('moves the end of every live lease with the id and reports the earliest', () => {
    const driver = withTwoPartitions();
    const popped = driver.pop({ queue: 'q', partitions: 2, leaseSeconds: 10 });
    driver.wait(5);
    const outcome = driver.extend(popped.lease, 60);
    expect(outcome).toEqual({ kind: 'extend', renewed: 2, expiresAtUs: driver.nowUs + 60_000_000 });
    driver.wait(59);
    expect(driver.pop({ queue: 'q' }).reason).toBe('leased');
    driver.wait(2);
    expect(driver.pop({ queue: 'q', partitions: 2 }).messages.length).toBe(3);
  });

  test('never shortens a lease, and then has no effect', () => {
    const driver = withTwoPartitions();
    const popped = driver.pop({ queue: 'q', leaseSeconds: 100 });
    const endUs = driver.nowUs + 100_000_000;
    const before = driver.entries.length;
    expect(driver.extend(popped.lease, 1)).toMatchObject({ renewed: 1, expiresAtUs: endUs });
    expect(driver.entries.length).toBe(before);
  });

  test('finds nothing for unknown, zero, malformed, run out, settled and deleted leases', () => {
    const driver = withTwoPartitions();
    const nothing = { kind: 'extend', renewed: 0, expiresAtUs: 0 };
    expect(driver.extend(driver.mintId(), 10)).toEqual(nothing);
    expect(driver.extend([0, 0, 0, 0], 10)).toEqual(nothing);
    expect(driver.extend(undefined, 10)).toEqual(nothing);
    const runOut = driver.pop({ queue: 'q', leaseSeconds: 1 });
    driver.wait(2);
    expect(driver.extend(runOut.lease, 10)).toEqual(nothing);
    const settled = driver.pop({ queue: 'q', group: 'g' });
    const last = settled.messages.at(-1)!;
    driver.ack([{ partition: last.partitionNumber, id: last.id, lease: settled.lease }], 'g');
    expect(driver.extend(settled.lease, 10)).toEqual(nothing);
    const deleted = driver.pop({ queue: 'q', group: 'h' });
    driver.deleteQueue('q');
    expect(driver.extend(deleted.lease, 10)).toEqual(nothing);
  });

  test('takes a number of seconds that no calendar holds', () => {
    const driver = withTwoPartitions();
    const popped = driver.pop({ queue: 'q' });
    expect(driver.extend(popped.lease, Number.MAX_SAFE_INTEGER).renewed).toBe(1);
  });
});

describe('release', () => {
  test('ends the claim at once and takes its attempt back', () => {
    const driver = withTwoPartitions();
    const lost = driver.pop({ queue: 'q', partitions: 2 });
    driver.signals();
    expect(driver.release(lost.lease)).toBe(2);
    expect(driver.signals().map((signal) => signal.partition)).toEqual(['a', 'b']);
    const popped = driver.pop({ queue: 'q', partitions: 2 });
    expect(popped.messages.map((message) => message.attempt)).toEqual([1, 1, 1]);
  });

  test('leaves earlier attempts and the retry counter as they were', () => {
    const driver = withTwoPartitions();
    driver.configure('q', { retryLimit: 1 });
    const fail = (): void => {
      const popped = driver.pop({ queue: 'q', partition: 'b' });
      const [message] = popped.messages;
      const { partitionNumber: partition, id } = message!;
      driver.ack([{ partition, id, lease: popped.lease, status: 'failed' }]);
    };
    fail();
    const lost = driver.pop({ queue: 'q', partition: 'b' });
    expect(lost.messages[0]?.attempt).toBe(2);
    driver.release(lost.lease);
    expect(driver.pop({ queue: 'q', partition: 'b' }).messages[0]?.attempt).toBe(2);
    driver.wait(61);
    fail();
    expect(driver.engine.counters().deadLetters).toBe(1);
  });

  test('of a lease that is not live does nothing', () => {
    const driver = withTwoPartitions();
    expect(driver.release(driver.mintId())).toBe(0);
    const popped = driver.pop({ queue: 'q', leaseSeconds: 1 });
    driver.wait(2);
    expect(driver.release(popped.lease)).toBe(0);
  });

  test('that ran out by a time which was set back later is offered again all the same', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'q', partition: 'a', id: '0' }]);
    driver.pop({ queue: 'q', leaseSeconds: 10 });
    // This node led on for a while; the next leader is behind it, and then this node leads again.
    advanceTimers(driver.engine.state, driver.nowUs + 11_000_000, 100);
    driver.wait(5);
    expect(driver.pop({ queue: 'q' }).messages).toHaveLength(0);
    driver.wait(6);
    expect(driver.pop({ queue: 'q' }).messages).toHaveLength(1);
  });
});
