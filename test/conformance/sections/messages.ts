// §10 of the reference: looking at messages.

import { expect } from 'vitest';
import { expectJson } from '../../support/http-client.ts';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectKeys, payloads, UUID } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';
import { VERBATIM_TEXT } from '../verbatim.ts';

const ROW_KEYS =
  'id transactionId txnHash data payload traceId producerSub createdAt offset queue partition partitionId status queueStatus busStatus queuePath namespace task queuePriority payloadAvailable leaseExpiresAt segment isEncrypted';
const DETAIL_KEYS =
  'id transactionId data payload traceId producerSub createdAt partitionId partition queue queuePath namespace task status errorMessage retryCount isEncrypted queueConfig mode consumerGroups';

interface Page extends Json {
  readonly messages: Json[];
  readonly mode: Json;
}

async function page(scene: Scene, query = ''): Promise<Page> {
  return scene.get<Page>(`/messages?queue=${scene.queue}${query}`);
}

async function statuses(scene: Scene): Promise<unknown[]> {
  return (await page(scene)).messages.map(({ status }) => status).toReversed();
}

async function show(scene: Scene, id = 't0'): Promise<Json> {
  const partitionId = String((await page(scene)).messages[0]?.['partitionId']);
  return scene.get(`/messages/${partitionId}/${id}`);
}

const listing: readonly Rule[] = [
  rule('§10.1 the page has its keys in order', async (scene) => {
    await scene.fill(1);
    const body = await page(scene);
    expectKeys(body, 'messages total pagination mode');
    expectKeys(body['pagination'], 'limit offset');
    expectKeys(body.mode, 'hasQueueMode busGroupsCount type');
  }),
  rule('§10.1 a row has its keys in order', async (scene) => {
    await scene.fill(1);
    const [row] = (await page(scene)).messages;
    expectKeys(row, ROW_KEYS);
    expectKeys(row?.['busStatus'], 'consumedBy totalGroups');
    expectKeys(row?.['segment'], 'seq frameIdx');
  }),
  rule('§10.1 a row says where the message is', async (scene) => {
    const queue = `${scene.queue}.task.more`;
    const [pushed] = await scene.fill(1, { queue, partition: 'p' });
    const body = await scene.get<Page>(`/messages?queue=${queue}`);
    expect(body.messages).toMatchObject([
      {
        id: pushed?.message_id,
        transactionId: 't0',
        queue,
        partition: 'p',
        offset: 0,
        queuePath: `${queue}/p`,
        namespace: scene.queue,
        task: 'task',
        queuePriority: 0,
        payloadAvailable: true,
        leaseExpiresAt: null,
        isEncrypted: false,
      },
    ]);
    expect(body.messages[0]?.['partitionId']).toMatch(UUID);
  }),
  rule('§10.1 queueStatus is status', async (scene) => {
    await scene.fill(1);
    const [row] = (await page(scene)).messages;
    expect(row?.['queueStatus']).toBe(row?.['status']);
  }),
  rule('§10.1 payloads come byte by byte', async (scene) => {
    await scene.text('/push', `{"items":[{"queue":"${scene.queue}","payload":${VERBATIM_TEXT}}]}`);
    const { text } = await scene.send('GET', `/messages?queue=${scene.queue}`);
    expect(text).toContain(`"data":${VERBATIM_TEXT},"payload":${VERBATIM_TEXT},"traceId"`);
  }),
  rule('§10.1 the newest comes first, by append then offset', async (scene) => {
    for (let i = 0; i < 3; i += 1) await scene.push([i, i], { transactionId: null });
    expect((await page(scene)).messages.map(({ offset }) => offset)).toEqual([5, 4, 3, 2, 1, 0]);
  }),
  rule('§10.1 total counts the rows of the page', async (scene) => {
    await scene.fill(5);
    expect(await page(scene, '&limit=2')).toMatchObject({ total: 2 });
  }),
  rule('§10.1 limit and offset page without gaps', async (scene) => {
    await scene.fill(5);
    const offsets: unknown[] = [];
    for (let offset = 0; offset < 5; offset += 2) {
      const { messages } = await page(scene, `&limit=2&offset=${offset}`);
      offsets.push(...messages.map((row) => row['offset']));
    }
    expect(offsets).toEqual([4, 3, 2, 1, 0]);
  }),
  rule('§10.1 limit is 200 by default', async (scene) => {
    await scene.fill(201);
    expect(await page(scene)).toMatchObject({ total: 200, pagination: { limit: 200, offset: 0 } });
  }),
  ...(
    [
      [0, 1],
      [5000, 1000],
    ] as const
  ).map(([limit, used]) =>
    rule(`§10.1 limit ${limit} is ${used}`, async (scene) => {
      expect(await page(scene, `&limit=${limit}`)).toMatchObject({ pagination: { limit: used } });
    }),
  ),
  rule('§10.1 partition filters', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    expect((await page(scene, '&partition=b')).messages).toMatchObject([{ partition: 'b' }]);
  }),
  rule('§10.1 an empty filter is as absent', async (scene) => {
    await scene.fill(1);
    expect(await page(scene, '&partition=&namespace=&task=&status=')).toMatchObject({ total: 1 });
  }),
  rule('§10.1 namespace and task filter', async (scene) => {
    for (const task of ['a', 'b']) await scene.fill(1, { queue: `${scene.queue}.${task}` });
    const both = await scene.get<Page>(`/messages?namespace=${scene.queue}`);
    const one = await scene.get<Page>(`/messages?namespace=${scene.queue}&task=b`);
    expect([both.messages.length, one.messages.length]).toEqual([2, 1]);
  }),
  rule('§10.1 status filters', async (scene) => {
    await scene.fill(3);
    await scene.claim({ autoAck: true, batch: 1 });
    expect(await page(scene, '&status=completed')).toMatchObject({ total: 1 });
    expect(await page(scene, '&status=pending')).toMatchObject({ total: 2 });
  }),
  rule('§10.1 there is no status failed', async (scene) => {
    await scene.fill(1);
    expect(await page(scene, '&status=failed')).toMatchObject({ messages: [], total: 0 });
  }),
  rule('§10.1 from is inclusive', async (scene) => {
    for (let i = 0; i < 2; i += 1) await scene.push([i], { transactionId: null });
    const { createdAt } = (await page(scene)).messages[0] ?? {};
    expect(await page(scene, `&from=${String(createdAt)}`)).toMatchObject({ total: 1 });
  }),
  rule('§10.1 to is exclusive at the minute after it', async (scene) => {
    await scene.fill(1);
    const past = '&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z';
    expect(await page(scene, past)).toMatchObject({ total: 0 });
    const now = new Date().toISOString();
    expect(await page(scene, `&to=${now}`)).toMatchObject({ total: 1 });
  }),
  uncheckedRule('§10.1 from defaults to an hour ago', 'takes an hour'),
];

