// Popping: what one call claims and in which form it answers, long polls, subscriptions, discovery.

import { describe, expect, it } from 'vitest';
import { eventually, within } from '../support/eventually.ts';
import { expectJson } from '../support/http-client.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { useBroker } from '../support/use-broker.ts';
import type { Batch } from '../support/wire.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const broker = useBroker();

/** Pushes the payloads 0, 1, … `count` − 1 to each of the partitions, in one request. */
async function fill(queue: string, count: number, partitions = ['Default']): Promise<void> {
  const items = partitions.flatMap((partition) =>
    Array.from({ length: count }, (_, payload) => ({
      queue,
      partition,
      payload,
      transactionId: `${partition}-${payload}`,
    })),
  );
  await broker.client.push(items);
}

function payloads(batch: Batch | undefined): unknown[] {
  return batch?.messages.map(({ data }) => data) ?? [];
}

function partitionsOf(batch: Batch | undefined): string[] {
  return [...new Set(batch?.messages.map(({ partition }) => partition))];
}

describe('the answer of a pop', () => {
  it('has the contract keys in the contract order', async () => {
    const queue = broker.queueName();
    await fill(queue, 1, ['p']);
    const answer = await broker.client.popRaw(`queue/${queue}`, { consumerGroup: 'billing' });
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    const batch = expectJson<Batch>(answer, 200);
    expect(Object.keys(batch).join()).toBe(
      'success,queue,partition,partitionId,leaseId,consumerGroup,messages,partitionsClaimed',
    );
    expect(Object.keys(batch.messages[0] ?? {}).join()).toBe(
      'id,transactionId,traceId,data,producerSub,createdAt,partitionId,partition,leaseId,' +
        'consumerGroup,deliveryAttempt,offset',
    );
    const { leaseId, partitionId } = batch;
    expect([UUID.test(leaseId), UUID.test(partitionId)]).toEqual([true, true]);
    expect(batch).toMatchObject({
      success: true,
      queue,
      partition: 'p',
      consumerGroup: 'billing',
      partitionsClaimed: 1,
      messages: [
        {
          transactionId: 'p-0',
          traceId: null,
          data: 0,
          producerSub: null,
          partitionId,
          partition: 'p',
          leaseId,
          consumerGroup: 'billing',
          deliveryAttempt: 1,
          offset: 0,
        },
      ],
    });
  });

  it('names queue mode when no group is given', async () => {
    const queue = broker.queueName();
    await fill(queue, 1);
    const batch = await broker.client.pop(queue);
    expect(batch?.consumerGroup).toBe('__QUEUE_MODE__');
  });

  it('is 204 without body and content length when there is nothing', async () => {
    const answer = await broker.client.popRaw(`queue/${broker.queueName()}`, {});
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers).not.toHaveProperty('content-length');
    expect(answer.headers).not.toHaveProperty('content-type');
    expect(answer.headers['queen-pop-reason']).toBe('empty');
  });
});

