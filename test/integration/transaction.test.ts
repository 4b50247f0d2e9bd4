// Transactions over HTTP: all of it or nothing, also across a crash.

import { beforeEach, describe, expect, it } from 'vitest';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';

const broker = useBroker();

let input = '';
let output = '';

interface Answer {
  readonly success: boolean;
  readonly reason?: string;
  readonly results: readonly { readonly type: string; readonly success: boolean }[];
}

async function transact(operations: readonly object[], status = 200): Promise<Answer> {
  return expectJson<Answer>(
    await broker.client.post('/api/v1/transaction', { operations }),
    status,
  );
}

/** Pops one message and returns the operation that acks it. */
async function take(): Promise<object> {
  const batch = await broker.client.pop(input, { batch: 1 });
  const [message] = batch?.messages ?? [];
  return {
    type: 'ack',
    transactionId: message?.transactionId,
    partitionId: batch?.partitionId,
    leaseId: batch?.leaseId,
  };
}

beforeEach(async () => {
  input = broker.queueName('in');
  output = broker.queueName('out');
  await broker.client.push([{ queue: input, payload: { n: 1 }, transactionId: 'a' }]);
});

describe('a transaction', () => {
  it('acks what it consumed and pushes what it made, and survives a crash as a whole', async () => {
    const { success, results } = await transact([
      await take(),
      { type: 'push', items: [{ queue: output, payload: { n: 2 }, transactionId: 'b' }] },
    ]);
    expect(success).toBe(true);
    expect(results.map(({ type }) => type)).toEqual(['ack', 'push']);
    await broker.process.kill();
    await broker.process.start();
    expect(await broker.client.pop(input)).toBeUndefined();
    const batch = await broker.client.pop(output);
    expect(batch?.messages.map(({ data }) => data)).toEqual([{ n: 2 }]);
  });

  it('rolls everything back when an ack is rejected', async () => {
    const ack = await take();
    const stale = { ...ack, leaseId: '00000000-0000-7000-8000-000000000000' };
    const { success, reason } = await transact([
      { type: 'push', items: [{ queue: output, payload: 1 }] },
      stale,
    ]);
    expect([success, reason]).toEqual([false, 'rejected_ack']);
    expect(await broker.client.queueRow(output)).toBeUndefined();
    expect((await transact([ack])).success).toBe(true);
  });

  it('rolls everything back when a message is there already', async () => {
    await broker.client.push([{ queue: output, payload: 1, transactionId: 'b' }]);
    const ack = await take();
    const { success, reason } = await transact([
      ack,
      { type: 'push', items: [{ queue: output, payload: 2, transactionId: 'b' }] },
    ]);
    expect([success, reason]).toEqual([false, 'duplicate']);
    expect((await transact([ack])).success).toBe(true);
  });

  it('that makes no sense changes nothing', async () => {
    const answer = await transact([{ type: 'fly' }], 400);
    expect(answer).toMatchObject({ success: false, reason: 'bad_request', results: [] });
  });
});