const status: readonly Rule[] = [
  rule('§10.1 an unread message is pending', async (scene) => {
    await scene.fill(1);
    expect(await statuses(scene)).toEqual(['pending']);
  }),
  rule('§10.1 every message of a leased partition is processing', async (scene) => {
    await scene.fill(2);
    await scene.claim({ batch: 1 });
    expect(await statuses(scene)).toEqual(['processing', 'processing']);
  }),
  rule('§10.1 without named groups queue mode completes', async (scene) => {
    await scene.fill(2);
    await scene.claim({ autoAck: true, batch: 1 });
    expect(await statuses(scene)).toEqual(['completed', 'pending']);
  }),
  rule('§10.1 with named groups all of them must have passed', async (scene) => {
    await scene.fill(1);
    await scene.claim({ consumerGroup: scene.name('a'), autoAck: true });
    expect(await statuses(scene)).toEqual(['completed']);
    const batch = await scene.claim({ consumerGroup: scene.name('b') });
    await scene.ack(batch, [{ at: 0, status: 'retry' }], scene.name('b'));
    expect(await statuses(scene)).toEqual(['pending']);
  }),
  rule('§10.1 with named groups queue mode does not complete', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    await scene.ack(batch, [{ at: 0, status: 'retry' }], scene.group);
    await scene.claim({ autoAck: true });
    expect(await statuses(scene)).toEqual(['pending']);
  }),
  rule('§10.1 a dead letter of any group shows', async (scene) => {
    await scene.fill(2);
    const batch = await scene.claim({ consumerGroup: scene.group });
    await scene.ack(batch, [{ at: 0, status: 'dlq' }], scene.group);
    expect(await statuses(scene)).toEqual(['dead_letter', 'pending']);
  }),
  rule('§10.1 busStatus counts the groups that passed', async (scene) => {
    await scene.fill(1);
    await scene.claim({ consumerGroup: scene.name('a'), autoAck: true });
    await scene.claim({ consumerGroup: scene.name('b') });
    const [row] = (await page(scene)).messages;
    expect(row?.['busStatus']).toEqual({ consumedBy: 1, totalGroups: 2 });
  }),
  rule('§10.1 leaseExpiresAt is the lease of queue mode', async (scene) => {
    await scene.fill(1);
    await scene.claim({ leaseSeconds: 100 });
    const [row] = (await page(scene)).messages;
    expect(Date.parse(String(row?.['leaseExpiresAt'])) - Date.now()).toBeGreaterThan(50_000);
  }),
  rule('§10.1 mode is none before anybody reads', async (scene) => {
    await scene.fill(1);
    expect((await page(scene)).mode).toEqual({
      hasQueueMode: false,
      busGroupsCount: 0,
      type: 'none',
    });
  }),
  rule('§10.1 mode is queue with queue mode only', async (scene) => {
    await scene.fill(1);
    await scene.claim();
    expect((await page(scene)).mode['type']).toBe('queue');
  }),
  rule('§10.1 mode is bus with named groups only', async (scene) => {
    await scene.fill(1);
    await scene.claim({ consumerGroup: scene.group });
    expect((await page(scene)).mode).toEqual({
      hasQueueMode: false,
      busGroupsCount: 1,
      type: 'bus',
    });
  }),
  rule('§10.1 mode is hybrid with both', async (scene) => {
    await scene.fill(1);
    await scene.claim();
    await scene.claim({ consumerGroup: scene.group });
    expect((await page(scene)).mode['type']).toBe('hybrid');
  }),
  rule('§10.1 looking takes nothing', async (scene) => {
    await scene.fill(1);
    await page(scene);
    await show(scene);
    expect(payloads(await scene.claim())).toEqual([0]);
  }),
];