describe('a wildcard pop', () => {
  it('creates a missing queue with labels from its name', async () => {
    const queue = `${broker.queueName('ns')}.job.extra`;
    expect(await broker.client.pop(queue)).toBeUndefined();
    expect(await broker.client.queueRow(queue)).toMatchObject({
      namespace: queue.split('.')[0],
      task: 'job',
      partitions: 0,
      options: { leaseTime: 60 },
    });
  });

  it('takes one partition unless it asks for more', async () => {
    const queue = broker.queueName();
    await fill(queue, 2, ['a', 'b', 'c']);
    const batch = await broker.client.pop(queue);
    expect(batch?.partitionsClaimed).toBe(1);
    expect(payloads(batch)).toEqual([0, 1]);
  });

  it('takes several partitions under one lease, each in offset order', async () => {
    const queue = broker.queueName();
    await fill(queue, 2, ['a', 'b', 'c']);
    const batch = await broker.client.pop(queue, { partitions: 2 });
    expect(batch?.partitionsClaimed).toBe(2);
    expect(payloads(batch)).toEqual([0, 1, 0, 1]);
    expect(partitionsOf(batch)).toHaveLength(2);
    expect(batch?.messages[0]).toMatchObject({
      partition: batch?.partition,
      partitionId: batch?.partitionId,
    });
    expect(new Set(batch?.messages.map(({ leaseId }) => leaseId))).toEqual(
      new Set([batch?.leaseId]),
    );
    expect(new Set(batch?.messages.map(({ partitionId }) => partitionId)).size).toBe(2);
  });

  it.each([0, -1])(
    'takes as many partitions as the batch fills with partitions=%i',
    async (all) => {
      const queue = broker.queueName();
      await fill(
        queue,
        1,
        Array.from({ length: 70 }, (_, i) => `p-${i}`),
      );
      const batch = await broker.client.pop(queue, { partitions: all });
      expect(batch?.partitionsClaimed).toBe(70);
    },
  );

  it('shares the batch budget over the partitions', async () => {
    const queue = broker.queueName();
    await fill(queue, 3, ['a', 'b', 'c']);
    const batch = await broker.client.pop(queue, { partitions: 3, batch: 4 });
    expect(payloads(batch)).toEqual([0, 1, 2, 0]);
    expect(batch?.partitionsClaimed).toBe(2);
  });

  it.each([0, -5])('treats batch=%i as 1', async (size) => {
    const queue = broker.queueName();
    await fill(queue, 3);
    expect(payloads(await broker.client.pop(queue, { batch: size }))).toEqual([0]);
  });

  it('delivers at most 200 messages when no batch is given', async () => {
    const queue = broker.queueName();
    await fill(queue, 250);
    expect((await broker.client.pop(queue))?.messages).toHaveLength(200);
  });

  it('spreads workers over partitions, and none gets what another holds', async () => {
    const queue = broker.queueName();
    await fill(queue, 2, ['a', 'b', 'c', 'd']);
    const pops = Array.from({ length: 6 }, () => broker.client.pop(queue));
    const batches = (await Promise.all(pops)).filter((batch) => batch !== undefined);
    expect(batches.map(({ partition }) => partition).sort()).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('a pinned pop', () => {
  it('takes its partition only', async () => {
    const queue = broker.queueName();
    await fill(queue, 2, ['a', 'b']);
    const batch = await broker.client.popPartition(queue, 'b', { partitions: 10 });
    expect(partitionsOf(batch)).toEqual(['b']);
    expect(batch?.partitionsClaimed).toBe(1);
  });

  it('creates neither queue nor partition', async () => {
    const queue = broker.queueName();
    expect(await broker.client.popPartition(queue, 'a')).toBeUndefined();
    expect(await broker.client.queueRow(queue)).toBeUndefined();
    await fill(queue, 1, ['b']);
    expect(await broker.client.popPartition(queue, 'a')).toBeUndefined();
    expect((await broker.client.queueRow(queue))?.partitions).toBe(1);
  });

  it('waits for a partition that does not exist yet', async () => {
    const queue = broker.queueName();
    await fill(queue, 1, ['other']);
    const waiting = broker.client.popPartition(queue, 'late', { wait: true, timeout: 10_000 });
    await broker.client.parked(1);
    await fill(queue, 1, ['late']);
    expect(partitionsOf(await waiting)).toEqual(['late']);
  });
});

describe('a lease', () => {
  it('keeps its partition from the group and from nobody else', async () => {
    const queue = broker.queueName();
    await fill(queue, 3);
    const held = await broker.client.pop(queue, { consumerGroup: 'a', batch: 1 });
    expect(payloads(held)).toEqual([0]);
    const refused = await broker.client.popRaw(`queue/${queue}`, { consumerGroup: 'a' });
    expect([refused.status, refused.headers['queen-pop-reason']]).toEqual([204, 'leased']);
    const other = await broker.client.pop(queue, { consumerGroup: 'b' });
    expect(payloads(other)).toEqual([0, 1, 2]);
  });

  it('of the seconds that the pop asked for redelivers at its end, with the next attempt', async () => {
    const queue = broker.queueName();
    await fill(queue, 2);
    const first = await broker.client.pop(queue, { leaseSeconds: 1 });
    const startMs = performance.now();
    const second = await broker.client.pop(queue, { leaseSeconds: 1, wait: true, timeout: 10_000 });
    expect(performance.now() - startMs).toBeGreaterThan(500);
    const third = await broker.client.pop(queue, { wait: true, timeout: 10_000 });
    expect([first, second, third].map(payloads)).toEqual([
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
    const attempts = [first, second, third].map((batch) => batch?.messages[0]?.deliveryAttempt);
    expect(attempts).toEqual([1, 2, 3]);
    expect(second?.leaseId).not.toBe(first?.leaseId);
  });

  it('lasts as long as the queue says when the pop does not', async () => {
    const queue = broker.queueName();
    await broker.client.configure(queue, { leaseTime: 1 });
    await fill(queue, 1);
    await broker.client.pop(queue, { leaseSeconds: 0 });
    const again = await broker.client.pop(queue, { wait: true, timeout: 10_000 });
    expect(again?.messages[0]?.deliveryAttempt).toBe(2);
  });

  it('that ends does not charge the retry limit', async () => {
    const queue = broker.queueName();
    await broker.client.configure(queue, { retryLimit: 0 });
    await fill(queue, 1);
    await broker.client.pop(queue, { leaseSeconds: 1 });
    const again = await broker.client.pop(queue, { wait: true, timeout: 10_000 });
    expect(payloads(again)).toEqual([0]);
    expect((await broker.client.queueRow(queue))?.messages.deadLetter).toBe(0);
  });
});

describe('a pop with autoAck', () => {
  it.each(['autoAck', 'commitOnDelivery'])(
    '(%s) commits at once, without a lease',
    async (name) => {
      const queue = broker.queueName();
      await fill(queue, 3);
      const first = await broker.client.request(
        'GET',
        `/api/v1/pop/queue/${queue}?batch=2&${name}=true`,
      );
      const batch = expectJson<Batch>(first, 200);
      expect(batch).toMatchObject({
        leaseId: '',
        messages: [
          { data: 0, leaseId: '', deliveryAttempt: 1 },
          { data: 1, leaseId: '', deliveryAttempt: 1 },
        ],
      });
      expect(payloads(await broker.client.pop(queue))).toEqual([2]);
      expect(await broker.client.pop(queue)).toBeUndefined();
    },
  );
});

describe('a waiting pop', () => {
  it('is woken by a push', async () => {
    const queue = broker.queueName();
    const waiting = broker.client.pop(queue, { wait: true, timeout: 20_000 });
    await broker.client.parked(1);
    await fill(queue, 1);
    const batch = await within('the woken pop', waiting, 2_000);
    expect(payloads(batch)).toEqual([0]);
  });

  it('is woken by the release of a lease', async () => {
    const queue = broker.queueName();
    await fill(queue, 1);
    const held = await broker.client.pop(queue, { leaseSeconds: 60 });
    const waiting = broker.client.pop(queue, { wait: true, timeout: 20_000 });
    await broker.client.parked(1);
    await broker.client.ack(
      [{ transactionId: 'Default-0', partitionId: held?.partitionId ?? '', status: 'retry' }],
      null,
    );
    expect(payloads(await within('the woken pop', waiting, 2_000))).toEqual([0]);
  });

  it('answers 204 without body and content length when its time is over', async () => {
    const queue = broker.queueName();
    const startMs = performance.now();
    const answer = await broker.client.popRaw(`queue/${queue}`, { wait: true, timeout: 500 });
    const elapsedMs = performance.now() - startMs;
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers).not.toHaveProperty('content-length');
    expect(elapsedMs).toBeGreaterThan(400);
    expect(elapsedMs).toBeLessThan(3_000);
  });

  it('wakes with one push no more waiters than there is work for', async () => {
    const queue = broker.queueName();
    const waiting = Array.from({ length: 5 }, () =>
      broker.client.pop(queue, { wait: true, timeout: 1_500 }),
    );
    await broker.client.parked(5);
    await fill(queue, 1, ['a', 'b']);
    const batches = (await Promise.all(waiting)).filter((batch) => batch !== undefined);
    expect(batches.map(({ partition }) => partition).sort()).toEqual(['a', 'b']);
  });

  it('leaves nothing claimed when its client hangs up', async () => {
    const queue = broker.queueName();
    await broker.client.configure(queue, { leaseTime: 300 });
    const hangUp = new AbortController();
    const waiting = broker.client.popRaw(
      `queue/${queue}`,
      { wait: true, timeout: 60_000 },
      hangUp.signal,
    );
    const outcome = waiting.then(
      () => 'answered',
      () => 'hung up',
    );
    await broker.client.parked(1);
    hangUp.abort();
    expect(await outcome).toBe('hung up');
    await fill(queue, 1);
    const batch = await broker.client.pop(queue, { wait: true, timeout: 10_000 });
    expect(batch?.messages[0]).toMatchObject({ data: 0, deliveryAttempt: 1 });
  });

  it('gives up its place when its client hangs up', async () => {
    const queue = broker.queueName();
    const hangUp = new AbortController();
    const waiting = Array.from({ length: 3 }, () =>
      broker.client
        .popRaw(`queue/${queue}`, { wait: true, timeout: 600_000 }, hangUp.signal)
        .catch(() => undefined),
    );
    await broker.client.parked(3);
    hangUp.abort();
    await Promise.all(waiting);
    await broker.client.parked(0);
  });
});

describe('a subscription', () => {
  it('starts at the oldest message unless it says otherwise', async () => {
    const queue = broker.queueName();
    await fill(queue, 2);
    expect(payloads(await broker.client.pop(queue, { consumerGroup: 'late' }))).toEqual([0, 1]);
  });

  it('of mode new skips what was there and gets what comes', async () => {
    const queue = broker.queueName();
    await fill(queue, 2);
    const group = { consumerGroup: 'fresh', subscriptionMode: 'new' };
    expect(await broker.client.pop(queue, group)).toBeUndefined();
    await broker.client.push([{ queue, payload: 'after' }]);
    expect(payloads(await broker.client.pop(queue, group))).toEqual(['after']);
  });

  it('of mode new reads a partition that came later from its start', async () => {
    const queue = broker.queueName();
    await fill(queue, 1);
    const group = { consumerGroup: 'fresh', subscriptionMode: 'new' };
    expect(await broker.client.pop(queue, group)).toBeUndefined();
    await fill(queue, 2, ['later']);
    expect(payloads(await broker.client.pop(queue, group))).toEqual([0, 1]);
  });

  it('is decided by the first pop: a later mode changes nothing', async () => {
    const queue = broker.queueName();
    await fill(queue, 2);
    await broker.client.pop(queue, { consumerGroup: 'g', subscriptionMode: 'new' });
    const later = { consumerGroup: 'g', subscriptionMode: 'all' };
    expect(await broker.client.pop(queue, later)).toBeUndefined();
  });

  it('from now skips the backlog, and from a time before everything does not', async () => {
    const queue = broker.queueName();
    await fill(queue, 2);
    const now = { consumerGroup: 'now', subscriptionFrom: 'now' };
    expect(await broker.client.pop(queue, now)).toBeUndefined();
    const past = { consumerGroup: 'past', subscriptionFrom: '2020-01-01T00:00:00Z' };
    expect(payloads(await broker.client.pop(queue, past))).toEqual([0, 1]);
  });

  it('does not apply to queue mode, which never skips', async () => {
    const queue = broker.queueName();
    await fill(queue, 2);
    expect(payloads(await broker.client.pop(queue, { subscriptionMode: 'new' }))).toEqual([0, 1]);
  });
});

describe('a discovery pop', () => {
  it('without namespace and task is refused', async () => {
    const answer = await broker.client.request('GET', '/api/v1/pop?namespace=');
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ success: false, messages: [] });
    expect(answer.text).toContain('namespace or task');
  });

  it('takes from every queue with the labels and from no other', async () => {
    const namespace = broker.queueName('space');
    for (const name of ['mail.a', 'mail.b', 'other.c']) await fill(`${namespace}.${name}`, 1);
    await fill(broker.queueName('elsewhere'), 1);
    const batch = await broker.client.discover({ namespace, task: 'mail', partitions: 10 });
    expect(batch).toMatchObject({ queue: '', partitionsClaimed: 2 });
    expect(batch?.messages).toHaveLength(2);
    const rest = await broker.client.discover({ namespace, partitions: 10 });
    expect(rest?.messages).toHaveLength(1);
  });

  it('finds queues by task alone', async () => {
    const task = broker.queueName('task');
    await fill(`${broker.queueName('one')}.${task}`, 1);
    await fill(`${broker.queueName('two')}.${task}`, 1);
    const batch = await broker.client.discover({ task, partitions: 10, batch: 10 });
    expect(batch?.partitionsClaimed).toBe(2);
  });

  it('waits, and is woken by a push in its scope', async () => {
    const namespace = broker.queueName('space');
    await broker.client.pop(`${namespace}.a`);
    const waiting = broker.client.discover({ namespace, wait: true, timeout: 20_000 });
    await broker.client.parked(1);
    await fill(`${namespace}.a`, 1);
    expect(payloads(await within('the woken pop', waiting, 2_000))).toEqual([0]);
  });

  it('creates nothing', async () => {
    const namespace = broker.queueName('space');
    expect(await broker.client.discover({ namespace })).toBeUndefined();
    expect(await broker.client.queues({ namespace })).toEqual([]);
  });
});

describe('a visibility delay', () => {
  it('holds a message back until delayedProcessing is over', async () => {
    const queue = broker.queueName();
    await broker.client.configure(queue, { delayedProcessing: 1 });
    await fill(queue, 1);
    const early = await broker.client.popRaw(`queue/${queue}`, {});
    expect([early.status, early.headers['queen-pop-reason']]).toEqual([204, 'delayed']);
    const batch = await broker.client.pop(queue, { wait: true, timeout: 10_000 });
    expect(payloads(batch)).toEqual([0]);
  });

  it('holds a partition back until it was quiet for windowBuffer', async () => {
    const queue = broker.queueName();
    await broker.client.configure(queue, { windowBuffer: 1 });
    await fill(queue, 1);
    const early = await broker.client.popRaw(`queue/${queue}`, {});
    expect([early.status, early.headers['queen-pop-reason']]).toEqual([204, 'window']);
    const batch = await broker.client.pop(queue, { wait: true, timeout: 10_000 });
    expect(payloads(batch)).toEqual([0]);
  });
});

describe('a batch that its client did not receive', () => {
  it('comes back at once and without a charged attempt', async () => {
    const queue = broker.queueName();
    await broker.client.configure(queue, { leaseTime: 300 });
    // More than the kernel buffers on both sides hold, so the answer cannot have been delivered.
    const payload = 'x'.repeat(1024 * 1024);
    for (let i = 0; i < 6; i += 1) {
      await broker.client.push(Array.from({ length: 8 }, () => ({ queue, payload })));
    }
    await popAndReset(queue);
    const batch = await eventually('the batch to be free again', () =>
      broker.client.pop(queue, { batch: 1 }),
    );
    expect(batch.messages[0]).toMatchObject({ offset: 0, deliveryAttempt: 1 });
  });
});

/** Reads the first bytes of an answer, then resets the connection. */
async function popAndReset(queue: string): Promise<void> {
  const connection = await RawConnection.open(broker.client.url);
  connection.send(`GET /api/v1/pop/queue/${queue} HTTP/1.1\r\nHost: broker\r\n\r\n`);
  await connection.firstByte();
  connection.pause();
  connection.reset();
  await connection.closed();
}
