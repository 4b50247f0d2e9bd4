// Queue resources over HTTP: detail, depth, sizes, labels, overview, busiest partitions.

import { describe, expect, it } from 'vitest';
import { useBroker } from '../support/use-broker.ts';
import { expectJson } from '../support/http-client.ts';

const broker = useBroker();

interface Counts {
  readonly total: number;
  readonly pending: number;
  readonly processing: number;
}

async function get<T>(path: string): Promise<T> {
  return expectJson<T>(await broker.client.request('GET', `/api/v1/${path}`), 200);
}

async function push(queue: string, partition: string, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({ queue, partition, payload: i }));
  await broker.client.push(items);
}

describe('one queue', () => {
  it('is shown with its partitions, and its totals agree with the list', async () => {
    const queue = broker.queueName();
    await push(queue, 'b', 3);
    await push(queue, 'a', 2);
    await broker.client.popPartition(queue, 'b', { batch: 2, consumerGroup: 'g' });
    const detail = await get<{
      name: string;
      totals: Counts;
      partitions: { id: string; name: string; messages: Counts }[];
    }>(`resources/queues/${queue}`);
    expect(detail.totals).toMatchObject({ total: 5, pending: 5, processing: 2 });
    expect(detail.partitions.map(({ name, messages }) => [name, messages.total])).toEqual([
      ['a', 2],
      ['b', 3],
    ]);
    const row = await broker.client.queueRow(queue);
    expect(row?.messages).toMatchObject({ total: 5, pending: 3, processing: 2 });
    const batch = await broker.client.popPartition(queue, 'a', { consumerGroup: 'g' });
    expect(detail.partitions[0]?.id).toBe(batch?.partitionId);
  });

  it('has a depth that follows every answered write at once', async () => {
    const queue = broker.queueName();
    for (let round = 1; round <= 20; round += 1) {
      await push(queue, 'p', 1);
      const depth = await get<Counts & { ready: number }>(
        `resources/queues/${queue}/depth?group=g`,
      );
      expect(depth).toMatchObject({ pending: round, ready: round });
    }
    await broker.client.pop(queue, { consumerGroup: 'g', batch: 20 });
    const depth = await get<object>(`resources/queues/${queue}/depth?group=g`);
    expect(depth).toMatchObject({ pending: 20, processing: 20, ready: 0 });
  });

  it('has sizes by partition that add up', async () => {
    const queue = broker.queueName();
    await push(queue, 'a', 10);
    await push(queue, 'b', 1);
    const sizes = await get<{ partitions: Record<string, number> }>(
      `resources/queues/${queue}/sizes`,
    );
    const total = Object.values(sizes.partitions).reduce((sum, bytes) => sum + bytes, 0);
    expect(total).toBe((await broker.client.queueRow(queue))?.retainedBytes);
  });

  it('is a 404 before its first push and after its deletion', async () => {
    const queue = broker.queueName();
    const status = async (): Promise<number> =>
      (await broker.client.request('GET', `/api/v1/resources/queues/${queue}`)).status;
    expect(await status()).toBe(404);
    await push(queue, 'p', 1);
    expect(await status()).toBe(200);
    await broker.client.deleteQueue(queue);
    expect(await status()).toBe(404);
  });
});

describe('all queues', () => {
  it('are rolled up by label', async () => {
    const label = broker.queueName('label');
    await push(`${label}.one`, 'a', 1);
    await push(`${label}.two`, 'a', 1);
    await push(`${label}.two`, 'b', 1);
    const { namespaces } = await get<{ namespaces: { namespace: string }[] }>(
      'resources/namespaces',
    );
    expect(namespaces.find(({ namespace }) => namespace === label)).toEqual({
      namespace: label,
      queues: 2,
      partitions: 3,
      messages: { total: 3, pending: 3 },
    });
    const { tasks } = await get<{ tasks: { task: string }[] }>('resources/tasks');
    expect(tasks.map(({ task }) => task)).toEqual(expect.arrayContaining(['one', 'two']));
  });

  it('are counted in the overview and ranked by their backlog', async () => {
    const queue = broker.queueName();
    const before = await get<{ queues: number; messages: Counts }>('resources/overview');
    await push(queue, 'busy', 50);
    await push(queue, 'calm', 1);
    const after = await get<{ queues: number; messages: Counts }>('resources/overview');
    expect(after.queues).toBe(before.queues + 1);
    expect(after.messages.total).toBe(before.messages.total + 51);
    const ranked = await get<{ partitions: { partition: string; pending: number }[] }>(
      `resources/partitions?queue=${queue}&limit=1`,
    );
    expect(ranked.partitions).toMatchObject([{ partition: 'busy', pending: 50 }]);
  });

  it('have a short list, and statistics that need no refresh', async () => {
    const queue = broker.queueName();
    await push(queue, 'p', 1);
    const lanes = await get<{ queues: object[]; stats: string }>(
      `resources/queues?stats=lanes&search=${queue}`,
    );
    expect(lanes).toMatchObject({ stats: 'lanes', queues: [{ name: queue, partitions: 1 }] });
    const refreshed = await broker.client.post('/api/v1/stats/refresh', {});
    expect(refreshed.text).toBe('{"success":true,"refreshed":false,"engine":"raft"}');
  });
});
