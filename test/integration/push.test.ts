// Pushing: verdicts, offsets, repeats and duplicates, and payloads that come back as they were sent.

import { describe, expect, it } from 'vitest';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';
import type { Verdict } from '../support/wire.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

const broker = useBroker();

describe('the verdicts of a push', () => {
  it('come as 201 with one object per item, in request order and with the contract keys', async () => {
    const queue = broker.queueName();
    const answer = await broker.client.post('/api/v1/push', {
      items: [
        { queue, partition: 'a', transactionId: 't-1', payload: 1 },
        { queue, partition: 'b', transactionId: 't-2', payload: 2 },
        { queue, partition: 'a', transactionId: 't-3', payload: 3 },
      ],
    });
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    const verdicts = expectJson<Verdict[]>(answer, 201);
    expect(verdicts.map((verdict) => Object.keys(verdict).join())).toEqual(
      Array(3).fill('index,message_id,transaction_id,queueName,status,offset'),
    );
    expect(verdicts).toMatchObject([
      { index: 0, transaction_id: 't-1', queueName: queue, status: 'queued', offset: 0 },
      { index: 1, transaction_id: 't-2', queueName: queue, status: 'queued', offset: 0 },
      { index: 2, transaction_id: 't-3', queueName: queue, status: 'queued', offset: 1 },
    ]);
    expect(verdicts.every(({ message_id }) => UUID_V7.test(message_id))).toBe(true);
    expect(new Set(verdicts.map(({ message_id }) => message_id)).size).toBe(3);
  });

  it('are an empty array for an empty request', async () => {
    const answer = await broker.client.post('/api/v1/push', { items: [] });
    expect([answer.status, answer.text]).toEqual([201, '[]']);
  });

  it('give a message without a transaction id its own id', async () => {
    const queue = broker.queueName();
    const verdicts = await broker.client.push([
      { queue, payload: 1 },
      { queue, payload: 1, transactionId: null },
    ]);
    expect(verdicts.map(({ status }) => status)).toEqual(['queued', 'queued']);
    expect(verdicts.map(({ transaction_id }) => transaction_id)).toEqual(
      verdicts.map(({ message_id }) => message_id),
    );
    const batch = await broker.client.pop(queue);
    expect(batch?.messages.map(({ id, transactionId }) => [id, transactionId])).toEqual(
      verdicts.map(({ message_id }) => [message_id, message_id]),
    );
  });

  it('cover several queues in one request', async () => {
    const [first, second] = [broker.queueName(), broker.queueName()];
    const verdicts = await broker.client.push([
      { queue: first, payload: 1 },
      { queue: second, payload: 2 },
      { queue: first, payload: 3 },
    ]);
    expect(verdicts.map(({ queueName, offset }) => [queueName, offset])).toEqual([
      [first, 0],
      [second, 0],
      [first, 1],
    ]);
  });
});

describe('offsets', () => {
  it('start at 0 in every partition and have no gap from request to request', async () => {
    const queue = broker.queueName();
    const seen: Record<string, (number | undefined)[]> = { a: [], b: [] };
    for (const partitions of [['a', 'a', 'b'], ['b'], ['a', 'b', 'a']]) {
      const items = partitions.map((partition) => ({ queue, partition, payload: 0 }));
      const verdicts = await broker.client.push(items);
      verdicts.forEach(({ offset }, i) => seen[partitions[i] ?? '']?.push(offset));
    }
    expect(seen).toEqual({ a: [0, 1, 2, 3], b: [0, 1, 2] });
  });

  it('have no gap and no repeat under concurrent pushes to one partition', async () => {
    const queue = broker.queueName();
    const requests = Array.from({ length: 40 }, (_, i) =>
      broker.client.push([
        { queue, payload: i },
        { queue, payload: i },
        { queue, payload: i },
      ]),
    );
    const offsets = (await Promise.all(requests)).map((verdicts) =>
      verdicts.map(({ offset }) => offset ?? -1),
    );
    // A request's messages of one partition are one append.
    expect(offsets.every(([a = 0, b, c]) => b === a + 1 && c === a + 2)).toBe(true);
    expect(offsets.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 120 }, (_, i) => i));
  });

  it('start at 0 in each of a thousand partitions of one request', async () => {
    const queue = broker.queueName();
    const items = Array.from({ length: 1000 }, (_, i) => ({
      queue,
      partition: `p-${i}`,
      payload: i,
    }));
    const verdicts = await broker.client.push(items);
    expect(verdicts.every(({ status, offset }) => status === 'queued' && offset === 0)).toBe(true);
    expect((await broker.client.queueRow(queue))?.partitions).toBe(1000);
  });

  it('are not used up by duplicates', async () => {
    const queue = broker.queueName();
    await broker.client.push([{ queue, transactionId: 'once', payload: 1 }]);
    await broker.client.push([{ queue, transactionId: 'once', payload: 1 }]);
    const [verdict] = await broker.client.push([{ queue, transactionId: 'other', payload: 1 }]);
    expect(verdict?.offset).toBe(1);
  });
});

