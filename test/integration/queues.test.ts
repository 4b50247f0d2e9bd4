// Listing and deleting queues.

import { describe, expect, it } from 'vitest';
import { within } from '../support/eventually.ts';
import { useBroker } from '../support/use-broker.ts';

const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

const broker = useBroker();

async function push(queue: string, count: number, partition = 'Default'): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({
    queue,
    partition,
    payload: i,
    transactionId: `t-${i}`,
  }));
  await broker.client.push(items);
}

describe('the queue list', () => {
  it('has the contract keys in every row and the totals beside it', async () => {
    const queue = broker.queueName();
    await push(queue, 1);
    const answer = await broker.client.request('GET', `/api/v1/resources/queues?search=${queue}`);
    const list = JSON.parse(answer.text) as { queues: object[] };
    expect(Object.keys(list).join()).toBe('queues,kvRows,kvBytes,timerRows,timerBytes');
    expect(Object.keys(list.queues[0] ?? {}).join()).toBe(
      'id,name,queue,namespace,task,storage,partitions,segments,messages,retainedBytes,options,createdAt',
    );
    expect(list.queues[0]).toMatchObject({ name: queue, queue, storage: 'segments' });
  });

  it('counts partitions, messages, what is leased, what is done and what is dead', async () => {
    const queue = broker.queueName();
    await push(queue, 4, 'a');
    await push(queue, 3, 'b');
    expect(await broker.client.queueRow(queue)).toMatchObject({
      partitions: 2,
      segments: { segments: 2, messages: 7 },
      messages: { total: 7, pending: 7, processing: 0, completed: 0, deadLetter: 0 },
    });
    const batch = await broker.client.popPartition(queue, 'a');
    expect((await broker.client.queueRow(queue))?.messages).toEqual({
      total: 7,
      pending: 3,
      processing: 4,
      completed: 0,
      deadLetter: 0,
    });
    const named = { partitionId: batch?.partitionId ?? '', leaseId: batch?.leaseId ?? '' };
    await broker.client.ack([
      { transactionId: 't-0', ...named, status: 'dlq' },
      { transactionId: 't-3', ...named },
    ]);
    const row = await broker.client.queueRow(queue);
    expect(row?.messages).toEqual({
      total: 7,
      pending: 3,
      processing: 0,
      completed: 3,
      deadLetter: 1,
    });
    expect(row?.retainedBytes).toBeGreaterThan(0);
    expect(row?.createdAt).toMatch(MICROSECONDS);
  });

  it('is newest first', async () => {
    const names = [broker.queueName('age'), broker.queueName('age'), broker.queueName('age')];
    for (const name of names) await push(name, 1);
    const rows = await broker.client.queues({ search: 'age' });
    expect(rows.map(({ name }) => name)).toEqual(names.toReversed());
  });

  it('filters by namespace, task and part of the name, and pages', async () => {
    const namespace = broker.queueName('listed');
    for (const name of ['mail.one', 'mail.two', 'sms.three']) await push(`${namespace}.${name}`, 1);
    const names = async (query: Record<string, string | number>): Promise<string[]> =>
      (await broker.client.queues(query)).map(({ name }) => name.slice(namespace.length + 1));
    expect(await names({ namespace })).toEqual(['sms.three', 'mail.two', 'mail.one']);
    expect(await names({ namespace, task: 'mail' })).toEqual(['mail.two', 'mail.one']);
    expect(await names({ search: `${namespace}.mail` })).toEqual(['mail.two', 'mail.one']);
    expect(await names({ namespace, limit: 1 })).toEqual(['sms.three']);
    expect(await names({ namespace, limit: 1, offset: 1 })).toEqual(['mail.two']);
    expect(await names({ namespace, offset: 3 })).toEqual([]);
    expect(await names({ namespace: `${namespace}-not` })).toEqual([]);
    expect(await names({ namespace, task: '' })).toHaveLength(3);
  });
});

describe('deleting a queue', () => {
  it('removes it, and says so again when it is gone', async () => {
    const queue = broker.queueName();
    await push(queue, 2);
    expect(await broker.client.deleteQueue(queue)).toEqual({ deleted: true, existed: true, queue });
    expect(await broker.client.queueRow(queue)).toBeUndefined();
    const again = await broker.client.deleteQueue(queue);
    expect(again).toMatchObject({ deleted: false, existed: false, queue });
    expect(again).toHaveProperty('message', expect.stringMatching(/nothing was deleted/i));
  });

  it('frees the name at once: offsets start at 0, ids and groups are forgotten', async () => {
    const queue = broker.queueName();
    await push(queue, 3);
    const before = await broker.client.pop(queue, { autoAck: true, consumerGroup: 'g' });
    await broker.client.deleteQueue(queue);
    const verdicts = await broker.client.push([
      { queue, payload: 'anew', transactionId: 't-0' },
      { queue, payload: 'anew', transactionId: 't-1' },
    ]);
    expect(verdicts.map(({ status, offset }) => [status, offset])).toEqual([
      ['queued', 0],
      ['queued', 1],
    ]);
    const after = await broker.client.pop(queue, { consumerGroup: 'g' });
    expect(after?.messages.map(({ data, offset }) => [data, offset])).toEqual([
      ['anew', 0],
      ['anew', 1],
    ]);
    expect(after?.partitionId).not.toBe(before?.partitionId);
    expect(await broker.client.queueRow(queue)).toMatchObject({
      partitions: 1,
      messages: { total: 2, deadLetter: 0 },
    });
  });

  it('ends its leases: an ack of an old delivery touches nothing of the new queue', async () => {
    const queue = broker.queueName();
    await push(queue, 1);
    const old = await broker.client.pop(queue);
    await broker.client.deleteQueue(queue);
    await push(queue, 1);
    const { partitionId = '', leaseId = '' } = old ?? {};
    const [verdict] = await broker.client.ack([{ transactionId: 't-0', partitionId, leaseId }]);
    expect(verdict?.success).toBe(false);
    expect((await broker.client.pop(queue))?.messages).toHaveLength(1);
  });

  it('leaves a waiting pop waiting, which the next push to the name wakes', async () => {
    const queue = broker.queueName();
    await push(queue, 1);
    await broker.client.pop(queue, { autoAck: true });
    const waiting = broker.client.pop(queue, { wait: true, timeout: 20_000 });
    await broker.client.parked(1);
    await broker.client.deleteQueue(queue);
    await broker.client.push([{ queue, payload: 'anew' }]);
    const batch = await within('the woken pop', waiting, 5_000);
    expect(batch?.messages.map(({ data }) => data)).toEqual(['anew']);
  });

  it('leaves queues alone whose names only begin alike', async () => {
    const queue = broker.queueName('twin');
    await push(queue, 1);
    await push(`${queue}-b`, 1);
    await broker.client.deleteQueue(queue);
    expect((await broker.client.pop(`${queue}-b`))?.messages).toHaveLength(1);
  });
});
