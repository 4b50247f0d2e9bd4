import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';

describe('the listing of queues', () => {
  test('is newest first and pages', () => {
    const driver = new EngineDriver();
    for (const queue of ['a', 'b', 'c', 'd']) driver.push({ queue });
    const names = (filter = {}): string[] => driver.list(filter).map((queue) => queue.name);
    expect(names()).toEqual(['d', 'c', 'b', 'a']);
    expect(names({ limit: 2 })).toEqual(['d', 'c']);
    expect(names({ limit: 2, offset: 3 })).toEqual(['a']);
    expect(names({ limit: 0 })).toEqual([]);
  });

  test('filters by labels and by part of the name', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'orders.email' }, { queue: 'orders.sms' }, { queue: 'billing.email' }]);
    const names = (filter = {}): string[] =>
      driver
        .list(filter)
        .map((queue) => queue.name)
        .sort();
    expect(names({ namespace: 'orders' })).toEqual(['orders.email', 'orders.sms']);
    expect(names({ task: 'email' })).toEqual(['billing.email', 'orders.email']);
    expect(names({ namespace: 'orders', task: 'email' })).toEqual(['orders.email']);
    expect(names({ search: 'ing' })).toEqual(['billing.email']);
    expect(names({ namespace: '', task: '', search: '' }).length).toBe(3);
  });

  test('counts what is pending, leased, completed and dead', () => {
    const driver = new EngineDriver();
    driver.push(Array.from({ length: 10 }, (_, i) => ({ queue: 'q', id: `m${i}` })));
    const counts = () => driver.list()[0]?.messages;
    expect(counts()).toEqual({
      total: 10,
      pending: 10,
      processing: 0,
      completed: 0,
      deadLetter: 0,
    });
    const popped = driver.pop({ queue: 'q', group: 'g', batch: 4, leaseSeconds: 60 });
    expect(counts()).toEqual({ total: 10, pending: 6, processing: 4, completed: 0, deadLetter: 0 });
    const partition = popped.messages[0]!.partitionNumber;
    const { lease } = popped;
    driver.ack(
      [
        { partition, id: 'm0', lease, status: 'dlq' },
        { partition, id: 'm1', lease },
      ],
      'g',
    );
    expect(counts()).toEqual({ total: 10, pending: 8, processing: 0, completed: 1, deadLetter: 1 });
    driver.pop({ queue: 'q', group: 'g', batch: 4, leaseSeconds: 60 });
    driver.wait(61);
    expect(counts()).toMatchObject({ pending: 8, processing: 0 });
  });

  test('measures pending by the slowest named group, by queue mode only without one', () => {
    const driver = new EngineDriver();
    driver.push(Array.from({ length: 10 }, () => ({ queue: 'q' })));
    driver.pop({ queue: 'q', batch: 7, autoAck: true });
    expect(driver.list()[0]?.messages.pending).toBe(3);
    driver.pop({ queue: 'q', group: 'fast', batch: 6, autoAck: true });
    driver.pop({ queue: 'q', group: 'slow', batch: 2, autoAck: true });
    expect(driver.list()[0]?.messages).toMatchObject({ pending: 8, completed: 2 });
  });

  test('sums partitions, appends and bytes', () => {
    const driver = new EngineDriver();
    driver.push([
      { queue: 'q', partition: 'a' },
      { queue: 'q', partition: 'b' },
    ]);
    driver.push({ queue: 'q', partition: 'a' });
    const [queue] = driver.list();
    expect(queue).toMatchObject({ partitions: 2, segments: 3 });
    const bytes = driver.entries.reduce((sum, entry) => sum + entry.payload.length, 0);
    expect(queue?.retainedBytes).toBe(bytes);
  });
});