const detail: readonly Rule[] = [
  rule('§10.2 a message has its keys in order', async (scene) => {
    await scene.fill(1);
    await scene.claim();
    const body = await show(scene);
    expectKeys(body, DETAIL_KEYS);
    expectKeys((body['consumerGroups'] as Json[])[0], 'name committed consumed leaseExpiresAt');
  }),
  rule('§10.2 a message shows who is how far', async (scene) => {
    await scene.fill(2);
    await scene.claim({ consumerGroup: scene.group, autoAck: true, batch: 1 });
    expect(await show(scene)).toMatchObject({
      status: 'completed',
      consumerGroups: [{ name: scene.group, committed: 0, consumed: true, leaseExpiresAt: null }],
    });
    expect(await show(scene, 't1')).toMatchObject({
      status: 'pending',
      consumerGroups: [{ consumed: false }],
    });
  }),
  rule('§10.2 a message comes with the options of its queue', async (scene) => {
    await scene.configure({ leaseTime: 77 });
    await scene.fill(1);
    expect(await show(scene)).toMatchObject({ queueConfig: { leaseTime: 77 } });
  }),
  rule('§10.2 error and retries come from the dead letter', async (scene) => {
    await scene.fill(1);
    await scene.bury(1, 'why');
    expect(await show(scene)).toMatchObject({
      status: 'dead_letter',
      errorMessage: 'why',
      retryCount: 0,
    });
  }),
  rule('§10.2 without a dead letter there is no error', async (scene) => {
    await scene.fill(1);
    expect(await show(scene)).toMatchObject({ errorMessage: null, retryCount: 0 });
  }),
  rule('§10.2 the payload comes byte by byte', async (scene) => {
    const item = `{"queue":"${scene.queue}","transactionId":"v","payload":${VERBATIM_TEXT}}`;
    await scene.text('/push', `{"items":[${item}]}`);
    const { partitionId } = await scene.claim();
    const { text } = await scene.send('GET', `/messages/${partitionId}/v`);
    expect(text).toContain(`"data":${VERBATIM_TEXT},"payload":${VERBATIM_TEXT},`);
  }),
  rule('§10.2 the partition may be its decimal number', async (scene) => {
    await scene.fill(1);
    const { partitionId } = await scene.claim();
    const number = Number.parseInt(partitionId.slice(-12), 16);
    expect(await scene.get(`/messages/${number}/t0`)).toMatchObject({ partitionId });
  }),
  rule('§10.2 an unknown transaction id is a 404', async (scene) => {
    await scene.fill(1);
    const { partitionId } = await scene.claim();
    const answer = await scene.send('GET', `/messages/${partitionId}/unheard`);
    expect(expectJson(answer, 404)).toEqual({ error: 'Message not found' });
  }),
  ...['nonsense', '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90'].map((partitionId) =>
    rule(`§10.2 the partition ${partitionId} is a 404`, async (scene) => {
      const answer = await scene.send('GET', `/messages/${partitionId}/t0`);
      expect(expectJson(answer, 404)).toEqual({ error: 'Message not found' });
    }),
  ),
];

/** §10. */
export const MESSAGES: Section = {
  title: '10 messages',
  rules: [...listing, ...status, ...detail],
};
