// Acknowledging: cursors, retries, dead letters, leases that fence, and requests that come twice.

import { describe, expect, it } from 'vitest';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';
import type { AckItem, AckVerdict, Batch, PopQuery } from '../support/wire.ts';

/** Well-formed, and of no lease. */
const FOREIGN_LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';
const INVALID_LEASE = /invalid or expired lease/i;

const broker = useBroker();

/** A queue with messages whose payloads and transaction ids count from 0. */
async function filledQueue(count: number, options?: Record<string, unknown>): Promise<string> {
  const queue = broker.queueName();
  if (options !== undefined) await broker.client.configure(queue, options);
  const items = Array.from({ length: count }, (_, i) => ({
    queue,
    payload: i,
    transactionId: String(i),
  }));
  await broker.client.push(items);
  return queue;
}

/** Pops and expects messages. */
async function claim(queue: string, query: PopQuery = {}): Promise<Batch> {
  const batch = await broker.client.pop(queue, query);
  if (batch === undefined) throw new Error(`nothing to claim in ${queue}`);
  return batch;
}

/** Names the message with this payload in a batch. */
function item(batch: Batch, payload: number, rest: Partial<AckItem> = {}): AckItem {
  const { partitionId, leaseId } = batch;
  return { transactionId: String(payload), partitionId, leaseId, ...rest };
}

function payloads(batch: Batch | undefined): unknown[] {
  return batch?.messages.map(({ data }) => data) ?? [];
}

async function deadLetters(queue: string): Promise<number | undefined> {
  return (await broker.client.queueRow(queue))?.messages.deadLetter;
}

describe('the answer of an ack', () => {
  it('is an array with one object per item, with the contract keys, in request order', async () => {
    const queue = await filledQueue(2);
    const batch = await claim(queue);
    const answer = await broker.client.post('/api/v1/ack/batch', {
      acknowledgments: [item(batch, 1), item(batch, 0)],
    });
    const verdicts = expectJson<AckVerdict[]>(answer, 200);
    expect(verdicts.map((verdict) => Object.keys(verdict).join())).toEqual(
      Array(2).fill('index,transactionId,success,error,leaseReleased,dlq,noop'),
    );
    const verdict = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };
    expect(verdicts).toEqual([
      { index: 0, transactionId: '1', ...verdict },
      { index: 1, transactionId: '0', ...verdict },
    ]);
  });

  it.each(['/api/v1/ack', '/api/v1/ack/batch'])(
    'is an array of one for the single form on %s',
    async (path) => {
      const queue = await filledQueue(1);
      const batch = await claim(queue, { consumerGroup: 'g' });
      const body = { ...item(batch, 0), status: 'completed', consumerGroup: 'g' };
      const verdicts = expectJson<AckVerdict[]>(await broker.client.post(path, body), 200);
      expect(verdicts).toMatchObject([{ index: 0, success: true, leaseReleased: true }]);
    },
  );

  it('is the same for the batch form on the single path', async () => {
    const queue = await filledQueue(2);
    const batch = await claim(queue);
    const acknowledgments = [item(batch, 0), item(batch, 1)];
    const answer = await broker.client.post('/api/v1/ack', {
      acknowledgments,
      consumerGroup: null,
    });
    expect(expectJson<AckVerdict[]>(answer, 200).map(({ success }) => success)).toEqual([
      true,
      true,
    ]);
  });
});

