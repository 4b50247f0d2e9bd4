// §8 of the reference: dead letters.

import { expect } from 'vitest';
import { expectJson } from '../../support/http-client.ts';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectError, expectKeys, first, MICROSECONDS, payloads, UUID_V7 } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';
import { VERBATIM_TEXT } from '../verbatim.ts';

const ROW_KEYS =
  'id queue partition partitionId createdAt consumerGroup offset messageId transactionId data payload errorMessage retryCount failedAt';
const MOVED_KEYS =
  'success result queue partition consumerGroup dlqId originalTransactionId replayedAs dlqRowRemoved';
const UNKNOWN_ID = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';

/** Files `count` messages and returns their rows, newest first. */
async function filed(scene: Scene, count = 1): Promise<Json[]> {
  await scene.fill(count);
  await scene.bury(count);
  return scene.letters();
}

async function filedId(scene: Scene): Promise<string> {
  return String((await filed(scene))[0]?.['id']);
}

async function filedAddress(scene: Scene): Promise<string> {
  const [row] = await filed(scene);
  return `/messages/${String(row?.['partitionId'])}/t0`;
}

const listing: readonly Rule[] = [
  rule('§8.1 the list has its keys in order', async (scene) => {
    const body = await scene.get(`/dlq?queue=${scene.queue}`);
    expectKeys(body, 'messages total pagination');
    expect(body).toEqual({ messages: [], total: 0, pagination: { limit: 100, offset: 0 } });
  }),
  rule('§8.1 a row has its keys in order', async (scene) => {
    expectKeys((await filed(scene))[0], ROW_KEYS);
  }),
  rule('§8 a dead letter keeps message, id, transaction id, error and count', async (scene) => {
    const [pushed] = await scene.fill(1);
    const batch = await scene.bury(1, 'why');
    expect(await scene.letters()).toMatchObject([
      {
        queue: scene.queue,
        partition: 'Default',
        partitionId: batch.partitionId,
        consumerGroup: '__QUEUE_MODE__',
        offset: 0,
        messageId: pushed?.message_id,
        transactionId: 't0',
        payload: 0,
        errorMessage: 'why',
        retryCount: 0,
      },
    ]);
  }),
  rule('§8.1 createdAt is failedAt, data is payload', async (scene) => {
    const [row] = await filed(scene);
    expect(row?.['createdAt']).toBe(row?.['failedAt']);
    expect(row?.['createdAt']).toMatch(MICROSECONDS);
    expect(row?.['data']).toEqual(row?.['payload']);
  }),
  rule('§8.1 payloads come byte by byte', async (scene) => {
    await scene.text('/push', `{"items":[{"queue":"${scene.queue}","payload":${VERBATIM_TEXT}}]}`);
    await scene.bury();
    const { text } = await scene.send('GET', `/dlq?queue=${scene.queue}`);
    expect(text).toContain(`"data":${VERBATIM_TEXT},"payload":${VERBATIM_TEXT},"errorMessage"`);
  }),
  rule('§8.1 the newest failure comes first', async (scene) => {
    await scene.fill(3);
    for (let i = 0; i < 3; i += 1) {
      await scene.ack(await scene.claim({ batch: 1 }), [{ at: 0, status: 'dlq' }]);
    }
    expect((await scene.letters()).map(({ offset }) => offset)).toEqual([2, 1, 0]);
  }),
  rule('§8.1 queue filters', async (scene) => {
    await filed(scene);
    const other = await scene.get<{ total: number }>(`/dlq?queue=${scene.name('other')}`);
    expect(other.total).toBe(0);
  }),
  rule('§8.1 consumerGroup filters', async (scene) => {
    await scene.fill(1);
    await scene.bury();
    const batch = await scene.claim({ consumerGroup: scene.group });
    await scene.ack(batch, [{ at: 0, status: 'dlq' }], scene.group);
    expect(await scene.letters()).toHaveLength(2);
    expect(await scene.letters(`&consumerGroup=${scene.group}`)).toMatchObject([
      { consumerGroup: scene.group },
    ]);
  }),
  rule('§8.1 limit and offset page, total counts all matches', async (scene) => {
    await filed(scene, 5);
    const page = await scene.get<{ messages: Json[] }>(
      `/dlq?queue=${scene.queue}&limit=2&offset=1`,
    );
    expect(page).toMatchObject({ total: 5, pagination: { limit: 2, offset: 1 } });
    expect(page.messages).toHaveLength(2);
  }),
  ...(
    [
      ['0', 1],
      ['5000', 1000],
    ] as const
  ).map(([limit, used]) =>
    rule(`§8.1 limit ${limit} is ${used}`, async (scene) => {
      expect(await scene.get(`/dlq?queue=${scene.queue}&limit=${limit}`)).toMatchObject({
        pagination: { limit: used },
      });
    }),
  ),
  rule('§8.1 partition, from and to are ignored', async (scene) => {
    await filed(scene);
    expect(await scene.letters('&partition=x&from=2099-01-01T00:00:00Z&to=x')).toHaveLength(1);
  }),
];

