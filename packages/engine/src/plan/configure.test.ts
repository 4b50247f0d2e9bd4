import { CONFIGURED_QUEUE_DEFAULTS } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';

describe('configure', () => {
  test('creates a queue from the defaults, without a partition', () => {
    const driver = new EngineDriver();
    const outcome = driver.configure('q', { retryLimit: 5 });
    expect(outcome.options).toEqual({ ...CONFIGURED_QUEUE_DEFAULTS, retryLimit: 5 });
    expect(driver.list()[0]).toMatchObject({ id: outcome.queueId, partitions: 0 });
  });

  test('merges: absent keeps, null resets, a value sets; id and creation time stay', () => {
    const driver = new EngineDriver();
    const first = driver.configure('q', { retryLimit: 5, leaseTime: 30, namespace: 'n' });
    const created = driver.list()[0]?.createdUs;
    const second = driver.configure('q', { retryLimit: null, priority: 7 });
    expect(second.options).toMatchObject({
      retryLimit: 3,
      leaseTime: 30,
      namespace: 'n',
      priority: 7,
    });
    expect(second.queueId).toEqual(first.queueId);
    expect(driver.list()[0]?.createdUs).toBe(created);
  });

  test('tells who waits that a queue has other labels or another delay', () => {
    const driver = new EngineDriver();
    driver.configure('q');
    driver.push({ queue: 'q' });
    driver.signals();
    driver.configure('q', { retryLimit: 1 });
    expect(driver.signals()).toEqual([]);
    const news = [{ queue: 'q', group: undefined, partition: undefined }];
    driver.configure('q', { delayedProcessing: 5 });
    expect(driver.signals()).toEqual(news);
    driver.configure('q', { namespace: 'n' });
    expect(driver.signals()).toEqual(news);
  });

  test('replaces: everything not sent goes back to the defaults, id kept', () => {
    const driver = new EngineDriver();
    const first = driver.configure('q', { retryLimit: 5, namespace: 'n' });
    const second = driver.configure('q', { leaseTime: 30 }, 'replace');
    expect(second.options).toEqual({ ...CONFIGURED_QUEUE_DEFAULTS, leaseTime: 30 });
    expect(second.queueId).toEqual(first.queueId);
  });

  test('merged into a pushed queue keeps lease time and labels of its name', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'billing.invoices' });
    const { options } = driver.configure('billing.invoices', { retryLimit: 1 });
    expect(options).toMatchObject({ leaseTime: 60, namespace: 'billing', task: 'invoices' });
    expect(driver.configure('billing.invoices', { leaseTime: null }).options.leaseTime).toBe(300);
    expect(driver.configure('billing.invoices', {}, 'replace').options.namespace).toBe('');
  });

  test('clamps what has bounds', () => {
    const driver = new EngineDriver();
    const { options } = driver.configure('q', { dedupWindowSeconds: -1, minPopWaitTime: 99_999 });
    expect(options).toMatchObject({ dedupWindowSeconds: 0, minPopWaitTime: 60_000 });
    expect(driver.configure('q', { minPopWaitTime: -5 }).options.minPopWaitTime).toBe(0);
  });

  test('that changes nothing has no effect', () => {
    const driver = new EngineDriver();
    driver.configure('q', { retryLimit: 5 });
    const before = driver.entries.length;
    driver.configure('q', { retryLimit: 5 });
    expect(driver.entries.length).toBe(before);
  });
});

describe('a deleted queue', () => {
  test('is gone at once and says whether it was there', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q' });
    expect(driver.deleteQueue('q')).toBe(true);
    expect(driver.deleteQueue('q')).toBe(false);
    expect(driver.list()).toEqual([]);
    expect(driver.engine.counters()).toMatchObject({ queues: 0, partitions: 0 });
  });

  test('leaves its name free: a push of the same cycle starts a new queue', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'q', data: 'old' }, { queue: 'q' }]);
    driver.pop({ queue: 'q', group: 'g' });
    driver.cycle(() => {
      driver.deleteQueue('q');
      driver.push({ queue: 'q', data: 'new' });
    });
    const popped = driver.pop({ queue: 'q', group: 'g', partitions: 0 });
    expect(popped.messages).toMatchObject([{ data: 'new', offset: 0, attempt: 1 }]);
    expect(popped.messages[0]?.partitionNumber).toBe(2);
  });

  test('is removed with all it held, in bounded steps', () => {
    const driver = new EngineDriver();
    for (let i = 0; i < 5; i += 1) driver.push({ queue: 'q', partition: `p${i}`, id: 'x' });
    const popped = driver.pop({ queue: 'q', group: 'g', partitions: 0 });
    const [message] = popped.messages;
    const { partitionNumber: partition, id } = message!;
    driver.ack([{ partition, id, lease: popped.lease, status: 'dlq' }], 'g');
    driver.push({ queue: 'other' });
    driver.deleteQueue('q');
    expect(driver.engine.counters()).toMatchObject({ partitionsToRemove: 5, deadLetters: 1 });
    expect(driver.cycle(() => driver.engine.planHousekeeping(2))).toBe(2);
    expect(driver.engine.counters().partitionsToRemove).toBe(3);
    expect(driver.cycle(() => driver.engine.planHousekeeping(10))).toBe(3);
    expect(driver.cycle(() => driver.engine.planHousekeeping(10))).toBe(0);
    expect(driver.engine.counters()).toMatchObject({
      queues: 1,
      partitions: 1,
      partitionsToRemove: 0,
      cursors: 0,
      groups: 0,
      liveLeases: 0,
      deadLetters: 0,
      blocks: 1,
    });
  });

  test('takes one step for a partition with many appends', () => {
    const driver = new EngineDriver();
    driver.checksRows = false;
    driver.cycle(() => {
      for (let i = 0; i < 2500; i += 1) driver.push({ queue: 'q' });
    });
    driver.deleteQueue('q');
    expect(driver.cycle(() => driver.engine.planHousekeeping(100))).toBe(1);
    expect(driver.engine.counters()).toMatchObject({ blocks: 0, partitionsToRemove: 0 });
  });

  test('without partitions leaves nothing to remove', () => {
    const driver = new EngineDriver();
    driver.pop({ queue: 'q', group: 'g' });
    driver.deleteQueue('q');
    expect(driver.cycle(() => driver.engine.planHousekeeping(10))).toBe(0);
    expect(driver.engine.counters()).toMatchObject({ groups: 0 });
  });

  test('lets its timers run out into nothing', () => {
    const driver = new EngineDriver();
    driver.configure('q', { delayedProcessing: 5 });
    driver.push({ queue: 'q' });
    driver.wait(6);
    driver.pop({ queue: 'q', group: 'g' });
    driver.push({ queue: 'q' });
    driver.deleteQueue('q');
    driver.signals();
    driver.wait(1000);
    driver.push({ queue: 'other' });
    expect(driver.signals().map((signal) => signal.queue)).toEqual(['other']);
    driver.cycle(() => driver.engine.planHousekeeping(10));
    expect(driver.engine.nextTimerUs()).toBe(Infinity);
  });
});
