// Dead letters over HTTP: how they are found, moved back and removed.

import { beforeEach, describe, expect, it } from 'vitest';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';

const broker = useBroker();

let queue = '';

interface Letter {
  readonly id: string;
  readonly partitionId: string;
  readonly transactionId: string;
  readonly payload: unknown;
  readonly errorMessage: string;
}

interface Letters {
  readonly messages: readonly Letter[];
  readonly total: number;
}

async function send<T>(method: string, path: string, value?: unknown, status = 200): Promise<T> {
  const body = value === undefined ? {} : { body: JSON.stringify(value) };
  return expectJson<T>(await broker.client.request(method, `/api/v1${path}`, body), status);
}

async function letters(): Promise<Letters> {
  return send<Letters>('GET', `/dlq?queue=${queue}`);
}

/** Pushes a payload, as JSON text, and files it. */
async function file(transactionId: string, payload: string): Promise<void> {
  const item = `{"queue":"${queue}","transactionId":"${transactionId}","payload":${payload}}`;
  const pushed = await broker.client.request('POST', '/api/v1/push', {
    body: `{"items":[${item}]}`,
  });
  expect(pushed.status).toBe(201);
  const batch = await broker.client.pop(queue);
  const { partitionId = '', leaseId = '' } = batch ?? {};
  await broker.client.ack([
    { transactionId, partitionId, leaseId, status: 'dlq', error: `no ${transactionId}` },
  ]);
}

beforeEach(() => {
  queue = broker.queueName();
});

describe('dead letters', () => {
  it('are listed with the payload as it was pushed', async () => {
    const payload = '{ "n": 1.50, "b":2e3,"s":"\\u00e4" }';
    await file('a', payload);
    await file('b', '2');
    const { text } = await broker.client.request('GET', `/api/v1/dlq?queue=${queue}`);
    expect(text).toContain(`"data":${payload},"payload":${payload},`);
    const listed = await letters();
    expect(listed.total).toBe(2);
    expect(listed.messages.map(({ transactionId }) => transactionId)).toEqual(['b', 'a']);
    expect(listed.messages[0]).toMatchObject({ payload: 2, errorMessage: 'no b' });
  });

  it('go back to the tail of their partition, once', async () => {
    await file('a', '{"n":1}');
    const [letter] = (await letters()).messages;
    const moved = await send<{ replayedAs: object }>('POST', `/dlq/${letter?.id}/replay`);
    expect(moved).toMatchObject({ success: true, result: 'moved', dlqRowRemoved: true });
    expect(moved.replayedAs).toMatchObject({ transaction_id: `dlq:${letter?.id}`, offset: 1 });
    const batch = await broker.client.pop(queue);
    expect(batch?.messages).toMatchObject([
      { transactionId: `dlq:${letter?.id}`, data: { n: 1 }, offset: 1 },
    ]);
    expect((await letters()).total).toBe(0);
    const again = await send<object>('POST', `/dlq/${letter?.id}/replay`, {}, 404);
    expect(again).toMatchObject({ success: false, result: 'gone' });
  });

  it('go to another queue, which is created, by their message', async () => {
    await file('a', '1');
    const [letter] = (await letters()).messages;
    const target = `${queue}-again`;
    const path = `/messages/${letter?.partitionId}/a/retry`;
    const moved = await send<object>('POST', path, { queue: target, partition: 'p' });
    expect(moved).toMatchObject({ result: 'moved', queue: target, partition: 'p' });
    const batch = await broker.client.popPartition(target, 'p');
    expect(batch?.messages.map(({ data }) => data)).toEqual([1]);
  });

  it('are removed by message and by queue, and never with a live message', async () => {
    for (const id of ['a', 'b', 'c']) await file(id, '1');
    await broker.client.push([{ queue, payload: 1, transactionId: 'live' }]);
    const [letter] = (await letters()).messages;
    const message = (id: string): string => `/messages/${letter?.partitionId}/${id}`;
    expect(await send<object>('DELETE', message('a'))).toMatchObject({ deleted: 1 });
    await send('DELETE', message('a'), undefined, 404);
    await send('DELETE', message('live'), undefined, 404);
    expect((await letters()).total).toBe(2);
    expect(await send<object>('DELETE', `/dlq?queue=${queue}`)).toMatchObject({ deleted: 2 });
    expect((await letters()).total).toBe(0);
    await send('DELETE', '/dlq', undefined, 400);
    expect((await broker.client.pop(queue))?.messages).toHaveLength(1);
  });

  it('outlive a restart, by the same ids', async () => {
    await file('a', '{"kept":true}');
    const before = await letters();
    await broker.process.kill();
    await broker.process.start();
    expect(await letters()).toEqual(before);
  });
});