describe('a completed ack', () => {
  it('of the whole batch releases the lease and moves the group on', async () => {
    const queue = await filledQueue(4);
    const batch = await claim(queue, { batch: 2 });
    await broker.client.ack([item(batch, 0), item(batch, 1)]);
    expect(payloads(await claim(queue))).toEqual([2, 3]);
  });

  it('covers everything before it, and keeps the lease until the last message is named', async () => {
    const queue = await filledQueue(5);
    const batch = await claim(queue);
    expect(await broker.client.ack([item(batch, 2)])).toMatchObject([
      { success: true, leaseReleased: false },
    ]);
    expect(await broker.client.pop(queue)).toBeUndefined();
    expect(await broker.client.ack([item(batch, 4)])).toMatchObject([
      { success: true, leaseReleased: true },
    ]);
    expect(await broker.client.queueRow(queue)).toMatchObject({
      messages: { total: 5, completed: 5, pending: 0, processing: 0 },
    });
  });

  it('of a part lets only the rest come again when the lease ends', async () => {
    const queue = await filledQueue(4);
    const batch = await claim(queue, { leaseSeconds: 1 });
    await broker.client.ack([item(batch, 0), item(batch, 1)]);
    const rest = await claim(queue, { wait: true, timeout: 10_000 });
    expect(payloads(rest)).toEqual([2, 3]);
    expect(rest.messages[0]?.deliveryAttempt).toBe(2);
  });

  it('moves its own group only', async () => {
    const queue = await filledQueue(2);
    const batch = await claim(queue, { consumerGroup: 'a' });
    await broker.client.ack([item(batch, 0), item(batch, 1)], 'a');
    expect(payloads(await claim(queue, { consumerGroup: 'b' }))).toEqual([0, 1]);
    expect(payloads(await claim(queue))).toEqual([0, 1]);
  });

  it('may leave its status out or spell it like other releases did', async () => {
    const queue = await filledQueue(5);
    for (const status of [undefined, 'completed', 'SUCCESS', 'acked', 'Ok']) {
      const batch = await claim(queue, { batch: 1 });
      const [message] = batch.messages;
      const named = item(batch, Number(message?.data), status === undefined ? {} : { status });
      expect(await broker.client.ack([named])).toMatchObject([
        { success: true, leaseReleased: true },
      ]);
    }
    expect(await broker.client.pop(queue)).toBeUndefined();
  });

  it('works without a lease id', async () => {
    const queue = await filledQueue(2);
    const batch = await claim(queue);
    const verdicts = await broker.client.ack([item(batch, 1, { leaseId: '' })], null);
    expect(verdicts).toMatchObject([{ success: true, leaseReleased: true }]);
  });

  it('of one pop over several partitions settles each of them', async () => {
    const queue = broker.queueName();
    const partitions = ['a', 'b', 'c'];
    await broker.client.push(
      partitions.map((partition) => ({ queue, partition, payload: 0, transactionId: 't' })),
    );
    const batch = await claim(queue, { partitions: 3 });
    const verdicts = await broker.client.ack(
      batch.messages.map(({ transactionId, partitionId, leaseId }) => ({
        transactionId,
        partitionId,
        leaseId,
      })),
    );
    expect(verdicts.map(({ leaseReleased }) => leaseReleased)).toEqual([true, true, true]);
    expect(await broker.client.pop(queue, { partitions: 3 })).toBeUndefined();
  });
});

describe('an ack that comes twice', () => {
  it('under the lease that it settled succeeds again', async () => {
    const queue = await filledQueue(3);
    const batch = await claim(queue, { batch: 2 });
    const items = [item(batch, 0), item(batch, 1)];
    await broker.client.ack(items);
    expect(await broker.client.ack(items)).toMatchObject([
      { success: true, error: null, leaseReleased: true },
      { success: true, error: null, leaseReleased: true },
    ]);
    expect(payloads(await claim(queue))).toEqual([2]);
  });

  it('without a lease id is a noop', async () => {
    const queue = await filledQueue(1);
    const batch = await claim(queue);
    await broker.client.ack([item(batch, 0)]);
    expect(await broker.client.ack([item(batch, 0, { leaseId: null })])).toMatchObject([
      { success: true, noop: true },
    ]);
  });

  it('is refused as expired after the batch was given to another worker', async () => {
    const queue = await filledQueue(2);
    const slow = await claim(queue, { leaseSeconds: 1 });
    const quick = await claim(queue, { wait: true, timeout: 10_000 });
    const [refused] = await broker.client.ack([item(slow, 1)]);
    expect(refused).toMatchObject({ success: false, leaseReleased: false });
    expect(refused?.error).toMatch(INVALID_LEASE);
    expect(await broker.client.ack([item(quick, 1)])).toMatchObject([
      { success: true, leaseReleased: true },
    ]);
  });
});

