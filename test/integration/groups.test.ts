// Consumer groups over HTTP: where they are, where they are sent, and what becomes of their workers.

import { beforeEach, describe, expect, it } from 'vitest';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';

const broker = useBroker();

let queue = '';
let group = '';

async function send<T>(method: string, path: string, value?: unknown, status = 200): Promise<T> {
  const body = value === undefined ? {} : { body: JSON.stringify(value) };
  const answer = await broker.client.request(method, `/api/v1/consumer-groups${path}`, body);
  return expectJson<T>(answer, status);
}

async function push(count: number, partition = 'Default'): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({ queue, partition, payload: i }));
  await broker.client.push(items);
}

async function popOffsets(): Promise<number[]> {
  const batch = await broker.client.pop(queue, { consumerGroup: group, autoAck: true });
  return batch?.messages.map(({ offset }) => offset) ?? [];
}

beforeEach(() => {
  queue = broker.queueName();
  group = `group-of-${queue}`;
});

describe('groups', () => {
  it('are listed with their lag, and shown one by one', async () => {
    await push(5);
    const batch = await broker.client.pop(queue, { consumerGroup: group, batch: 2 });
    const rows = await send<{ name: string }[]>('GET', '');
    expect(rows.find(({ name }) => name === group)).toMatchObject({
      queueName: queue,
      members: 1,
      totalLag: 5,
      state: 'Dead',
      subscriptionMode: 'all',
    });
    const shown = await send<Record<string, { partitions: object[] }>>('GET', `/${group}`);
    expect(shown[queue]?.partitions).toMatchObject([
      { partition: 'Default', workerId: batch?.leaseId, leaseActive: true, offsetLag: 5 },
    ]);
    await send('GET', '/nobody-at-all', undefined, 404);
  });

  it('that lag show up among the lagging cursors', async () => {
    await push(1);
    await broker.client.pop(queue, { consumerGroup: group });
    const lagging = await send<{ consumer_group: string }[]>('GET', '/lagging?minLagSeconds=0');
    expect(lagging.map((row) => row.consumer_group)).toContain(group);
    const none = await send<{ consumer_group: string }[]>('GET', '/lagging?minLagSeconds=1000');
    expect(none.map((row) => row.consumer_group)).not.toContain(group);
  });

  it('have positions that follow every answered ack at once', async () => {
    await push(10);
    for (let offset = 1; offset <= 10; offset += 1) {
      await broker.client.pop(queue, { consumerGroup: group, batch: 1, autoAck: true });
      const { entries } = await send<{ entries: object[] }>('POST', '/positions', {
        consumerGroup: group,
        entries: [{ queue }],
      });
      expect(entries).toEqual([{ queue, partition: 'Default', offset, metadata: '' }]);
    }
  });
});

describe('seeking', () => {
  it('goes back to an instant and on to the end', async () => {
    await push(3);
    const found = await broker.client.post('/api/v1/fetch/offsets', {
      entries: [{ queue, timestamp: 0 }],
    });
    const [row] = expectJson<{ entries: { ts: string }[] }>(found, 200).entries;
    expect(await popOffsets()).toEqual([0, 1, 2]);
    const path = `/${group}/queues/${queue}/seek`;
    const back = await send<object>('POST', path, { timestamp: row?.ts });
    expect(back).toMatchObject({ success: true, partitionsUpdated: 1, seekToEnd: false });
    expect(await popOffsets()).toEqual([0, 1, 2]);
    await send('POST', path, { timestamp: row?.ts });
    await send('POST', `/${group}/queues/${queue}/partitions/Default/seek`, { toEnd: true });
    expect(await popOffsets()).toEqual([]);
  });

  it('takes the lease of whoever is at work', async () => {
    await push(1);
    const batch = await broker.client.pop(queue, { consumerGroup: group });
    await send('POST', `/${group}/queues/${queue}/seek`);
    const [message] = batch?.messages ?? [];
    const [verdict] = await broker.client.ack(
      [
        {
          transactionId: message?.transactionId ?? '',
          partitionId: batch?.partitionId ?? '',
          leaseId: batch?.leaseId ?? '',
        },
      ],
      group,
    );
    expect(verdict?.success).toBe(false);
    expect(verdict?.error).toMatch(/invalid or expired lease/i);
  });

  it('moves every one of many partitions, over several entries of the log', async () => {
    const items = Array.from({ length: 6000 }, (_, i) => ({
      queue,
      partition: `p${i}`,
      payload: i,
    }));
    await broker.client.push(items);
    const moved = await send<{ partitionsUpdated: number }>(
      'POST',
      `/${group}/queues/${queue}/seek`,
      { toEnd: true },
    );
    expect(moved.partitionsUpdated).toBe(6000);
    expect(await popOffsets()).toEqual([]);
    const deleted = await send<object>('DELETE', `/${group}/queues/${queue}`);
    expect(deleted).toMatchObject({ deletedPartitions: 6000, queues: [queue] });
  });

  it('finds nothing where nothing is', async () => {
    const missing = await send<object>('POST', `/${group}/queues/${queue}/seek`, undefined, 404);
    expect(missing).toMatchObject({ success: false, partitionsUpdated: 0 });
  });
});

describe('deleting and resubscribing', () => {
  it('makes a group start over, from where it is told', async () => {
    await push(2);
    expect(await popOffsets()).toEqual([0, 1]);
    const deleted = await send<object>('DELETE', `/${group}`);
    expect(deleted).toMatchObject({ metadataDeleted: true, deletedPartitions: 1, queues: [queue] });
    expect(await popOffsets()).toEqual([0, 1]);
    await send('DELETE', `/${group}?deleteMetadata=false`);
    const subscriptionTimestamp = new Date(Date.now() + 3_600_000).toISOString();
    const rewritten = await send<object>('POST', `/${group}/subscription`, {
      subscriptionTimestamp,
    });
    expect(rewritten).toMatchObject({ success: true, rowsUpdated: 1 });
    expect(await popOffsets()).toEqual([]);
  });
});
