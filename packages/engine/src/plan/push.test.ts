import { assert } from '@queen-ts/base';
import { PUSH_STATUS, SEALING } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { EngineDriver, pushCommand } from '../testing.ts';

describe('push', () => {
  test('creates queue and partition with the first message, in the same entry', () => {
    const driver = new EngineDriver();
    const before = driver.entries.length;
    const [answer] = driver.push({ queue: 'billing.invoices.q1', partition: 'cust-42' });
    expect(answer).toMatchObject({ status: 'queued', offset: 0 });
    expect(driver.entries.length).toBe(before + 1);
    const [queue] = driver.list();
    expect(queue).toMatchObject({ name: 'billing.invoices.q1', partitions: 1, segments: 1 });
    expect(queue?.options).toMatchObject({ leaseTime: 60, namespace: 'billing', task: 'invoices' });
  });

  describe('to a queue that encrypts', () => {
    const pushSecret = (sealings?: readonly number[]) => {
      const driver = new EngineDriver();
      driver.configure('secret', { encryptionEnabled: true });
      const ids = { idBase: driver.mintId(2), hashKey: driver.hashKey };
      const command = pushCommand([{ queue: 'secret' }, { queue: 'open' }], ids);
      const outcome = driver.cycle(() =>
        driver.engine.plan(
          sealings === undefined ? command : { ...command, sealings: Uint8Array.from(sealings) },
        ),
      );
      const stored = ['secret', 'open'].map((queue) => driver.pop({ queue }).messages.length);
      return { outcome, stored };
    };

    test('is refused as a whole when its payloads could have been sealed and are not', () => {
      for (const sealings of [undefined, [SEALING.NONE, SEALING.NONE]]) {
        const { outcome, stored } = pushSecret(sealings);
        expect(outcome).toMatchObject({ kind: 'refused', code: 'encryption_required' });
        expect(stored).toEqual([0, 0]);
      }
    });

    test('stores nothing there while there is no key, and says why', () => {
      const { outcome, stored } = pushSecret([SEALING.KEYLESS, SEALING.KEYLESS]);
      assert(outcome.kind === 'push', 'a push is answered as one');
      expect([...outcome.statuses]).toEqual([PUSH_STATUS.ERROR, PUSH_STATUS.QUEUED]);
      expect(outcome.errors?.get(0)?.code).toBe('encryption_key_missing');
      expect(stored).toEqual([0, 1]);
    });

    test('stores what is sealed, and plaintext where the node is told to', () => {
      expect(pushSecret([SEALING.SEALED, SEALING.NONE]).stored).toEqual([1, 1]);
      expect(pushSecret([SEALING.WAIVED, SEALING.WAIVED]).stored).toEqual([1, 1]);
    });
  });

  test('gives consecutive offsets and ids in request order, partition by partition', () => {
    const driver = new EngineDriver();
    const answers = driver.push([
      { queue: 'a', partition: 'x' },
      { queue: 'a', partition: 'y' },
      { queue: 'a', partition: 'x' },
      { queue: 'b', partition: 'x' },
    ]);
    expect(answers.map((answer) => answer.offset)).toEqual([0, 0, 1, 0]);
    expect(new Set(answers.map((answer) => answer.messageId)).size).toBe(4);
    expect(driver.push({ queue: 'a', partition: 'x' })[0]?.offset).toBe(2);
  });

  test('keeps the payload and the transaction id of every message', () => {
    const driver = new EngineDriver();
    const [first, second] = driver.push([
      { queue: 'q', id: 'order-1', data: { total: 42, text: 'größe' } },
      { queue: 'q', data: [1, 2, 3] },
    ]);
    const { messages } = driver.pop({ queue: 'q' });
    expect(messages).toMatchObject([
      { id: 'order-1', messageId: first?.messageId, data: { total: 42, text: 'größe' }, offset: 0 },
      { id: second?.messageId, messageId: second?.messageId, data: [1, 2, 3], offset: 1 },
    ]);
  });

  test('stamps the appends of a partition with strictly increasing times, even in one cycle', () => {
    const driver = new EngineDriver();
    driver.cycle(() => {
      for (let i = 0; i < 3; i += 1) driver.push({ queue: 'q', data: i });
    });
    const times = driver.pop({ queue: 'q' }).messages.map((message) => message.createdUs);
    expect(times).toEqual([driver.nowUs - 1000, driver.nowUs - 999, driver.nowUs - 998]);
  });

  test('refuses the items of a group that is too large and stores the others', () => {
    const driver = new EngineDriver({ entryBytesMax: 400 });
    const answers = driver.push([
      { queue: 'q', partition: 'small', data: 'a' },
      { queue: 'q', partition: 'large', data: 'b'.repeat(400) },
      { queue: 'q', partition: 'large', data: 'c' },
    ]);
    expect(answers.map((answer) => answer.status)).toEqual(['queued', 'error', 'error']);
    expect(answers[1]?.error).toBe('too_large');
    expect(driver.list()[0]?.partitions).toBe(1);
  });

  test('refuses with an item its repeats in the same request', () => {
    const driver = new EngineDriver({ entryBytesMax: 400 });
    const answers = driver.push([
      { queue: 'q', id: 'x', data: 'b'.repeat(400) },
      { queue: 'q', id: 'x', data: 'c' },
    ]);
    expect(answers.map((answer) => answer.error)).toEqual(['too_large', 'too_large']);
  });
});

