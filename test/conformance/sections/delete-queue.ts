// §7 of the reference, first row: DELETE /api/v1/resources/queues/:queue.

import { expect } from 'vitest';
import { rule } from '../rule.ts';
import type { Section } from '../rule.ts';
import { expectKeys, first, payloads } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';

async function remove(scene: Scene): Promise<Json> {
  const answer = await scene.send('DELETE', `/resources/queues/${scene.queue}`);
  expect(answer.status).toBe(200);
  return JSON.parse(answer.text) as Json;
}

/** §7, deletion. */
export const DELETE_QUEUE: Section = {
  title: '7 delete queue',
  rules: [
    rule('§7 deleting a queue says deleted, existed, queue', async (scene) => {
      await scene.fill(1);
      const body = await remove(scene);
      expectKeys(body, 'deleted existed queue');
      expect(body).toEqual({ deleted: true, existed: true, queue: scene.queue });
    }),
    rule('§7 deleting a missing queue is 200 with a message', async (scene) => {
      const body = await remove(scene);
      expectKeys(body, 'deleted existed queue message');
      expect(body).toMatchObject({ deleted: false, existed: false, queue: scene.queue });
      expect(body['message']).toMatch(/\w/);
    }),
    rule('§7 deleting twice is idempotent', async (scene) => {
      await scene.fill(1);
      await remove(scene);
      expect(await remove(scene)).toMatchObject({ deleted: false });
    }),
    rule('§7 a deleted queue is in no list', async (scene) => {
      await scene.fill(1);
      await remove(scene);
      expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
    }),
    rule('§7 deleting removes messages and partitions', async (scene) => {
      await scene.fill(3, { partition: 'p' });
      await remove(scene);
      expect(await scene.pop()).toBeUndefined();
      expect(await scene.client.queueRow(scene.queue)).toMatchObject({ partitions: 0 });
    }),
    rule('§7 deleting removes cursors', async (scene) => {
      await scene.fill(2);
      await scene.claim({ autoAck: true });
      await remove(scene);
      await scene.fill(1);
      expect(first(await scene.claim()).offset).toBe(0);
    }),
    rule('§7 deleting removes groups', async (scene) => {
      await scene.fill(1);
      await scene.claim({ consumerGroup: scene.group });
      await remove(scene);
      expect((await scene.send('GET', `/consumer-groups/${scene.group}`)).status).toBe(404);
    }),
    rule('§7 deleting removes dead letters', async (scene) => {
      await scene.fill(1);
      await scene.bury();
      await remove(scene);
      expect(await scene.letters()).toEqual([]);
    }),
    rule('§7 deleting removes the memory of transaction ids', async (scene) => {
      await scene.fill(1);
      await remove(scene);
      expect(await scene.fill(1)).toMatchObject([{ status: 'queued', offset: 0 }]);
    }),
    rule('§7 deleting removes options', async (scene) => {
      await scene.configure({ leaseTime: 9 });
      await remove(scene);
      await scene.fill(1);
      expect((await scene.client.queueRow(scene.queue))?.options['leaseTime']).toBe(60);
    }),
    rule('§7 the name is free again at once', async (scene) => {
      for (let i = 0; i < 5; i += 1) {
        await scene.push([i]);
        expect(payloads(await scene.claim())).toEqual([i]);
        await remove(scene);
      }
    }),
    rule('§7 a created-again queue has another id', async (scene) => {
      const { queueId } = await scene.configure({});
      await remove(scene);
      expect((await scene.configure({}))['queueId']).not.toBe(queueId);
    }),
    rule('§7 a lease of a deleted queue is gone', async (scene) => {
      await scene.fill(1);
      const batch = await scene.claim();
      await remove(scene);
      expect(await scene.client.extend(batch.leaseId)).toMatchObject({ success: false });
      expect(await scene.ackAll(batch)).toMatchObject([{ success: false }]);
    }),
    rule('§7 deleting one queue leaves others alone', async (scene) => {
      await scene.fill(1);
      await scene.fill(1, { queue: scene.name('other') });
      await remove(scene);
      expect((await scene.client.pop(scene.name('other')))?.messages).toHaveLength(1);
    }),
    rule('§7 no route clears a queue', async (scene) => {
      const answer = await scene.send('DELETE', `/queues/${scene.queue}/clear`);
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'no_such_route' });
      expect(answer.status).toBe(404);
    }),
  ],
};