describe('a retry ack', () => {
  it('redelivers at once and never uses up the retry limit', async () => {
    const queue = await filledQueue(2, { retryLimit: 0 });
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      const batch = await claim(queue);
      expect(payloads(batch)).toEqual([0, 1]);
      expect(batch.messages[0]?.deliveryAttempt).toBe(attempt);
      expect(await broker.client.ack([item(batch, 0, { status: 'retry' })])).toMatchObject([
        { success: true, leaseReleased: true, dlq: false },
      ]);
    }
    expect(await deadLetters(queue)).toBe(0);
  });

  it('keeps what was completed below it', async () => {
    const queue = await filledQueue(4);
    const batch = await claim(queue);
    await broker.client.ack([item(batch, 1), item(batch, 2, { status: 'RETRY' })]);
    expect(payloads(await claim(queue))).toEqual([2, 3]);
  });
});

describe('a failed ack', () => {
  it('redelivers from the failed message on, completed ones above it included', async () => {
    const queue = await filledQueue(5);
    const batch = await claim(queue);
    const verdicts = await broker.client.ack([
      item(batch, 0),
      item(batch, 1),
      item(batch, 2, { status: 'failed', error: 'boom' }),
      item(batch, 4),
    ]);
    expect(verdicts.map(({ success, dlq }) => [success, dlq])).toEqual(
      Array(4).fill([true, false]),
    );
    expect(payloads(await claim(queue))).toEqual([2, 3, 4]);
  });

  it('files a dead letter once the retry limit is used up, and the group goes on', async () => {
    const queue = await filledQueue(2, { retryLimit: 2 });
    for (let failure = 1; failure <= 3; failure += 1) {
      const batch = await claim(queue);
      expect(payloads(batch)).toEqual([0, 1]);
      const isLast = failure === 3;
      expect(await deadLetters(queue)).toBe(0);
      expect(await broker.client.ack([item(batch, 0, { status: 'failed' })])).toMatchObject([
        { success: true, leaseReleased: true, dlq: isLast },
      ]);
    }
    expect(await deadLetters(queue)).toBe(1);
    expect(payloads(await claim(queue))).toEqual([1]);
  });

  it('drops the message instead where dead letters are off', async () => {
    const options = { retryLimit: 0, deadLetterQueue: false, dlqAfterMaxRetries: false };
    const queue = await filledQueue(2, options);
    const batch = await claim(queue);
    expect(await broker.client.ack([item(batch, 0, { status: 'failed' })])).toMatchObject([
      { success: true, leaseReleased: true, dlq: false },
    ]);
    expect(payloads(await claim(queue))).toEqual([1]);
    expect(await deadLetters(queue)).toBe(0);
  });

  it('starts counting anew after a completed batch', async () => {
    const queue = await filledQueue(2, { retryLimit: 1 });
    const failOnce = async (payload: number): Promise<void> => {
      const batch = await claim(queue, { batch: 1 });
      await broker.client.ack([item(batch, payload, { status: 'failed' })]);
    };
    await failOnce(0);
    await broker.client.ack([item(await claim(queue, { batch: 1 }), 0)]);
    await failOnce(1);
    expect(payloads(await claim(queue))).toEqual([1]);
    expect(await deadLetters(queue)).toBe(0);
  });
});

