// Ending and starting again: in order and by a crash, with everything that clients were told intact.

import { afterEach, describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { eventually } from '../support/eventually.ts';
import type { HttpClient } from '../support/http-client.ts';

const STOP_DEADLINE_MS = 10_000;

const brokers: BrokerProcess[] = [];

afterEach(async () => {
  for (const broker of brokers.splice(0)) await broker.dispose();
});

async function launch(): Promise<BrokerProcess> {
  const broker = await BrokerProcess.launch();
  brokers.push(broker);
  return broker;
}

async function push(client: HttpClient, queue: string, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({
    queue,
    payload: i,
    transactionId: `t-${i}`,
  }));
  await client.push(items);
}

describe('SIGTERM', () => {
  it('ends an idle broker with exit code 0', async () => {
    const broker = await launch();
    expect(await broker.terminate(STOP_DEADLINE_MS)).toEqual({ code: 0, signal: null });
  });

  it('ends it while pops are waiting, and every one of them gets an answer', async () => {
    const broker = await launch();
    await push(broker.client, 'q', 1);
    await broker.client.pop('q', { autoAck: true });
    const waiting = Array.from({ length: 20 }, () =>
      broker.client.popRaw('queue/q', { wait: true, timeout: 60_000 }),
    );
    await broker.client.parked(20);
    const exit = await broker.terminate(STOP_DEADLINE_MS);
    expect(exit).toEqual({ code: 0, signal: null });
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    expect(statuses.every((status) => status === 204 || status === 503)).toBe(true);
  });

  it('ends it under load, and every push that was answered is there afterwards', async () => {
    const broker = await launch();
    const { client } = broker;
    const queued = new Set<string>();
    let requests = 0;
    const load = Array.from({ length: 8 }, async (_, connection) => {
      for (let i = 0; ; i += 1) {
        const transactionId = `${connection}-${i}`;
        const body = JSON.stringify({ items: [{ queue: 'q', payload: i, transactionId }] });
        const answer = await client
          .request('POST', '/api/v1/push', { body })
          .catch(() => undefined);
        if (answer?.status !== 201) return;
        queued.add(transactionId);
        requests += 1;
      }
    });
    await eventually('some pushes', () => requests > 50);
    expect(await broker.terminate(STOP_DEADLINE_MS)).toEqual({ code: 0, signal: null });
    await Promise.all(load);
    await broker.start();
    const found = new Set<string>();
    for (;;) {
      const batch = await broker.client.pop('q', { autoAck: true, batch: 1000 });
      if (batch === undefined) break;
      for (const { transactionId } of batch.messages) found.add(transactionId);
    }
    expect([...queued].filter((id) => !found.has(id))).toEqual([]);
  });

  it('sent twice at once ends it no differently', async () => {
    const broker = await launch();
    const waiting = broker.client
      .popRaw('queue/q', { wait: true, timeout: 60_000 })
      .catch(() => undefined);
    await broker.client.parked(1);
    const [first, second] = await Promise.allSettled([
      broker.terminate(STOP_DEADLINE_MS),
      broker.terminate(STOP_DEADLINE_MS),
    ]);
    const exit = { status: 'fulfilled', value: { code: 0, signal: null } };
    expect([first, second]).toEqual([exit, exit]);
    await waiting;
  });

  it('SIGINT is understood too', async () => {
    const broker = await launch();
    expect(await broker.terminate(STOP_DEADLINE_MS, 'SIGINT')).toEqual({ code: 0, signal: null });
  });
});

