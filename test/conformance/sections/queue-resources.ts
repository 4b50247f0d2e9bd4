// §7 of the reference: what the queue resources show.

import { expect } from 'vitest';
import { expectJson } from '../../support/http-client.ts';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectError, expectKeys, MICROSECONDS, UUID } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';

const ROW_KEYS =
  'id name queue namespace task storage partitions segments messages retainedBytes options createdAt';
const DETAIL_KEYS =
  'id name namespace task createdAt options partitions segments totals retainedBytes';
const PARTITION_KEYS =
  'id name createdAt messages stats cursor lastActivity oldestMessage newestMessage retainedBytes';
const DEPTH_KEYS =
  'queue group pending processing ready partitionsPending partitionsReady conflation effectivePending effectiveReady partitions';

async function detail(scene: Scene): Promise<Json & { partitions: Json[] }> {
  return scene.get(`/resources/queues/${scene.queue}`);
}

async function depth(scene: Scene, query = ''): Promise<Json & { partitions: Json[] }> {
  return scene.get(`/resources/queues/${scene.queue}/depth${query}`);
}

async function list(scene: Scene, query: string): Promise<Json & { queues: Json[] }> {
  return scene.get(`/resources/queues?${query}`);
}

/** Five messages, one of them filed, two leased; two pending. */
async function mixed(scene: Scene): Promise<void> {
  await scene.fill(5);
  const batch = await scene.claim({ batch: 1 });
  await scene.ack(batch, [{ at: 0, status: 'dlq' }]);
  await scene.claim({ batch: 2 });
}

const listing: readonly Rule[] = [
  rule('§7 the list has its keys in order', async (scene) => {
    await scene.fill(1);
    const body = await list(scene, `search=${scene.queue}`);
    expectKeys(body, 'queues kvRows kvBytes timerRows timerBytes');
  }),
  rule('§7 a row has its keys in order', async (scene) => {
    await scene.fill(1);
    const row = await scene.client.queueRow(scene.queue);
    expectKeys(row, ROW_KEYS);
    expectKeys(row?.segments, 'segments messages');
    expectKeys(row?.messages, 'total pending processing completed deadLetter');
  }),
  rule('§7 name and queue of a row are the same', async (scene) => {
    await scene.fill(1);
    const row = await scene.client.queueRow(scene.queue);
    expect(row).toMatchObject({ name: scene.queue, queue: scene.queue, storage: 'segments' });
    expect(row?.id).toMatch(UUID);
  }),
  rule('§7 pending of a row excludes leased messages', async (scene) => {
    await mixed(scene);
    expect((await scene.client.queueRow(scene.queue))?.messages).toMatchObject({
      total: 5,
      pending: 2,
      processing: 2,
      deadLetter: 1,
    });
  }),
  rule('§7 the list is newest first', async (scene) => {
    for (const word of ['a', 'b', 'c']) await scene.fill(1, { queue: scene.name(word) });
    const { queues } = await list(scene, `search=${scene.name('')}`);
    expect(queues.map(({ name }) => name)).toEqual(['c', 'b', 'a'].map((word) => scene.name(word)));
  }),
  rule('§7 limit and offset page through the list', async (scene) => {
    for (const word of ['a', 'b', 'c']) await scene.fill(1, { queue: scene.name(word) });
    const { queues } = await list(scene, `search=${scene.name('')}&limit=1&offset=1`);
    expect(queues.map(({ name }) => name)).toEqual([scene.name('b')]);
  }),
  rule('§7 namespace filters the list', async (scene) => {
    for (const word of ['a', 'b']) await scene.fill(1, { queue: `${scene.queue}.${word}` });
    expect((await list(scene, `namespace=${scene.queue}`)).queues).toHaveLength(2);
    expect((await list(scene, `namespace=${scene.name('none')}`)).queues).toEqual([]);
  }),
  rule('§7 task filters the list', async (scene) => {
    for (const word of ['a', 'b']) await scene.fill(1, { queue: `${scene.queue}.${word}` });
    const { queues } = await list(scene, `namespace=${scene.queue}&task=b`);
    expect(queues.map(({ name }) => name)).toEqual([`${scene.queue}.b`]);
  }),
  rule('§7 stats=lanes is the short list', async (scene) => {
    await scene.fill(1);
    const body = await list(scene, `stats=lanes&search=${scene.queue}`);
    expectKeys(body, 'queues stats');
    expect(body['stats']).toBe('lanes');
    expectKeys(body.queues[0], 'id name queue partitions createdAt');
  }),
  rule('§7 retainedBytes grows with what is pushed', async (scene) => {
    await scene.push(['x'.repeat(10_000)]);
    const row = await scene.client.queueRow(scene.queue);
    expect(row?.retainedBytes).toBeGreaterThan(10_000 / 2);
  }),
];