describe('a dlq ack', () => {
  it('files the message at once and completes the rest as named', async () => {
    const queue = await filledQueue(4);
    const batch = await claim(queue);
    const verdicts = await broker.client.ack([
      item(batch, 0),
      item(batch, 1, { status: 'dlq', error: 'poisoned' }),
      item(batch, 2),
    ]);
    expect(verdicts.map(({ success, dlq }) => [success, dlq])).toEqual([
      [true, false],
      [true, true],
      [true, false],
    ]);
    expect(await deadLetters(queue)).toBe(1);
    expect(payloads(await claim(queue))).toEqual([3]);
  });

  it('files for its group only', async () => {
    const queue = await filledQueue(1);
    const batch = await claim(queue, { consumerGroup: 'a' });
    await broker.client.ack([item(batch, 0, { status: 'dlq' })], 'a');
    expect(payloads(await claim(queue, { consumerGroup: 'b' }))).toEqual([0]);
    expect(await deadLetters(queue)).toBe(1);
  });
});

describe('an item that cannot be acknowledged', () => {
  it('because of a foreign lease says so and leaves the lease alone', async () => {
    const queue = await filledQueue(1);
    const batch = await claim(queue);
    for (const leaseId of [FOREIGN_LEASE, 'not-a-lease']) {
      const [verdict] = await broker.client.ack([item(batch, 0, { leaseId })]);
      expect(verdict).toMatchObject({ success: false, leaseReleased: false, dlq: false });
      expect(verdict?.error).toMatch(INVALID_LEASE);
    }
    expect(await broker.client.ack([item(batch, 0)])).toMatchObject([{ success: true }]);
  });

  it('because of its status fails alone', async () => {
    const queue = await filledQueue(3);
    const batch = await claim(queue);
    const [first, second] = await broker.client.ack([
      item(batch, 0),
      item(batch, 1, { status: 'done-ish' }),
    ]);
    expect(first).toMatchObject({ success: true, leaseReleased: false });
    expect(second).toMatchObject({ success: false, leaseReleased: false, dlq: false });
    expect(second?.error).toMatch(/unknown status/i);
    expect(await broker.client.ack([item(batch, 1, { status: 'retry' })])).toMatchObject([
      { success: true, leaseReleased: true },
    ]);
    expect(payloads(await claim(queue))).toEqual([1, 2]);
  });

  it('because no such message is leased says that it is unresolvable or committed', async () => {
    const queue = await filledQueue(2);
    const batch = await claim(queue);
    const [verdict] = await broker.client.ack([item(batch, 0, { transactionId: 'unheard of' })]);
    expect(verdict).toMatchObject({ success: false, leaseReleased: false });
    expect(verdict?.error).toMatch(/unresolv.*committed/i);
    expect(await broker.client.ack([item(batch, 1)])).toMatchObject([{ success: true }]);
  });

  it.each(['', 'nonsense', FOREIGN_LEASE, '999999'])(
    'because its partition id is %j says so, and the others stand',
    async (partitionId) => {
      const queue = await filledQueue(1);
      const batch = await claim(queue);
      const [bad, good] = await broker.client.ack([
        item(batch, 0, { partitionId }),
        item(batch, 0),
      ]);
      expect(bad).toMatchObject({ index: 0, success: false, leaseReleased: false });
      expect(bad?.error).toMatch(/partition/i);
      expect(good).toMatchObject({ index: 1, success: true, leaseReleased: true });
    },
  );

  it('because its group holds nothing there fails', async () => {
    const queue = await filledQueue(1);
    const batch = await claim(queue, { consumerGroup: 'a' });
    const [verdict] = await broker.client.ack([item(batch, 0)], 'b');
    expect(verdict?.success).toBe(false);
    expect(await broker.client.ack([item(batch, 0)], 'a')).toMatchObject([{ success: true }]);
  });

  it('because it was committed before cannot be failed any more', async () => {
    const queue = await filledQueue(2);
    const batch = await claim(queue);
    await broker.client.ack([item(batch, 0)]);
    const [verdict] = await broker.client.ack([item(batch, 0, { status: 'failed' })]);
    expect(verdict?.success).toBe(false);
    expect(verdict?.error).toMatch(/unresolv.*committed/i);
  });
});
