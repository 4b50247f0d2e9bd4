// Counts over many queues, over an engine.

import { formatTimestampMs } from '@queen-ts/base';
import { partitionIdText } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';

describe('labels', () => {
  test('are rolled up; queues without a label do not count', async () => {
    const { driver, get } = engineEdge();
    driver.push([{ queue: 'x.a' }, { queue: 'x.b' }, { queue: 'x.b', partition: '2' }]);
    driver.configure('bare');
    driver.push({ queue: 'bare' });
    driver.pop({ queue: 'x.a', autoAck: true });
    expect(await get('/api/v1/resources/namespaces')).toEqual({
      namespaces: [
        { namespace: 'x', queues: 2, partitions: 3, messages: { total: 3, pending: 2 } },
      ],
    });
    expect(await get('/api/v1/resources/tasks')).toEqual({
      tasks: [
        { task: 'a', queues: 1, partitions: 1, messages: { total: 1, pending: 0 } },
        { task: 'b', queues: 1, partitions: 2, messages: { total: 2, pending: 2 } },
      ],
    });
  });
});

describe('the overview', () => {
  test('counts everything and measures the lag of the queues that have one', async () => {
    const { driver, get } = engineEdge();
    driver.push([{ queue: 'x.a' }, { queue: 'x.a' }, { queue: 'y.b' }, { queue: 'done.c' }]);
    driver.pop({ queue: 'done.c', autoAck: true });
    driver.wait(100);
    expect(await get('/api/v1/resources/overview')).toEqual({
      queues: 3,
      partitions: 3,
      namespaces: 3,
      tasks: 3,
      messages: { total: 4, pending: 3, processing: 0, completed: 1, failed: 0, deadLetter: 0 },
      lag: {
        time: { avg: 100, median: 0, min: 0, max: 100 },
        offset: { avg: 2, median: 0, min: 0, max: 2 },
      },
      timestamp: formatTimestampMs(driver.nowUs),
      statsAge: 0,
    });
  });
});

describe('the busiest partitions', () => {
  test('come first, with their lag', async () => {
    const { driver, get } = engineEdge();
    driver.push([{ queue: 'a' }, { queue: 'b' }, { queue: 'b' }, { queue: 'b', partition: '2' }]);
    driver.pop({ queue: 'a', autoAck: true });
    driver.wait(5);
    const rows = await get<{ partitions: object[] }>('/api/v1/resources/partitions?limit=3');
    expect(rows.partitions).toEqual([
      {
        queue: 'b',
        partition: 'Default',
        partitionId: partitionIdText(2),
        pending: 2,
        processing: 0,
        lagSeconds: 5,
      },
      {
        queue: 'b',
        partition: '2',
        partitionId: partitionIdText(3),
        pending: 1,
        processing: 0,
        lagSeconds: 5,
      },
      {
        queue: 'a',
        partition: 'Default',
        partitionId: partitionIdText(1),
        pending: 0,
        processing: 0,
        lagSeconds: null,
      },
    ]);
    const own = await get<{ partitions: object[] }>('/api/v1/resources/partitions?queue=a');
    expect(own.partitions).toHaveLength(1);
    expect(await get('/api/v1/resources/partitions?queue=nothing')).toEqual({ partitions: [] });
  });
});

test('refreshing the statistics does nothing and says so', async () => {
  const { send } = engineEdge();
  const { status, text } = await send('POST', '/api/v1/stats/refresh');
  expect(status).toBe(200);
  expect(text).toBe('{"success":true,"refreshed":false,"engine":"raft"}');
});