describe('a repeat inside one request', () => {
  it('is stored once and answers the id and offset of the first', async () => {
    const queue = broker.queueName();
    const verdicts = await broker.client.push([
      { queue, transactionId: 'a', payload: 'first' },
      { queue, transactionId: 'b', payload: 'between' },
      { queue, transactionId: 'a', payload: 'again' },
    ]);
    expect(verdicts).toMatchObject([
      { index: 0, status: 'queued', offset: 0 },
      { index: 1, status: 'queued', offset: 1 },
      { index: 2, status: 'duplicate', offset: 0, message_id: verdicts[0]?.message_id },
    ]);
    const batch = await broker.client.pop(queue);
    expect(batch?.messages.map(({ data }) => data)).toEqual(['first', 'between']);
  });

  it('is found even where deduplication is off', async () => {
    const queue = broker.queueName();
    await broker.client.configure(queue, { dedupWindowSeconds: 0 });
    const item = { queue, transactionId: 'a', payload: 1 };
    const within = await broker.client.push([item, item]);
    expect(within.map(({ status, offset }) => [status, offset])).toEqual([
      ['queued', 0],
      ['duplicate', 0],
    ]);
    const [later] = await broker.client.push([item]);
    expect(later).toMatchObject({ status: 'queued', offset: 1 });
  });

  it('is none when the partition differs', async () => {
    const queue = broker.queueName();
    const verdicts = await broker.client.push([
      { queue, partition: 'a', transactionId: 't', payload: 1 },
      { queue, partition: 'b', transactionId: 't', payload: 1 },
    ]);
    expect(verdicts.map(({ status }) => status)).toEqual(['queued', 'queued']);
  });
});

describe('a duplicate of an earlier push', () => {
  it('answers the original id and offset and stores nothing', async () => {
    const queue = broker.queueName();
    const [original] = await broker.client.push([{ queue, transactionId: 't', payload: 1 }]);
    const [again, fresh] = await broker.client.push([
      { queue, transactionId: 't', payload: 'another payload' },
      { queue, transactionId: 'u', payload: 2 },
    ]);
    expect(again).toEqual({ ...original, status: 'duplicate' });
    expect(fresh).toMatchObject({ status: 'queued', offset: 1 });
    const batch = await broker.client.pop(queue);
    expect(batch?.messages.map(({ data }) => data)).toEqual([1, 2]);
  });

  it('is recognised after the original was acknowledged', async () => {
    const queue = broker.queueName();
    const [original] = await broker.client.push([{ queue, transactionId: 't', payload: 1 }]);
    await broker.client.pop(queue, { autoAck: true });
    const [again] = await broker.client.push([{ queue, transactionId: 't', payload: 1 }]);
    expect(again).toEqual({ ...original, status: 'duplicate' });
  });

  it('is recognised among pushes that race: one is queued, all name the same message', async () => {
    const queue = broker.queueName();
    const requests = Array.from({ length: 20 }, () =>
      broker.client.push([{ queue, transactionId: 'race', payload: 1 }]),
    );
    const verdicts = (await Promise.all(requests)).flat();
    expect(verdicts.filter(({ status }) => status === 'queued')).toHaveLength(1);
    expect(verdicts.filter(({ status }) => status === 'duplicate')).toHaveLength(19);
    expect(new Set(verdicts.map(({ message_id, offset }) => `${message_id} ${offset}`)).size).toBe(
      1,
    );
  });

  it('creates neither queue nor partition of its own', async () => {
    const queue = broker.queueName();
    await broker.client.push([{ queue, partition: 'a', transactionId: 't', payload: 1 }]);
    await broker.client.push([{ queue, partition: 'a', transactionId: 't', payload: 1 }]);
    expect(await broker.client.queueRow(queue)).toMatchObject({
      partitions: 1,
      messages: { total: 1 },
    });
  });
});