const replaying: readonly Rule[] = [
  rule('§8.2 a replay has its keys in order', async (scene) => {
    const moved = await scene.post(`/dlq/${await filedId(scene)}/replay`, undefined);
    expectKeys(moved, MOVED_KEYS);
    expectKeys(moved['replayedAs'], 'index message_id transaction_id queueName status offset');
  }),
  rule('§8.2 a replay pushes to the tail under dlq:<id> and deletes the row', async (scene) => {
    const id = await filedId(scene);
    expect(await scene.post(`/dlq/${id}/replay`, {})).toMatchObject({
      success: true,
      result: 'moved',
      queue: scene.queue,
      partition: 'Default',
      dlqId: id,
      originalTransactionId: 't0',
      replayedAs: { index: 0, transaction_id: `dlq:${id}`, status: 'queued', offset: 1 },
      dlqRowRemoved: true,
    });
    expect(await scene.letters()).toEqual([]);
    const { messages } = await scene.claim();
    expect(messages).toMatchObject([{ transactionId: `dlq:${id}`, data: 0, traceId: null }]);
  }),
  rule('§8.2 the copy has a fresh message id', async (scene) => {
    const [row] = await filed(scene);
    const moved = await scene.post(`/dlq/${String(row?.['id'])}/replay`, {});
    const copy = moved['replayedAs'] as Json;
    expect(copy['message_id']).toMatch(UUID_V7);
    expect(copy['message_id']).not.toBe(row?.['messageId']);
    expect(first(await scene.claim()).id).toBe(copy['message_id']);
  }),
  rule('§8.2 an empty body is allowed', async (scene) => {
    const answer = await scene.send('POST', `/dlq/${await filedId(scene)}/replay`);
    expect(expectJson(answer, 200)).toMatchObject({ result: 'moved' });
  }),
  rule('§8.2 the destination may be another queue, which is created', async (scene) => {
    const queue = scene.name('again');
    const moved = await scene.post(`/dlq/${await filedId(scene)}/replay`, { queue });
    expect(moved).toMatchObject({ queue, partition: 'Default' });
    expect(payloads(await scene.client.pop(queue))).toEqual([0]);
  }),
  rule('§8.2 the destination may be another partition', async (scene) => {
    const moved = await scene.post(`/dlq/${await filedId(scene)}/replay`, { partition: 'p' });
    expect(moved).toMatchObject({ queue: scene.queue, partition: 'p' });
    expect(payloads(await scene.client.popPartition(scene.queue, 'p'))).toEqual([0]);
  }),
  rule('§8.2 names of a destination are trimmed', async (scene) => {
    const moved = await scene.post(`/dlq/${await filedId(scene)}/replay`, { partition: ' p ' });
    expect(moved['partition']).toBe('p');
  }),
  ...['{"queue":""}', '{"partition":" "}', '{"queue":7}', 'x', '[]'].map((body) =>
    rule(`§8.2 the body ${body} is a 400 of its own shape`, async (scene) => {
      const answer = await scene.text(`/dlq/${await filedId(scene)}/replay`, body);
      expectKeys(expectError(answer, 400), 'success error');
      expect(await scene.letters()).toHaveLength(1);
    }),
  ),
  rule('§8.2 a second replay is 404 gone', async (scene) => {
    const id = await filedId(scene);
    await scene.post(`/dlq/${id}/replay`, {});
    const gone = await scene.post(`/dlq/${id}/replay`, {}, 404);
    expectKeys(gone, 'success result error');
    expect(gone).toMatchObject({ success: false, result: 'gone' });
  }),
  ...[UNKNOWN_ID, 'nonsense'].map((id) =>
    rule(`§8.2 the id ${id} is 404 gone`, async (scene) => {
      expect(await scene.post(`/dlq/${id}/replay`, {}, 404)).toMatchObject({ result: 'gone' });
    }),
  ),
  rule('§8.2 a replay that is there already is duplicate and keeps the row', async (scene) => {
    const id = await filedId(scene);
    await scene.push([5], { transactionId: `dlq:${id}` });
    expect(await scene.post(`/dlq/${id}/replay`, {})).toMatchObject({
      success: true,
      result: 'duplicate',
      replayedAs: { status: 'duplicate', offset: 1 },
      dlqRowRemoved: false,
    });
    expect(await scene.letters()).toHaveLength(1);
    expect(payloads(await scene.claim())).toEqual([5]);
  }),
  rule('§8.2 every group sees the copy', async (scene) => {
    const id = await filedId(scene);
    await scene.claim({ consumerGroup: scene.group, autoAck: true });
    await scene.post(`/dlq/${id}/replay`, {});
    expect(payloads(await scene.claim({ consumerGroup: scene.group }))).toEqual([0]);
  }),
  rule('§8.2 the copy has its payload byte by byte', async (scene) => {
    await scene.text('/push', `{"items":[{"queue":"${scene.queue}","payload":${VERBATIM_TEXT}}]}`);
    await scene.bury();
    await scene.post(`/dlq/${String((await scene.letters())[0]?.['id'])}/replay`, {});
    const { text } = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(text).toContain(`"data":${VERBATIM_TEXT},`);
  }),
  rule('§8.2 retry of a message replays its dead letter', async (scene) => {
    const moved = await scene.post(`${await filedAddress(scene)}/retry`, {});
    expectKeys(moved, MOVED_KEYS);
    expect(moved).toMatchObject({ result: 'moved', originalTransactionId: 't0' });
  }),
  rule('§8.2 retry of a live message is 404 gone', async (scene) => {
    await scene.fill(1);
    const { partitionId } = await scene.claim();
    const gone = await scene.post(`/messages/${partitionId}/t0/retry`, {}, 404);
    expect(gone).toMatchObject({ success: false, result: 'gone' });
  }),
  uncheckedRule('§8.2 409 refused', 'needs a destination that refuses'),
];

