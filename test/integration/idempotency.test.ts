// Writes under an Idempotency-Key: a repeat gets the first answer and changes nothing, also after a crash.

import { describe, expect, it } from 'vitest';
import type { Answer } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';

const broker = useBroker();

function send(path: string, body: object, key: string): Promise<Answer> {
  return broker.client.request('POST', path, {
    body: JSON.stringify(body),
    headers: { 'idempotency-key': key },
  });
}

async function messagesOf(queue: string): Promise<number> {
  const batch = await broker.client.pop(queue, { batch: 100, consumerGroup: 'count' });
  return batch?.messages.length ?? 0;
}

describe('a write under an Idempotency-Key', () => {
  it('is done once, and its repeat gets the same answer to the byte', async () => {
    const queue = broker.queueName();
    const push = {
      items: [
        { queue, payload: 1 },
        { queue, payload: 2 },
      ],
    };
    const first = await send('/api/v1/push', push, 'order-1');
    const again = await send('/api/v1/push', push, 'order-1');
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.text).toBe(first.text);
    expect(await messagesOf(queue)).toBe(2);
  });

  it('is recognised after a kill and a restart', async () => {
    const queue = broker.queueName();
    const push = { items: [{ queue, payload: 1 }] };
    const first = await send('/api/v1/push', push, 'order-2');
    await broker.process.kill();
    await broker.process.start();
    const again = await send('/api/v1/push', push, 'order-2');
    expect(again.text).toBe(first.text);
    expect(await messagesOf(queue)).toBe(1);
  });

  it('is another write under another key, or under none', async () => {
    const queue = broker.queueName();
    const push = { items: [{ queue, payload: 1 }] };
    await send('/api/v1/push', push, 'order-3');
    await send('/api/v1/push', push, 'order-4');
    await broker.client.push([{ queue, payload: 1 }]);
    expect(await messagesOf(queue)).toBe(3);
  });

  it('is another write with another body or on another route', async () => {
    const queue = broker.queueName();
    await send('/api/v1/configure', { queue, options: { retryLimit: 1 } }, 'order-5');
    await send('/api/v1/push', { items: [{ queue, payload: 1 }] }, 'order-5');
    const [verdict] = JSON.parse(
      (await send('/api/v1/push', { items: [{ queue, payload: 2 }] }, 'order-5')).text,
    ) as [object];
    expect(verdict).toMatchObject({ status: 'queued', offset: 1 });
    expect(await messagesOf(queue)).toBe(2);
  });

  it('is refused with a key that is too long, and nothing is stored', async () => {
    const queue = broker.queueName();
    const push = { items: [{ queue, payload: 1 }] };
    expect((await send('/api/v1/push', push, 'k'.repeat(5000))).status).toBe(400);
    expect(await messagesOf(queue)).toBe(0);
  });
});
