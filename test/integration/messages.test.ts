// Messages over HTTP: looking at them takes and changes nothing.

import { beforeEach, describe, expect, it } from 'vitest';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';

const broker = useBroker();

let queue = '';

interface Listed {
  readonly messages: readonly { transactionId: string; status: string; offset: number }[];
  readonly total: number;
  readonly mode: { readonly type: string };
}

async function list(query = ''): Promise<Listed> {
  const path = `/api/v1/messages?queue=${queue}${query}`;
  return expectJson<Listed>(await broker.client.request('GET', path), 200);
}

async function push(ids: readonly string[], partition = 'Default'): Promise<void> {
  const items = ids.map((transactionId) => ({ queue, partition, transactionId, payload: 1 }));
  await broker.client.push(items);
}

beforeEach(() => {
  queue = broker.queueName();
});

describe('the list of messages', () => {
  it('is newest first and pages without gaps', async () => {
    for (let i = 0; i < 10; i += 1) await push([`${i}a`, `${i}b`], `p${i % 3}`);
    const all = (await list('&limit=1000')).messages.map(({ transactionId }) => transactionId);
    expect(all).toEqual(Array.from({ length: 10 }, (_, i) => [`${9 - i}b`, `${9 - i}a`]).flat());
    const paged: string[] = [];
    for (let offset = 0; offset < 20; offset += 7) {
      const { messages, total } = await list(`&limit=7&offset=${offset}`);
      expect(total).toBe(messages.length);
      paged.push(...messages.map(({ transactionId }) => transactionId));
    }
    expect(paged).toEqual(all);
  });

  it('shows payloads as they were pushed', async () => {
    const payload = '{ "n": 1.50, "deep": [ {} , 2e3 ] }';
    await broker.client.request('POST', '/api/v1/push', {
      body: `{"items":[{"queue":"${queue}","payload":${payload}}]}`,
    });
    const { text } = await broker.client.request('GET', `/api/v1/messages?queue=${queue}`);
    expect(text).toContain(`"data":${payload},"payload":${payload},"traceId":null`);
  });

  it('follows a message from pending over processing to completed or dead', async () => {
    await push(['a', 'b', 'c']);
    const statuses = async (): Promise<string[]> =>
      (await list()).messages.map(({ status }) => status).toReversed();
    expect(await statuses()).toEqual(['pending', 'pending', 'pending']);
    const batch = await broker.client.pop(queue, { consumerGroup: 'g' });
    expect(await statuses()).toEqual(['processing', 'processing', 'processing']);
    const named = { partitionId: batch?.partitionId ?? '', leaseId: batch?.leaseId ?? '' };
    await broker.client.ack(
      [
        { transactionId: 'a', ...named },
        { transactionId: 'b', ...named, status: 'dlq' },
      ],
      'g',
    );
    expect(await statuses()).toEqual(['completed', 'dead_letter', 'pending']);
    const dead = await list('&status=dead_letter');
    expect(dead.messages.map(({ transactionId }) => transactionId)).toEqual(['b']);
    expect(dead.mode.type).toBe('bus');
    // Only looking at it has not moved anybody.
    const next = await broker.client.pop(queue, { consumerGroup: 'g' });
    expect(next?.messages.map(({ transactionId }) => transactionId)).toEqual(['c']);
  });
});

describe('one message', () => {
  it('is found by both forms of its partition, also after a restart', async () => {
    await push(['x/y', 'z']);
    const batch = await broker.client.pop(queue, { consumerGroup: 'g' });
    const number = Number.parseInt(batch?.partitionId.slice(-12) ?? '', 16);
    for (const partition of [batch?.partitionId, String(number)]) {
      const answer = await broker.client.request('GET', `/api/v1/messages/${partition}/x%2Fy`);
      expect(expectJson<object>(answer, 200)).toMatchObject({
        transactionId: 'x/y',
        queue,
        partitionId: batch?.partitionId,
        status: 'processing',
        consumerGroups: [{ name: 'g', committed: -1, consumed: false }],
      });
    }
    const missing = await broker.client.request('GET', `/api/v1/messages/${number}/nothing`);
    expect(expectJson<object>(missing, 404)).toEqual({ error: 'Message not found' });
    await broker.process.kill();
    await broker.process.start();
    const again = await broker.client.request('GET', `/api/v1/messages/${number}/z`);
    expect(expectJson<object>(again, 200)).toMatchObject({ transactionId: 'z' });
  });
});
