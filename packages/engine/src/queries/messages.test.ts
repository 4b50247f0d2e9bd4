import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';
import type { MessageView } from './messages.ts';

function find(driver: EngineDriver, transactionId: string, partition = 1): MessageView | undefined {
  return driver.engine.findMessage({ partition, transactionId, nowUs: driver.nowUs });
}

describe('a message by its address', () => {
  test('is found by a client’s id and by a minted one, in blocks of every kind', () => {
    const driver = new EngineDriver();
    const [a] = driver.push([{ queue: 'q' }, { queue: 'q' }]);
    const [b] = driver.push([{ queue: 'q' }, { queue: 'q', id: 'x' }]);
    expect(find(driver, 'x')).toMatchObject({ queue: 'q', partition: 'Default', offset: 3 });
    expect(find(driver, a!.messageId)).toMatchObject({ offset: 0, span: { first: 0, count: 1 } });
    expect(find(driver, b!.messageId)).toMatchObject({ offset: 2 });
    expect(find(driver, 'nobody')).toBeUndefined();
    expect(find(driver, 'x', 2)).toBeUndefined();
  });

  test('is the first one with the id, remembered or not', () => {
    const driver = new EngineDriver();
    driver.configure('q', { dedupWindowSeconds: 0 });
    for (let i = 0; i < 3; i += 1) driver.push({ queue: 'q', id: i === 0 ? 'other' : 'x' });
    expect(find(driver, 'x')?.offset).toBe(1);
  });

  test('is gone with its retention and with its queue', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 5 });
    driver.push({ queue: 'q', id: 'x' });
    driver.wait(10);
    driver.push({ queue: 'q', id: 'y' });
    driver.cycle(() => driver.engine.planRetention(10));
    expect(find(driver, 'x')).toBeUndefined();
    expect(find(driver, 'y')?.offset).toBe(1);
    driver.deleteQueue('q');
    expect(find(driver, 'y')).toBeUndefined();
  });

  test('goes from pending over processing to completed', () => {
    const driver = new EngineDriver();
    driver.push([
      { queue: 'q', id: 'x' },
      { queue: 'q', id: 'y' },
    ]);
    expect(find(driver, 'x')).toMatchObject({ status: 'pending', groups: [] });
    const popped = driver.pop({ queue: 'q', group: 'g', leaseSeconds: 10 });
    expect(find(driver, 'x')?.status).toBe('processing');
    driver.ack([{ partition: 1, id: 'x', lease: popped.lease }], 'g');
    expect(find(driver, 'x')).toMatchObject({
      status: 'completed',
      groups: [{ name: 'g', committed: 0, isConsumed: true }],
    });
    driver.wait(11);
    expect(find(driver, 'y')).toMatchObject({
      status: 'pending',
      groups: [{ isConsumed: false, leaseExpiresUs: undefined }],
    });
  });

  test('is completed when all named groups passed it; queue mode counts only without one', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'x' });
    driver.pop({ queue: 'q', autoAck: true });
    expect(find(driver, 'x')?.status).toBe('completed');
    const popped = driver.pop({ queue: 'q', group: 'g' });
    driver.release(popped.lease);
    expect(find(driver, 'x')?.status).toBe('pending');
    driver.pop({ queue: 'q', group: 'g', autoAck: true });
    expect(find(driver, 'x')?.status).toBe('completed');
  });

  test('is a dead letter if any group filed it', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'x' });
    const { lease } = driver.pop({ queue: 'q', group: 'g' });
    driver.ack([{ partition: 1, id: 'x', lease, status: 'dlq' }], 'g');
    expect(find(driver, 'x')?.status).toBe('dead_letter');
  });
});