describe.each(['SIGTERM', 'SIGKILL'] as const)(
  'after %s and a new start, a broker still has',
  (how) => {
    async function restart(broker: BrokerProcess): Promise<HttpClient> {
      if (how === 'SIGTERM') await broker.terminate();
      else await broker.kill();
      await broker.start();
      return broker.client;
    }

    it('its messages, byte for byte, and goes on numbering after them', async () => {
      const broker = await launch();
      const payload = '{ "n":9007199254740993,"x":1.0 }';
      const body = `{"items":[{"queue":"q","payload":${payload},"transactionId":"t"}]}`;
      await broker.client.request('POST', '/api/v1/push', { body });
      const client = await restart(broker);
      const [verdict] = await client.push([{ queue: 'q', payload: 'later' }]);
      expect(verdict?.offset).toBe(1);
      const answer = await client.popRaw('queue/q', {});
      expect(answer.text).toContain(`"data":${payload},"producerSub":null`);
    });

    it('its cursors, groups and subscriptions', async () => {
      const broker = await launch();
      await push(broker.client, 'q', 5);
      await broker.client.pop('q', { consumerGroup: 'done', autoAck: true, batch: 3 });
      const fresh = { consumerGroup: 'fresh', subscriptionMode: 'new' };
      expect(await broker.client.pop('q', fresh)).toBeUndefined();
      const client = await restart(broker);
      const done = await client.pop('q', { consumerGroup: 'done' });
      expect(done?.messages.map(({ offset }) => offset)).toEqual([3, 4]);
      expect(await client.pop('q', { consumerGroup: 'fresh' })).toBeUndefined();
      await client.push([{ queue: 'q', payload: 'after' }]);
      const after = await client.pop('q', { consumerGroup: 'fresh' });
      expect(after?.messages.map(({ data }) => data)).toEqual(['after']);
    });

    it('its leases: they exclude others, and their holder may acknowledge', async () => {
      const broker = await launch();
      await push(broker.client, 'q', 2);
      const held = await broker.client.pop('q', { consumerGroup: 'g', leaseSeconds: 300 });
      const client = await restart(broker);
      expect(await client.pop('q', { consumerGroup: 'g' })).toBeUndefined();
      const { partitionId = '', leaseId = '' } = held ?? {};
      expect(await client.ack([{ transactionId: 't-1', partitionId, leaseId }], 'g')).toMatchObject(
        [{ success: true, leaseReleased: true }],
      );
      expect(await client.pop('q', { consumerGroup: 'g' })).toBeUndefined();
    });

    it('its expiring leases: they end, and the attempt is counted on', async () => {
      const broker = await launch();
      await push(broker.client, 'q', 1);
      await broker.client.pop('q', { leaseSeconds: 1 });
      const client = await restart(broker);
      const again = await client.pop('q', { wait: true, timeout: 10_000 });
      expect(again?.messages[0]).toMatchObject({ data: 0, deliveryAttempt: 2 });
    });

    it('its memory of transaction ids', async () => {
      const broker = await launch();
      const item = { queue: 'q', payload: 1, transactionId: 't' };
      const [original] = await broker.client.push([item]);
      const client = await restart(broker);
      expect(await client.push([item])).toEqual([{ ...original, status: 'duplicate' }]);
    });

    it('its dead letters and retry counts', async () => {
      const broker = await launch();
      await broker.client.configure('q', { retryLimit: 1 });
      await push(broker.client, 'q', 2);
      const fail = async (client: HttpClient): Promise<boolean | undefined> => {
        const batch = await client.pop('q', { batch: 1 });
        const { partitionId = '', leaseId = '', messages = [] } = batch ?? {};
        const transactionId = messages[0]?.transactionId ?? '';
        const named = { transactionId, partitionId, leaseId, status: 'failed' };
        return (await client.ack([named]))[0]?.dlq;
      };
      expect(await fail(broker.client)).toBe(false);
      const client = await restart(broker);
      expect(await fail(client)).toBe(true);
      const again = await restart(broker);
      expect((await again.queueRow('q'))?.messages).toMatchObject({ deadLetter: 1, total: 2 });
    });

    it('its queue options, and forgets deleted queues', async () => {
      const broker = await launch();
      const configured = await broker.client.configure('kept', { leaseTime: 7, namespace: 'n' });
      await push(broker.client, 'gone', 1);
      await broker.client.deleteQueue('gone');
      const client = await restart(broker);
      expect(await client.queues()).toMatchObject([
        { id: configured.queueId, name: 'kept', namespace: 'n', options: configured.options },
      ]);
      const [verdict] = await client.push([{ queue: 'gone', payload: 1, transactionId: 't-0' }]);
      expect(verdict).toMatchObject({ status: 'queued', offset: 0 });
    });
  },
);
