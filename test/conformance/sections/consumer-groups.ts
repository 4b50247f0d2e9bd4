// §9 of the reference: consumer groups.

import { expect } from 'vitest';
import { expectJson } from '../../support/http-client.ts';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectError, expectKeys, first, MICROSECONDS, MILLISECONDS, payloads } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';

const ROW_KEYS =
  'name topics queueName members partitionCursors partitionsWithLag totalLag maxTimeLag state storage kind subscriptionMode subscriptionTimestamp subscriptionCreatedAt conflation';
const CURSOR_KEYS =
  'partition workerId lastConsumedAt totalConsumed offsetLag timeLagSeconds leaseActive';
const LAGGING_KEYS =
  'consumer_group queue_name partition_name partition_id worker_id kind offset_lag time_lag_seconds lag_hours oldest_unconsumed_at last_consumed_at';
const SEEK_KEYS =
  'success consumerGroup queueName partitionName seekToEnd targetTimestamp partitionsUpdated updated';
const DELETE_KEYS = 'success consumerGroup queueName deletedPartitions metadataDeleted queues';

/** Two messages, one of them consumed by the case's group. */
async function reading(scene: Scene): Promise<void> {
  await scene.fill(2);
  await scene.claim({ consumerGroup: scene.group, autoAck: true, batch: 1 });
}

async function rowOf(scene: Scene, name = scene.group): Promise<Json | undefined> {
  const rows = await scene.get<Json[]>('/consumer-groups');
  return rows.find((row) => row['name'] === name && row['queueName'] === scene.queue);
}

async function laggingOf(scene: Scene, minLagSeconds: number): Promise<Json[]> {
  const rows = await scene.get<Json[]>(`/consumer-groups/lagging?minLagSeconds=${minLagSeconds}`);
  return rows.filter((row) => row['consumer_group'] === scene.group);
}

async function seek(scene: Scene, body: unknown, status = 200, partition = ''): Promise<Json> {
  const path = `/consumer-groups/${scene.group}/queues/${scene.queue}${partition}/seek`;
  return expectJson<Json>(await scene.send('POST', path, body), status);
}

async function remove(scene: Scene, rest = ''): Promise<Json> {
  const answer = await scene.send('DELETE', `/consumer-groups/${scene.group}${rest}`);
  return expectJson<Json>(answer, 200);
}

async function popGroup(scene: Scene): Promise<unknown[]> {
  return payloads(await scene.pop({ consumerGroup: scene.group, autoAck: true }));
}