const details: readonly Rule[] = [
  rule('§7 the detail has its keys in order', async (scene) => {
    await scene.fill(1);
    const body = await detail(scene);
    expectKeys(body, DETAIL_KEYS);
    expectKeys(body.partitions[0], PARTITION_KEYS);
    expectKeys(body.partitions[0]?.['cursor'], 'totalConsumed batchesConsumed');
  }),
  rule('§7 a missing queue is 404 Queue not found', async (scene) => {
    const answer = await scene.send('GET', `/resources/queues/${scene.queue}`);
    expect(expectJson(answer, 404)).toEqual({ error: 'Queue not found' });
  }),
  rule('§7 the detail shows every partition by name', async (scene) => {
    for (const partition of ['b', 'a', 'c']) await scene.fill(1, { partition });
    expect((await detail(scene)).partitions.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  }),
  rule('§7 pending of the detail includes leased messages', async (scene) => {
    await mixed(scene);
    expect((await detail(scene))['totals']).toMatchObject({ total: 5, pending: 4, processing: 2 });
  }),
  rule('§7 oldest and newest message are the stamps of the appends', async (scene) => {
    await scene.push([1], { transactionId: null });
    await scene.push([2], { transactionId: null });
    const { messages } = await scene.claim();
    const [partition] = (await detail(scene)).partitions;
    expect(partition?.['oldestMessage']).toBe(messages[0]?.createdAt);
    expect(partition?.['newestMessage']).toBe(messages[1]?.createdAt);
    expect(partition?.['createdAt']).toMatch(MICROSECONDS);
  }),
  rule('§7 the partition shows what was consumed', async (scene) => {
    await scene.fill(4);
    await scene.claim({ autoAck: true, batch: 3 });
    expect((await detail(scene)).partitions).toMatchObject([{ cursor: { totalConsumed: 3 } }]);
  }),
];

const depths: readonly Rule[] = [
  rule('§7 the depth has its keys in order', async (scene) => {
    await scene.fill(1);
    const body = await depth(scene);
    expectKeys(body, DEPTH_KEYS);
    expectKeys(body.partitions[0], 'partition pending processing ready');
  }),
  rule('§7 the depth of a missing queue is a 404', async (scene) => {
    const answer = await scene.send('GET', `/resources/queues/${scene.queue}/depth`);
    expectError(answer, 404);
  }),
  rule('§7 the depth of a group counts what it has not completed', async (scene) => {
    await scene.fill(5);
    const batch = await scene.claim({ consumerGroup: scene.group, batch: 3 });
    await scene.ack(batch, [0], scene.group);
    expect(await depth(scene, `?group=${scene.group}`)).toMatchObject({
      queue: scene.queue,
      group: scene.group,
      pending: 4,
      processing: 2,
    });
  }),
  rule('§7 a leased partition has nothing ready', async (scene) => {
    await scene.fill(5);
    await scene.claim({ consumerGroup: scene.group, batch: 3 });
    expect(await depth(scene, `?group=${scene.group}`)).toMatchObject({ pending: 5, ready: 0 });
  }),
  rule('§7 the depth of a group without a cursor is everything', async (scene) => {
    await scene.fill(3);
    expect(await depth(scene, `?group=${scene.group}`)).toMatchObject({ pending: 3, ready: 3 });
  }),
  rule('§7 without a group the slowest named group counts', async (scene) => {
    await scene.fill(4);
    await scene.claim({ consumerGroup: scene.name('fast'), autoAck: true });
    await scene.claim({ consumerGroup: scene.name('slow'), autoAck: true, batch: 1 });
    expect(await depth(scene)).toMatchObject({ group: null, pending: 3 });
  }),
  rule('§7 without any named group queue mode counts', async (scene) => {
    await scene.fill(4);
    await scene.claim({ autoAck: true, batch: 1 });
    expect(await depth(scene)).toMatchObject({ pending: 3, ready: 3 });
  }),
  rule('§7 the depth counts partitions', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(2, { partition });
    await scene.claim({ consumerGroup: scene.group });
    expect(await depth(scene, `?group=${scene.group}`)).toMatchObject({
      partitionsPending: 2,
      partitionsReady: 1,
      conflation: false,
      effectivePending: 4,
      effectiveReady: 2,
    });
  }),
  rule('§7 the depth follows every answered write', async (scene) => {
    for (let i = 1; i <= 10; i += 1) {
      await scene.push([i], { transactionId: null });
      expect(await depth(scene, `?group=${scene.group}`)).toMatchObject({ pending: i });
    }
  }),
];

const others: readonly Rule[] = [
  rule('§7 sizes are bytes by partition', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    const body = await scene.get<Json & { partitions: Record<string, number> }>(
      `/resources/queues/${scene.queue}/sizes`,
    );
    expectKeys(body, 'queue partitions');
    expect(Object.keys(body.partitions).toSorted()).toEqual(['a', 'b']);
    expect(Object.values(body.partitions).every((bytes) => bytes > 0)).toBe(true);
  }),
  rule('§7 sizes of a missing queue are a 404', async (scene) => {
    expectError(await scene.send('GET', `/resources/queues/${scene.queue}/sizes`), 404);
  }),
  rule('§7 partitions are ranked by what is pending', async (scene) => {
    await scene.fill(5, { partition: 'busy' });
    await scene.fill(1, { partition: 'calm' });
    const { partitions } = await scene.get<{ partitions: Json[] }>(
      `/resources/partitions?queue=${scene.queue}`,
    );
    expect(partitions.map(({ partition, pending }) => [partition, pending])).toEqual([
      ['busy', 5],
      ['calm', 1],
    ]);
    expectKeys(partitions[0], 'queue partition partitionId pending processing lagSeconds');
  }),
  rule('§7 limit bounds the ranked partitions', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    const { partitions } = await scene.get<{ partitions: Json[] }>(
      `/resources/partitions?queue=${scene.queue}&limit=1`,
    );
    expect(partitions).toHaveLength(1);
  }),
  uncheckedRule('§7 kvRows and timerRows count', 'riders are not served yet'),
];

/** §7. */
export const QUEUE_RESOURCES: Section = {
  title: '7 queue resources',
  rules: [...listing, ...details, ...depths, ...others],
};