describe('dedup', () => {
  test('answers a repeat with the id and the offset of the original', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'other' });
    const [original] = driver.push({ queue: 'q', id: 'x' });
    const [repeat] = driver.push({ queue: 'q', id: 'x' });
    expect(repeat).toEqual({ ...original, status: 'duplicate' });
  });

  test('stores nothing and creates nothing for a request of duplicates', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'x' });
    const before = driver.entries.length;
    driver.push([
      { queue: 'q', id: 'x' },
      { queue: 'q', id: 'x' },
    ]);
    expect(driver.entries.length).toBe(before);
  });

  test('is scoped to the partition', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', partition: 'a', id: 'x' });
    expect(driver.push({ queue: 'q', partition: 'b', id: 'x' })[0]?.status).toBe('queued');
    expect(driver.push({ queue: 'r', partition: 'a', id: 'x' })[0]?.status).toBe('queued');
  });

  test('collapses repeats inside one request to the first, even with the window off', () => {
    const driver = new EngineDriver();
    driver.configure('q', { dedupWindowSeconds: 0 });
    const answers = driver.push([
      { queue: 'q', id: 'x', data: 1 },
      { queue: 'q', id: 'y', data: 2 },
      { queue: 'q', id: 'x', data: 3 },
    ]);
    expect(answers.map((answer) => answer.status)).toEqual(['queued', 'queued', 'duplicate']);
    expect(answers[2]).toEqual({ ...answers[0], status: 'duplicate' });
    expect(driver.pop({ queue: 'q' }).messages.map((message) => message.data)).toEqual([1, 2]);
  });

  test('gives a repeat of a duplicate the original of both', () => {
    const driver = new EngineDriver();
    const [original] = driver.push({ queue: 'q', id: 'x' });
    const answers = driver.push([
      { queue: 'q', id: 'x' },
      { queue: 'q', id: 'x' },
    ]);
    expect(answers).toEqual([
      { ...original, status: 'duplicate' },
      { ...original, status: 'duplicate' },
    ]);
  });

  test('ends with the window, to the microsecond', () => {
    const driver = new EngineDriver();
    driver.configure('q', { dedupWindowSeconds: 10 });
    driver.push({ queue: 'q', id: 'x' });
    driver.nowUs += 10_000_000 - 1001;
    expect(driver.push({ queue: 'q', id: 'x' })[0]?.status).toBe('duplicate');
    driver.nowUs -= 999;
    expect(driver.push({ queue: 'q', id: 'x' })[0]?.status).toBe('queued');
  });

  test('answers with the lowest original inside the window', () => {
    const driver = new EngineDriver();
    driver.configure('q', { dedupWindowSeconds: 10 });
    driver.push({ queue: 'q', id: 'x' });
    driver.wait(11);
    driver.push({ queue: 'q', id: 'x' });
    driver.configure('q', { dedupWindowSeconds: 60 });
    expect(driver.push({ queue: 'q', id: 'x' })[0]?.offset).toBe(0);
    driver.configure('q', { dedupWindowSeconds: 5 });
    expect(driver.push({ queue: 'q', id: 'x' })[0]?.offset).toBe(1);
  });

  test('remembers ids of consumed messages', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'x' });
    driver.pop({ queue: 'q', autoAck: true });
    expect(driver.push({ queue: 'q', id: 'x' })[0]?.status).toBe('duplicate');
  });

  test('sees a push planned earlier in the same cycle', () => {
    const driver = new EngineDriver();
    const statuses = driver.cycle(() => [
      driver.push({ queue: 'q', id: 'x' })[0]?.status,
      driver.push({ queue: 'q', id: 'x' })[0]?.status,
    ]);
    expect(statuses).toEqual(['queued', 'duplicate']);
  });

  test('never takes a message without an id for a duplicate', () => {
    const driver = new EngineDriver();
    const answers = driver.push([{ queue: 'q' }, { queue: 'q' }, { queue: 'q', id: 'x' }]);
    expect(answers.map((answer) => answer.status)).toEqual(['queued', 'queued', 'queued']);
    expect(driver.push({ queue: 'q' })[0]?.status).toBe('queued');
  });

  test('forgets with the queue', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'x' });
    driver.deleteQueue('q');
    expect(driver.push({ queue: 'q', id: 'x' })[0]).toMatchObject({ status: 'queued', offset: 0 });
  });
});
