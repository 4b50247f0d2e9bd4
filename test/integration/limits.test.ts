// Bounds of a node: what is larger than they allow is refused by itself, and what is not goes on.

import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectJson } from '../support/http-client.ts';
import type { Answer } from '../support/http-client.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { useBroker } from '../support/use-broker.ts';
import type { ErrorBody, Verdict } from '../support/wire.ts';

const TRANSACTION_ID_BYTES_MAX = 65_535;
const ENTRY_BYTES_MAX = 65_536;
const MEBIBYTE = 1024 * 1024;

describe('a broker with the usual limits', () => {
  const broker = useBroker();

  it('takes the longest transaction id, delivers it and lets it be acknowledged', async () => {
    const queue = broker.queueName();
    const transactionId = 'é'.repeat(32_767) + 'x';
    expect(Buffer.byteLength(transactionId)).toBe(TRANSACTION_ID_BYTES_MAX);
    await broker.client.push([{ queue, transactionId, payload: 1 }]);
    const batch = await broker.client.pop(queue);
    const [message] = batch?.messages ?? [];
    expect(message?.transactionId).toBe(transactionId);
    const { partitionId = '', leaseId = '' } = message ?? {};
    expect(await broker.client.ack([{ transactionId, partitionId, leaseId }])).toMatchObject([
      { transactionId, success: true },
    ]);
  });

  it('refuses a longer one, and the whole request with it', async () => {
    const queue = broker.queueName();
    const transactionId = 'x'.repeat(TRANSACTION_ID_BYTES_MAX + 1);
    const items = [
      { queue, payload: 1 },
      { queue, transactionId, payload: 1 },
    ];
    const answer = await broker.client.post('/api/v1/push', { items });
    expect(expectJson<ErrorBody>(answer, 400).code).toBe('bad_request');
    expect(await broker.client.queueRow(queue)).toBeUndefined();
  });

  it('takes ten thousand messages in one request and hands them out in one batch', async () => {
    const queue = broker.queueName();
    const items = Array.from({ length: 10_000 }, (_, payload) => ({ queue, payload }));
    const verdicts = await broker.client.push(items);
    expect(verdicts.map(({ offset }) => offset)).toEqual(items.map(({ payload }) => payload));
    const batch = await broker.client.pop(queue, { batch: 10_000 });
    expect(batch?.messages.map(({ data }) => data)).toEqual(items.map(({ payload }) => payload));
  });

  it('parks a thousand pops and answers all of them', async () => {
    const queue = broker.queueName();
    const waiting = Array.from({ length: 1000 }, () =>
      broker.client.pop(queue, { wait: true, timeout: 20_000 }),
    );
    await broker.client.parked(1000);
    await broker.client.push(
      Array.from({ length: 1000 }, (_, i) => ({ queue, partition: `p-${i}`, payload: i })),
    );
    const payloads = (await Promise.all(waiting)).map((batch) => Number(batch?.messages[0]?.data));
    expect(payloads.sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });
});

describe('a broker with a small entry limit', () => {
  const broker = useBroker({ env: { QUEEN_RAFT_ENTRY_MAX_BYTES: String(ENTRY_BYTES_MAX) } });

  it('refuses the messages of a partition that go beyond it, and takes the others', async () => {
    const queue = broker.queueName();
    const large = { queue, partition: 'large', payload: 'x'.repeat(ENTRY_BYTES_MAX / 2) };
    const answer = await broker.client.post('/api/v1/push', {
      items: [
        { ...large, transactionId: 'a' },
        { queue, partition: 'small', payload: 1 },
        { ...large, transactionId: 'b' },
        { ...large, transactionId: 'a' },
      ],
    });
    const verdicts = expectJson<Verdict[]>(answer, 201);
    expect(verdicts.map(({ status }) => status)).toEqual(['error', 'queued', 'error', 'error']);
    expect(verdicts.map((verdict) => 'offset' in verdict)).toEqual([false, true, false, false]);
    expect((await broker.client.queueRow(queue))?.messages.total).toBe(1);
    const [alone] = await broker.client.push([{ ...large, transactionId: 'a' }]);
    expect(alone).toMatchObject({ status: 'queued', offset: 0 });
  });
});

describe('a broker whose room for pushes is taken', () => {
  const broker = useBroker({
    env: { QUEEN_RAFT_ADMIT_MAX_MB: '1', QUEEN_RAFT_ADMIT_HOLD_MS: '0' },
  });

  it('answers 429 with Retry-After, goes on with pops and acks, and recovers', async () => {
    const queue = broker.queueName();
    await broker.client.push([{ queue, payload: 1, transactionId: 't' }]);
    const slow = await RawConnection.open(broker.client.url);
    slow.send(
      'POST /api/v1/push HTTP/1.1\r\nHost: broker\r\n' +
        `Content-Length: ${MEBIBYTE}\r\n\r\n{"items":${' '.repeat(MEBIBYTE - 1000)}`,
    );
    // Small bodies have room of their own; this one needs what the slow one holds.
    const push = { items: [{ queue, payload: 'x'.repeat(400_000) }] };
    const refused = await eventuallyRefused(push);
    expect(expectJson<ErrorBody>(refused, 429).code).toBe('overloaded');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const batch = await broker.client.pop(queue);
    const { partitionId = '', leaseId = '' } = batch ?? {};
    expect(await broker.client.ack([{ transactionId: 't', partitionId, leaseId }])).toMatchObject([
      { success: true },
    ]);
    slow.reset();
    await eventually('room for pushes', async () => {
      return (await broker.client.post('/api/v1/push', push)).status === 201;
    });
  });

  /** Pushes until the slow body, which is on another connection, has taken its room. */
  async function eventuallyRefused(push: object): Promise<Answer> {
    return eventually('a refusal', async () => {
      const answer = await broker.client.post('/api/v1/push', push);
      return answer.status === 201 ? undefined : answer;
    });
  }
});
