// Consumer groups over an engine.

import { formatTimestampMs, formatTimestampUs, formatUuid } from '@queen-ts/base';
import { partitionIdText, QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';
import type { EngineEdge } from '../testing/engine-edge.ts';

const GROUPS = '/api/v1/consumer-groups';

let edge: EngineEdge;

beforeEach(() => {
  edge = engineEdge();
});

describe('the list of groups', () => {
  test('has a row for every group of every queue, in order', async () => {
    edge.driver.push([{ queue: 'b' }, { queue: 'b' }, { queue: 'a' }]);
    edge.driver.pop({ queue: 'b', group: 'g', batch: 1, autoAck: true });
    const registered = formatTimestampUs(edge.driver.nowUs);
    edge.driver.pop({ queue: 'a', group: 'g', subscription: { mode: 'new' }, autoAck: true });
    edge.driver.pop({ queue: 'a', autoAck: true });
    edge.driver.wait(301);
    const rows = await edge.get<Record<string, unknown>[]>(GROUPS);
    expect(rows.map((row) => `${String(row['name'])} ${String(row['queueName'])}`)).toEqual([
      `${QUEUE_MODE_GROUP} a`,
      'g b',
    ]);
    expect(Object.keys(rows[0] ?? {}).join()).toBe(
      'name,topics,queueName,members,partitionCursors,partitionsWithLag,totalLag,maxTimeLag,state,' +
        'storage,kind,subscriptionMode,subscriptionTimestamp,subscriptionCreatedAt,conflation',
    );
    expect(rows[0]).toMatchObject({ state: 'Stable', subscriptionMode: null, totalLag: 0 });
    expect(rows[1]).toEqual({
      name: 'g',
      topics: ['b'],
      queueName: 'b',
      members: 1,
      partitionCursors: 1,
      partitionsWithLag: 1,
      totalLag: 1,
      maxTimeLag: 301,
      state: 'Lagging',
      storage: 'segments',
      kind: 'queen',
      subscriptionMode: 'all',
      subscriptionTimestamp: '1970-01-01T00:00:00.000000Z',
      subscriptionCreatedAt: registered,
      conflation: false,
    });
  });

  test('calls a group dead that never consumed', async () => {
    edge.driver.push({ queue: 'q' });
    const { lease } = edge.driver.pop({ queue: 'q', group: 'g' });
    edge.driver.release(lease);
    expect(await edge.get(GROUPS)).toMatchObject([{ name: 'g', state: 'Dead' }]);
  });
});

describe('one group', () => {
  test('shows its cursors by queue', async () => {
    edge.driver.push([{ queue: 'a' }, { queue: 'a' }, { queue: 'b' }]);
    edge.driver.pop({ queue: 'a', group: 'g', batch: 1, autoAck: true });
    const { lease } = edge.driver.pop({ queue: 'b', group: 'g' });
    edge.driver.wait(5);
    const { text, body } = await edge.send('GET', `${GROUPS}/g`);
    expect(text).toMatch(
      /^\{"a":\{"conflation":false,"kind":"queen","partitions":\[\{"partition":/,
    );
    expect(body).toMatchObject({
      a: {
        partitions: [
          {
            partition: 'Default',
            workerId: null,
            lastConsumedAt: null,
            totalConsumed: 1,
            offsetLag: 1,
            timeLagSeconds: 5,
            leaseActive: false,
          },
        ],
      },
      b: { partitions: [{ workerId: formatUuid(lease), totalConsumed: 0, leaseActive: true }] },
    });
  });

  test('is a 404 without a cursor', async () => {
    const { status, body } = await edge.send('GET', `${GROUPS}/nobody`);
    expect(status).toBe(404);
    expect(body).toEqual({ error: 'Consumer group not found' });
  });
});

test('a group called lagging is shown where its name is spelled another way', async () => {
  edge.driver.push({ queue: 'q' });
  edge.driver.pop({ queue: 'q', group: 'lagging' });
  expect(await edge.get(`${GROUPS}/lagging`)).toEqual([]);
  expect(await edge.get(`${GROUPS}/%6Cagging`)).toMatchObject({ q: { kind: 'queen' } });
});

describe('lagging cursors', () => {
  test('come oldest first and only beyond the minimum', async () => {
    edge.driver.push({ queue: 'old' });
    const oldest = edge.driver.nowUs;
    edge.driver.pop({ queue: 'old', group: 'g', leaseSeconds: 1 });
    edge.driver.wait(1800);
    edge.driver.push({ queue: 'young', partition: 'p' });
    edge.driver.pop({ queue: 'young', group: 'g', leaseSeconds: 1 });
    edge.driver.wait(1900);
    expect(await edge.get(`${GROUPS}/lagging`)).toEqual([
      {
        consumer_group: 'g',
        queue_name: 'old',
        partition_name: 'Default',
        partition_id: partitionIdText(1),
        worker_id: null,
        kind: 'queen',
        offset_lag: 1,
        time_lag_seconds: 3700,
        lag_hours: 1.03,
        oldest_unconsumed_at: formatTimestampMs(oldest),
        last_consumed_at: null,
      },
    ]);
    const all = await edge.get<{ queue_name: string }[]>(`${GROUPS}/lagging?minLagSeconds=60`);
    expect(all.map((row) => row.queue_name)).toEqual(['old', 'young']);
  });
});

describe('positions', () => {
  test('are read for the named partitions, in their order', async () => {
    edge.driver.push([{ queue: 'q' }, { queue: 'q' }, { queue: 'q', partition: '7' }]);
    edge.driver.pop({ queue: 'q', partition: 'Default', group: 'g', batch: 1, autoAck: true });
    const entries = [{ queue: 'q', partition: 7 }, { queue: 'q' }, { queue: 'x', partition: 'p' }];
    const { text } = await edge.send('POST', `${GROUPS}/positions`, {
      consumerGroup: 'g',
      entries,
    });
    expect(text).toBe(
      '{"consumerGroup":"g","entries":[{"queue":"q","partition":"7","offset":null},' +
        '{"queue":"q","partition":"Default","offset":1,"metadata":""},' +
        '{"queue":"x","partition":"p","offset":null}]}',
    );
    const all = await edge.send('POST', `${GROUPS}/positions`, { consumerGroup: 'g' });
    expect(all.body).toMatchObject({ entries: [{ queue: 'q', partition: 'Default', offset: 1 }] });
    expect(edge.broker.reads.every(({ from }) => from === 'leader')).toBe(true);
  });

  test.each([['{'], ['{}'], ['{"consumerGroup":"g","entries":[{}]}']])(
    'refuse %s',
    async (body) => {
      const { status } = await edge.send('POST', `${GROUPS}/positions`, body);
      expect(status).toBe(400);
    },
  );

  test('are the only thing that is posted to that place', async () => {
    expect((await edge.send('POST', `${GROUPS}/someone`, {})).status).toBe(405);
  });
});

describe('deleting a group', () => {
  beforeEach(() => {
    edge.driver.push([{ queue: 'a' }, { queue: 'b' }]);
    for (const queue of ['a', 'b']) edge.driver.pop({ queue, group: 'g', autoAck: true });
  });

  test('from all queues', async () => {
    const { text } = await edge.send('DELETE', `${GROUPS}/g`);
    expect(text).toBe(
      '{"success":true,"consumerGroup":"g","queueName":null,"deletedPartitions":2,' +
        '"metadataDeleted":true,"queues":["a","b"]}',
    );
    expect(edge.driver.pop({ queue: 'a', group: 'g' }).messages).toHaveLength(1);
  });

  test('from one queue, which may know nothing of it', async () => {
    const deleted = await edge.send('DELETE', `${GROUPS}/g/queues/a`);
    expect(deleted.body).toMatchObject({ queueName: 'a', deletedPartitions: 1, queues: ['a'] });
    const again = await edge.send('DELETE', `${GROUPS}/g/queues/a`);
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({
      success: true,
      deletedPartitions: 0,
      metadataDeleted: false,
      queues: [],
    });
  });

  test('but not its registration', async () => {
    const { body } = await edge.send('DELETE', `${GROUPS}/g?deleteMetadata=false`);
    expect(body).toMatchObject({ deletedPartitions: 2, metadataDeleted: false });
  });
});

describe('rewriting a subscription', () => {
  test('changes every queue where the group is registered', async () => {
    edge.driver.push([{ queue: 'a' }, { queue: 'b' }]);
    for (const queue of ['a', 'b']) edge.driver.pop({ queue, group: 'g' });
    const at = '2030-01-02T03:04:05Z';
    const { text } = await edge.send('POST', `${GROUPS}/g/subscription`, {
      subscriptionTimestamp: at,
    });
    expect(text).toBe(
      `{"success":true,"consumerGroup":"g","newTimestamp":"${at}","rowsUpdated":2}`,
    );
    const rows = await edge.get<Record<string, unknown>[]>(GROUPS);
    expect(rows[0]).toMatchObject({ subscriptionMode: 'timestamp' });
    expect(rows[0]?.['subscriptionTimestamp']).toBe('2030-01-02T03:04:05.000000Z');
  });

  test.each(['{}', '{"subscriptionTimestamp":"soon"}', ''])('refuses %s', async (body) => {
    const { status } = await edge.send('POST', `${GROUPS}/g/subscription`, body);
    expect(status).toBe(400);
  });
});

describe('seeking', () => {
  beforeEach(() => {
    edge.driver.push([{ queue: 'q' }, { queue: 'q', partition: 'p' }]);
    edge.driver.wait(10);
    edge.driver.push({ queue: 'q' });
  });

  test.each([['{"toEnd":true}'], [''], ['{"toEnd":true,"timestamp":"2030-01-01T00:00:00Z"}']])(
    'to the end with %s',
    async (body) => {
      const { text } = await edge.send('POST', `${GROUPS}/g/queues/q/seek`, body);
      expect(text).toBe(
        '{"success":true,"consumerGroup":"g","queueName":"q","partitionName":null,' +
          '"seekToEnd":true,"targetTimestamp":null,"partitionsUpdated":2,"updated":true}',
      );
      expect(edge.driver.pop({ queue: 'q', group: 'g' }).messages).toEqual([]);
    },
  );

  test('to an instant, in one partition', async () => {
    const timestamp = formatTimestampUs(edge.driver.nowUs - 5_000_000);
    const path = `${GROUPS}/g/queues/q/partitions/Default/seek`;
    const { body } = await edge.send('POST', path, { timestamp });
    expect(body).toMatchObject({
      partitionName: 'Default',
      seekToEnd: false,
      targetTimestamp: timestamp,
      partitionsUpdated: 1,
    });
    const { messages } = edge.driver.pop({ queue: 'q', partition: 'Default', group: 'g' });
    expect(messages.map(({ offset }) => offset)).toEqual([1]);
  });

  test.each(['{}', '{"timestamp":"soon"}', '{"toEnd":false}'])('refuses %s', async (body) => {
    const { status, body: answer } = await edge.send('POST', `${GROUPS}/g/queues/q/seek`, body);
    expect(status).toBe(400);
    expect(answer).toMatchObject({ success: false });
  });

  test.each(['nothing/seek', 'q/partitions/nothing/seek'])('finds no %s', async (rest) => {
    const { status, body } = await edge.send('POST', `${GROUPS}/g/queues/${rest}`);
    expect(status).toBe(404);
    expect(body).toMatchObject({ success: false, consumerGroup: 'g', partitionsUpdated: 0 });
  });

  test('refuses a group whose name is too long', async () => {
    const path = `${GROUPS}/${'g'.repeat(411)}/queues/q/seek`;
    expect((await edge.send('POST', path)).status).toBe(413);
  });
});