const removal: readonly Rule[] = [
  rule('§8.3 deleting a message removes its dead letters', async (scene) => {
    const address = await filedAddress(scene);
    const answer = await scene.send('DELETE', address);
    const body = expectJson<Json>(answer, 200);
    expectKeys(body, 'success partitionId transactionId deleted');
    expect(body).toMatchObject({ success: true, transactionId: 't0', deleted: 1 });
    expect(await scene.letters()).toEqual([]);
  }),
  rule('§8.3 deleting a message removes them for all groups', async (scene) => {
    const address = await filedAddress(scene);
    const batch = await scene.claim({ consumerGroup: scene.group });
    await scene.ack(batch, [{ at: 0, status: 'dlq' }], scene.group);
    expect(expectJson(await scene.send('DELETE', address), 200)).toMatchObject({ deleted: 2 });
  }),
  rule('§8.3 a live message cannot be deleted', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim();
    const body = expectError(await scene.send('DELETE', `/messages/${batch.partitionId}/t0`), 404);
    expectKeys(body, 'success partitionId transactionId error message');
    expect(body).toMatchObject({ success: false, error: 'Message not found' });
    expect(await scene.ackAll(batch)).toMatchObject([{ success: true }]);
  }),
  rule('§8.3 an unknown partition is a 404', async (scene) => {
    expectError(await scene.send('DELETE', `/messages/nonsense/${scene.queue}`), 404);
  }),
  rule('§8.3 a purge removes all dead letters of a queue', async (scene) => {
    await filed(scene, 3);
    const body = expectJson<Json>(await scene.send('DELETE', `/dlq?queue=${scene.queue}`), 200);
    expectKeys(body, 'success queue consumerGroup deleted');
    expect(body).toEqual({ success: true, queue: scene.queue, consumerGroup: null, deleted: 3 });
    expect(await scene.letters()).toEqual([]);
  }),
  rule('§8.3 a purge may name a group', async (scene) => {
    await filed(scene);
    const path = `/dlq?queue=${scene.queue}&consumerGroup=${scene.group}`;
    expect(expectJson(await scene.send('DELETE', path), 200)).toMatchObject({
      consumerGroup: scene.group,
      deleted: 0,
    });
    expect(await scene.letters()).toHaveLength(1);
  }),
  rule('§8.3 a purge of a missing queue deletes 0', async (scene) => {
    const answer = await scene.send('DELETE', `/dlq?queue=${scene.queue}`);
    expect(expectJson(answer, 200)).toMatchObject({ success: true, deleted: 0 });
  }),
  ...['', '?queue='].map((query) =>
    rule(`§8.3 a purge without a queue is a 400: "${query}"`, async (scene) => {
      const body = expectError(await scene.send('DELETE', `/dlq${query}`), 400);
      expectKeys(body, 'success error message');
      expect(body).toMatchObject({ success: false, error: 'queue is required' });
    }),
  ),
  rule('§8 POST /messages/:p/:t/dlq does not exist', async (scene) => {
    expectError(await scene.send('POST', '/messages/1/t/dlq'), 404, 'no_such_route');
  }),
  uncheckedRule('§8 retention never touches dead letters', 'covered with retention, §13'),
];

/** §8. */
export const DEAD_LETTERS: Section = {
  title: '8 dead letters',
  rules: [...listing, ...replaying, ...removal],
};