const listing: readonly Rule[] = [
  rule('§9 the list is a bare array', async (scene) => {
    await reading(scene);
    expect((await scene.send('GET', '/consumer-groups')).text).toMatch(/^\[\{/);
  }),
  rule('§9 a row has its keys in order', async (scene) => {
    await reading(scene);
    expectKeys(await rowOf(scene), ROW_KEYS);
  }),
  rule('§9 a row says who reads what and how far', async (scene) => {
    await reading(scene);
    expect(await rowOf(scene)).toMatchObject({
      topics: [scene.queue],
      members: 1,
      partitionCursors: 1,
      partitionsWithLag: 1,
      totalLag: 1,
      storage: 'segments',
      kind: 'queen',
      conflation: false,
    });
  }),
  rule('§9 members counts partition cursors', async (scene) => {
    for (const partition of ['a', 'b', 'c']) await scene.fill(1, { partition });
    await scene.claim({ consumerGroup: scene.group, partitions: 3 });
    expect(await rowOf(scene)).toMatchObject({ members: 3, partitionCursors: 3 });
  }),
  rule('§9 queue mode is listed, without subscription', async (scene) => {
    await scene.fill(1);
    await scene.claim();
    expect(await rowOf(scene, '__QUEUE_MODE__')).toMatchObject({
      subscriptionMode: null,
      subscriptionTimestamp: null,
      subscriptionCreatedAt: null,
    });
  }),
  rule('§9 a group that consumed something is Stable', async (scene) => {
    await reading(scene);
    expect(await rowOf(scene)).toMatchObject({ state: 'Stable' });
  }),
  rule('§9 a group that never consumed is Dead', async (scene) => {
    await scene.fill(1);
    await scene.claim({ consumerGroup: scene.group });
    expect(await rowOf(scene)).toMatchObject({ state: 'Dead' });
  }),
  rule('§9 mode all has the epoch as timestamp', async (scene) => {
    await reading(scene);
    const row = await rowOf(scene);
    expect(row?.['subscriptionMode']).toBe('all');
    expect(row?.['subscriptionTimestamp']).toMatch(/^1970-01-01T00:00:00/);
    expect(row?.['subscriptionCreatedAt']).toMatch(MICROSECONDS);
  }),
  rule('§9 mode new is named with its instant', async (scene) => {
    const query = { consumerGroup: scene.group, subscriptionMode: 'new' };
    await scene.pop(query);
    await scene.fill(1);
    await scene.claimLater(query);
    const row = await rowOf(scene);
    expect(row?.['subscriptionMode']).toBe('new');
    expect(row?.['subscriptionTimestamp']).toMatch(MICROSECONDS);
  }),
  rule('§9 a subscription from an instant is mode timestamp', async (scene) => {
    await scene.fill(1);
    await scene.claim({ consumerGroup: scene.group, subscriptionFrom: '2020-01-01T00:00:00Z' });
    expect(await rowOf(scene)).toMatchObject({
      subscriptionMode: 'timestamp',
      subscriptionTimestamp: '2020-01-01T00:00:00.000000Z',
    });
  }),
  rule('§9 the list is ordered by group, then queue', async (scene) => {
    for (const word of ['b', 'a']) {
      await scene.fill(1, { queue: scene.name(word) });
      await scene.client.pop(scene.name(word), { consumerGroup: scene.group });
    }
    const rows = await scene.get<Json[]>('/consumer-groups');
    const mine = rows.filter((row) => row['name'] === scene.group);
    expect(mine.map((row) => row['queueName'])).toEqual([scene.name('a'), scene.name('b')]);
  }),
  rule('§9 one group is shown by queue', async (scene) => {
    await reading(scene);
    const body = await scene.get<Record<string, Json & { partitions: Json[] }>>(
      `/consumer-groups/${scene.group}`,
    );
    expect(Object.keys(body)).toEqual([scene.queue]);
    expectKeys(body[scene.queue], 'conflation kind partitions');
    expectKeys(body[scene.queue]?.partitions[0], CURSOR_KEYS);
    expect(body[scene.queue]).toMatchObject({
      kind: 'queen',
      partitions: [
        {
          partition: 'Default',
          lastConsumedAt: null,
          totalConsumed: 1,
          offsetLag: 1,
          leaseActive: false,
        },
      ],
    });
  }),
  rule('§9 a leased cursor is shown as active', async (scene) => {
    await scene.fill(1);
    await scene.claim({ consumerGroup: scene.group });
    const body = await scene.get(`/consumer-groups/${scene.group}`);
    expect(body[scene.queue]).toMatchObject({ partitions: [{ leaseActive: true }] });
  }),
  rule('§9 an unknown group is a 404', async (scene) => {
    const body = expectError(await scene.send('GET', `/consumer-groups/${scene.group}`), 404);
    expect(body['error']).toMatch(/not found/i);
  }),
  rule('§9 lagging cursors have their keys in order', async (scene) => {
    await reading(scene);
    const [row] = await laggingOf(scene, 0);
    expectKeys(row, LAGGING_KEYS);
    expect(row).toMatchObject({
      queue_name: scene.queue,
      partition_name: 'Default',
      kind: 'queen',
      offset_lag: 1,
      last_consumed_at: null,
    });
    expect(row?.['oldest_unconsumed_at']).toMatch(MILLISECONDS);
  }),
  rule('§9 lagging leaves out who is not behind enough', async (scene) => {
    await reading(scene);
    expect(await laggingOf(scene, 3600)).toEqual([]);
  }),
  rule('§9 lagging is over an hour by default', async (scene) => {
    await reading(scene);
    const rows = await scene.get<Json[]>('/consumer-groups/lagging');
    expect(rows.filter((row) => row['consumer_group'] === scene.group)).toEqual([]);
  }),
  rule('§9 lagging leaves out who has read everything', async (scene) => {
    await scene.fill(1);
    await scene.claim({ consumerGroup: scene.group, autoAck: true });
    expect(await laggingOf(scene, 0)).toEqual([]);
  }),
];

const positions: readonly Rule[] = [
  rule('§9 positions have their keys in order', async (scene) => {
    await reading(scene);
    const body = await scene.post<Json & { entries: Json[] }>('/consumer-groups/positions', {
      consumerGroup: scene.group,
      entries: [{ queue: scene.queue }],
    });
    expectKeys(body, 'consumerGroup entries');
    expectKeys(body.entries[0], 'queue partition offset metadata');
  }),
  rule('§9 a position is committed + 1', async (scene) => {
    await reading(scene);
    expect(
      await scene.post('/consumer-groups/positions', {
        consumerGroup: scene.group,
        entries: [{ queue: scene.queue }],
      }),
    ).toMatchObject({ entries: [{ queue: scene.queue, partition: 'Default', offset: 1 }] });
  }),
  rule('§9 a missing position is null and has no metadata', async (scene) => {
    const { entries } = await scene.post<{ entries: Json[] }>('/consumer-groups/positions', {
      consumerGroup: scene.group,
      entries: [{ queue: scene.queue, partition: 'p' }],
    });
    expect(entries).toEqual([{ queue: scene.queue, partition: 'p', offset: null }]);
  }),
  rule('§9 positions come one per entry, in order', async (scene) => {
    await reading(scene);
    const names = ['z', 'Default', 'a'];
    const { entries } = await scene.post<{ entries: Json[] }>('/consumer-groups/positions', {
      consumerGroup: scene.group,
      entries: names.map((partition) => ({ queue: scene.queue, partition })),
    });
    expect(entries.map(({ partition }) => partition)).toEqual(names);
  }),
  rule('§9 without entries all positions of the group come', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    await scene.claim({ consumerGroup: scene.group, autoAck: true, partitions: 2 });
    const { entries } = await scene.post<{ entries: Json[] }>('/consumer-groups/positions', {
      consumerGroup: scene.group,
    });
    expect(entries.map(({ offset }) => offset)).toEqual([1, 1]);
  }),
  rule('§9 positions follow every answered write', async (scene) => {
    await scene.fill(5);
    for (let offset = 1; offset <= 5; offset += 1) {
      await scene.claim({ consumerGroup: scene.group, autoAck: true, batch: 1 });
      const body = { consumerGroup: scene.group, entries: [{ queue: scene.queue }] };
      expect(await scene.post('/consumer-groups/positions', body)).toMatchObject({
        entries: [{ offset }],
      });
    }
  }),
  ...['', '{}', '{"consumerGroup":7}', '{"consumerGroup":"g","entries":7}'].map((body) =>
    rule(`§9 positions refuse the body ${JSON.stringify(body)}`, async (scene) => {
      expectError(await scene.text('/consumer-groups/positions', body), 400);
    }),
  ),
];

const removal: readonly Rule[] = [
  rule('§9 deleting a group has its keys in order', async (scene) => {
    await reading(scene);
    const body = await remove(scene);
    expectKeys(body, DELETE_KEYS);
    expect(body).toEqual({
      success: true,
      consumerGroup: scene.group,
      queueName: null,
      deletedPartitions: 1,
      metadataDeleted: true,
      queues: [scene.queue],
    });
  }),
  rule('§9 deleting a group makes it start over', async (scene) => {
    await reading(scene);
    await remove(scene);
    expect(await popGroup(scene)).toEqual([0, 1]);
  }),
  rule('§9 deleting a group that is none is 200', async (scene) => {
    expect(await remove(scene)).toMatchObject({
      success: true,
      deletedPartitions: 0,
      metadataDeleted: false,
      queues: [],
    });
  }),
  rule('§9 deleting a group takes all its queues', async (scene) => {
    for (const word of ['a', 'b']) {
      await scene.fill(1, { queue: scene.name(word) });
      await scene.client.pop(scene.name(word), { consumerGroup: scene.group });
    }
    const { queues } = await remove(scene);
    expect((queues as string[]).toSorted()).toEqual([scene.name('a'), scene.name('b')]);
  }),
  rule('§9 deleting a group from one queue leaves the others', async (scene) => {
    for (const word of ['a', 'b']) {
      await scene.fill(1, { queue: scene.name(word) });
      await scene.client.pop(scene.name(word), { consumerGroup: scene.group });
    }
    const body = await remove(scene, `/queues/${scene.name('a')}`);
    expectKeys(body, DELETE_KEYS);
    expect(body).toMatchObject({ queueName: scene.name('a'), queues: [scene.name('a')] });
    expect(Object.keys(await scene.get(`/consumer-groups/${scene.group}`))).toEqual([
      scene.name('b'),
    ]);
  }),
  rule('§9 deleting from a missing queue is 200', async (scene) => {
    expect(await remove(scene, `/queues/${scene.queue}`)).toMatchObject({
      success: true,
      deletedPartitions: 0,
    });
  }),
  rule('§9 deleteMetadata=false keeps the registration', async (scene) => {
    const query = { consumerGroup: scene.group, subscriptionMode: 'new' };
    await scene.pop(query);
    expect(await remove(scene, '?deleteMetadata=false')).toMatchObject({ metadataDeleted: false });
    expect(await remove(scene)).toMatchObject({ metadataDeleted: true });
  }),
  rule('§9 any other deleteMetadata is true', async (scene) => {
    await reading(scene);
    expect(await remove(scene, '?deleteMetadata=0')).toMatchObject({ metadataDeleted: true });
  }),
  rule('§9 a lease of a deleted group is gone', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    await remove(scene);
    expect(await scene.ackAll(batch, scene.group)).toMatchObject([{ success: false }]);
  }),
];