describe('a payload', () => {
  const texts = [
    '{"n":9007199254740993,"x":1.0}',
    '{ "spaced" :  [ 1 ,\t2 ] }',
    '{"b":1,"a":2,"b":3}',
    '"\\u00e9 é \\ud83d\\ude00 😀 \\/"',
    '-0',
    '1E+400',
    '0.1000',
    'null',
    'false',
    '""',
    '[]',
    '{}',
    '[[[[[[[[[[1]]]]]]]]]]',
    '"},{\\"queue\\":\\"x\\"}]"',
  ];

  it.each(texts)('comes back byte for byte: %s', async (text) => {
    const queue = broker.queueName();
    const body = `{"items":[{"queue":"${queue}","payload":${text}}]}`;
    expect((await broker.client.request('POST', '/api/v1/push', { body })).status).toBe(201);
    const answer = await broker.client.popRaw(`queue/${queue}`, {});
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(`"data":${text},"producerSub":null`);
  });

  it('comes back whole at a megabyte', async () => {
    const queue = broker.queueName();
    const payload = 'queue '.repeat(180_000);
    await broker.client.push([{ queue, payload }]);
    const batch = await broker.client.pop(queue);
    expect(batch?.messages[0]?.data).toBe(payload);
  });

  it('may stand before the queue in its item, and unknown fields are ignored', async () => {
    const queue = broker.queueName();
    const body = `{"trailing":null,"items":[{"payload":[1.50],"more":{"payload":0},"queue":"${queue}"}]}`;
    expect((await broker.client.request('POST', '/api/v1/push', { body })).status).toBe(201);
    const answer = await broker.client.popRaw(`queue/${queue}`, {});
    expect(answer.text).toContain('"data":[1.50],');
  });
});

describe('a pushed message', () => {
  it.each([undefined, null, ''])('without a partition goes to Default: %s', async (partition) => {
    const queue = broker.queueName();
    const item = partition === undefined ? {} : { partition };
    await broker.client.push([{ queue, payload: 1, ...item }]);
    const batch = await broker.client.popPartition(queue, 'Default');
    expect(batch?.messages).toHaveLength(1);
    expect(batch?.partition).toBe('Default');
  });

  it('keeps names with separators, spaces and other scripts', async () => {
    const queue = `${broker.queueName()}.a/b %41?#&=+`;
    const partition = 'Kundin 42 / größte — 客户';
    await broker.client.push([{ queue, partition, transactionId: 'ё/1', payload: 1 }]);
    const batch = await broker.client.popPartition(queue, partition);
    expect(batch).toMatchObject({ queue, partition, messages: [{ transactionId: 'ё/1' }] });
  });

  it('drops a trace id on this route', async () => {
    const queue = broker.queueName();
    const traceId = '0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b83';
    await broker.client.push([{ queue, payload: 1, traceId }]);
    expect((await broker.client.pop(queue))?.messages[0]?.traceId).toBeNull();
  });

  it('shares its creation time with its append, and later appends are later', async () => {
    const queue = broker.queueName();
    for (let i = 0; i < 3; i += 1) {
      await broker.client.push([
        { queue, payload: 1 },
        { queue, payload: 2 },
      ]);
    }
    const batch = await broker.client.pop(queue);
    const times = batch?.messages.map(({ createdAt }) => createdAt) ?? [];
    expect(times.every((time) => MICROSECONDS.test(time))).toBe(true);
    const [a, a2, b, b2, c, c2] = times as [string, string, string, string, string, string];
    expect([a2, b2, c2]).toEqual([a, b, c]);
    expect(a < b && b < c).toBe(true);
    expect(Math.abs(Date.now() - Date.parse(c))).toBeLessThan(60_000);
  });
});