const subscribing: readonly Rule[] = [
  rule('§9 subscription rewrites the stored instant', async (scene) => {
    await scene.pop({ consumerGroup: scene.group });
    const subscriptionTimestamp = '2099-01-01T00:00:00Z';
    const path = `/consumer-groups/${scene.group}/subscription`;
    const body = await scene.post(path, { subscriptionTimestamp });
    expectKeys(body, 'success consumerGroup newTimestamp rowsUpdated');
    expect(body).toMatchObject({
      success: true,
      newTimestamp: subscriptionTimestamp,
      rowsUpdated: 1,
    });
    await scene.fill(1);
    expect(await popGroup(scene)).toEqual([]);
  }),
  rule('§9 subscription leaves existing cursors alone', async (scene) => {
    await reading(scene);
    const path = `/consumer-groups/${scene.group}/subscription`;
    await scene.post(path, { subscriptionTimestamp: '2099-01-01T00:00:00Z' });
    expect(await popGroup(scene)).toEqual([1]);
  }),
  rule('§9 subscription of an unknown group updates nothing', async (scene) => {
    const path = `/consumer-groups/${scene.group}/subscription`;
    const body = await scene.post(path, { subscriptionTimestamp: '2099-01-01T00:00:00Z' });
    expect(body['rowsUpdated']).toBe(0);
  }),
  ...['', '{}', '{"subscriptionTimestamp":"soon"}', '{"subscriptionTimestamp":5}'].map((body) =>
    rule(`§9 subscription refuses the body ${JSON.stringify(body)}`, async (scene) => {
      expectError(await scene.text(`/consumer-groups/${scene.group}/subscription`, body), 400);
    }),
  ),
];

const seeking: readonly Rule[] = [
  rule('§9 a seek has its keys in order', async (scene) => {
    await reading(scene);
    const body = await seek(scene, { toEnd: true });
    expectKeys(body, SEEK_KEYS);
    expect(body).toEqual({
      success: true,
      consumerGroup: scene.group,
      queueName: scene.queue,
      partitionName: null,
      seekToEnd: true,
      targetTimestamp: null,
      partitionsUpdated: 1,
      updated: true,
    });
  }),
  rule('§9 a seek to the end skips everything', async (scene) => {
    await reading(scene);
    await seek(scene, { toEnd: true });
    expect(await popGroup(scene)).toEqual([]);
  }),
  rule('§9 a seek without a body goes to the end', async (scene) => {
    await reading(scene);
    expect(await seek(scene, undefined)).toMatchObject({ seekToEnd: true });
  }),
  rule('§9 toEnd wins over a timestamp', async (scene) => {
    await reading(scene);
    const body = { toEnd: true, timestamp: '2020-01-01T00:00:00Z' };
    expect(await seek(scene, body)).toMatchObject({ seekToEnd: true });
  }),
  rule('§9 a seek to an early time goes to the start', async (scene) => {
    await reading(scene);
    const timestamp = '2020-01-01T00:00:00Z';
    expect(await seek(scene, { timestamp })).toMatchObject({
      seekToEnd: false,
      targetTimestamp: timestamp,
    });
    expect(await popGroup(scene)).toEqual([0, 1]);
  }),
  rule('§9 a seek to a late time goes to the tail', async (scene) => {
    await reading(scene);
    await seek(scene, { timestamp: '2099-01-01T00:00:00Z' });
    expect(await popGroup(scene)).toEqual([]);
    await scene.push(['later'], { transactionId: null });
    expect(await popGroup(scene)).toEqual(['later']);
  }),
  rule('§9 a seek goes before the first append at or after the time', async (scene) => {
    for (let i = 0; i < 3; i += 1) await scene.push([i, i], { transactionId: null });
    const { messages } = await scene.claim();
    await seek(scene, { timestamp: messages[2]?.createdAt });
    expect(await popGroup(scene)).toEqual([1, 1, 2, 2]);
  }),
  rule('§9 a seek creates cursors where there are none', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    expect(await seek(scene, { toEnd: true })).toMatchObject({ partitionsUpdated: 2 });
    expect(await popGroup(scene)).toEqual([]);
  }),
  rule('§9 a seek of one partition leaves the others', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    const body = await seek(scene, { toEnd: true }, 200, '/partitions/a');
    expect(body).toMatchObject({ partitionName: 'a', partitionsUpdated: 1 });
    expect((await scene.claim({ consumerGroup: scene.group, partitions: 2 })).partition).toBe('b');
  }),
  rule('§9 a seek drops live leases', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    await seek(scene, { timestamp: '2020-01-01T00:00:00Z' });
    const [verdict] = await scene.ackAll(batch, scene.group);
    expect(verdict?.error).toMatch(/invalid or expired lease/i);
  }),
  rule('§9 a seek resets attempts', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    await scene.ack(batch, [{ at: 0, status: 'retry' }], scene.group);
    await seek(scene, { timestamp: '2020-01-01T00:00:00Z' });
    expect(first(await scene.claim({ consumerGroup: scene.group })).deliveryAttempt).toBe(1);
  }),
  rule('§9 a seek resets the retry counter', async (scene) => {
    await scene.configure({ retryLimit: 1 });
    await scene.fill(1);
    for (let i = 0; i < 2; i += 1) {
      const batch = await scene.claim({ consumerGroup: scene.group });
      await scene.ack(batch, [{ at: 0, status: 'failed' }], scene.group);
      await seek(scene, { timestamp: '2020-01-01T00:00:00Z' });
    }
    expect(await scene.letters()).toEqual([]);
  }),
  ...[{}, { toEnd: false }, { timestamp: 'soon' }].map((body) =>
    rule(`§9 a seek with ${JSON.stringify(body)} is a 400`, async (scene) => {
      await reading(scene);
      expectKeys(await seek(scene, body, 400), 'success error');
    }),
  ),
  rule('§9 a seek on a missing queue is a 404', async (scene) => {
    const body = await seek(scene, { toEnd: true }, 404);
    expectKeys(body, 'success error consumerGroup queueName partitionsUpdated');
    expect(body).toMatchObject({ success: false, partitionsUpdated: 0 });
  }),
  rule('§9 a seek on a missing partition is a 404', async (scene) => {
    await reading(scene);
    await seek(scene, { toEnd: true }, 404, '/partitions/none');
  }),
  rule('§9 stats/refresh does nothing', async (scene) => {
    const answer = await scene.send('POST', '/stats/refresh', {});
    expect(answer).toMatchObject({
      status: 200,
      text: '{"success":true,"refreshed":false,"engine":"raft"}',
    });
  }),
  uncheckedRule('§9 state Lagging above 300 s', 'takes minutes'),
];

/** §9. */
export const CONSUMER_GROUPS: Section = {
  title: '9 consumer groups',
  rules: [...listing, ...positions, ...removal, ...subscribing, ...seeking],
};
