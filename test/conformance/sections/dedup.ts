// §12 of the reference: deduplication.

import { expect } from 'vitest';
import { brokenRule, rule, uncheckedRule } from '../rule.ts';
import type { Section } from '../rule.ts';
import { first, payloads } from '../scene.ts';

const PAUSE_MS = 1_300;

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

/** §12. */
export const DEDUP: Section = {
  title: '12 dedup',
  rules: [
    rule('§12 a repeat is a duplicate with the original id and offset', async (scene) => {
      const [original] = await scene.fill(1);
      expect(await scene.push(['other'])).toMatchObject([
        { status: 'duplicate', message_id: original?.message_id, offset: 0 },
      ]);
      expect(payloads(await scene.claim())).toEqual([0]);
    }),
    rule('§12 the scope is the partition', async (scene) => {
      await scene.fill(1, { partition: 'a' });
      expect(await scene.fill(1, { partition: 'b' })).toMatchObject([{ status: 'queued' }]);
    }),
    rule('§12 the scope is the queue', async (scene) => {
      await scene.fill(1);
      const other = scene.name('other');
      expect(await scene.fill(1, { queue: other })).toMatchObject([{ status: 'queued' }]);
    }),
    rule('§12 ids are compared as they are spelled', async (scene) => {
      await scene.fill(1, { transactionId: 'a' });
      for (const transactionId of ['A', 'a ', 'ä']) {
        expect(await scene.fill(1, { transactionId })).toMatchObject([{ status: 'queued' }]);
      }
    }),
    rule('§12 escaped and plain spellings of an id are the same', async (scene) => {
      await scene.fill(1, { transactionId: 'ä' });
      const item = String.raw`{"queue":"${scene.queue}","payload":1,"transactionId":"\u00e4"}`;
      const { text } = await scene.text('/push', `{"items":[${item}]}`);
      expect(JSON.parse(text)).toMatchObject([{ status: 'duplicate' }]);
    }),
    rule('§12 window 0 is off', async (scene) => {
      await scene.configure({ dedupWindowSeconds: 0 });
      await scene.fill(1);
      expect(await scene.fill(1)).toMatchObject([{ status: 'queued', offset: 1 }]);
    }),
    rule('§12 within one request repeats collapse with window 0 too', async (scene) => {
      await scene.configure({ dedupWindowSeconds: 0 });
      const verdicts = await scene.push([1, 2], { transactionId: 'same' });
      expect(verdicts.map(({ status }) => status)).toEqual(['queued', 'duplicate']);
    }),
    rule('§12 beyond the window the same id is a new message', async (scene) => {
      await scene.configure({ dedupWindowSeconds: 1 });
      await scene.fill(1);
      await pause();
      expect(await scene.fill(1)).toMatchObject([{ status: 'queued', offset: 1 }]);
    }),
    rule('§12 the window is measured from the append of the original', async (scene) => {
      await scene.configure({ dedupWindowSeconds: 2 });
      await scene.fill(1);
      await pause();
      await scene.fill(1);
      await pause();
      expect(await scene.fill(1)).toMatchObject([{ status: 'queued' }]);
    }),
    rule('§12 a smaller window applies to the next push', async (scene) => {
      await scene.fill(1);
      await scene.configure({ dedupWindowSeconds: 0 });
      expect(await scene.fill(1)).toMatchObject([{ status: 'queued' }]);
    }),
    rule('§12 a larger window applies within what is remembered', async (scene) => {
      await scene.configure({ dedupWindowSeconds: 1 });
      await scene.fill(1);
      await pause();
      await scene.configure({ dedupWindowSeconds: 3600 });
      expect(await scene.fill(1)).toMatchObject([{ status: 'duplicate', offset: 0 }]);
    }),
    rule('§12 of several originals the lowest offset answers', async (scene) => {
      await scene.configure({ dedupWindowSeconds: 1 });
      await scene.fill(1);
      await pause();
      expect(await scene.fill(1)).toMatchObject([{ status: 'queued', offset: 1 }]);
      await scene.configure({ dedupWindowSeconds: 3600 });
      expect(await scene.fill(1)).toMatchObject([{ status: 'duplicate', offset: 0 }]);
    }),
    rule('§12 acked messages still dedup', async (scene) => {
      await scene.fill(1);
      await scene.claim({ autoAck: true });
      expect(await scene.fill(1)).toMatchObject([{ status: 'duplicate' }]);
      expect(await scene.pop()).toBeUndefined();
    }),
    rule('§12 dead letters still dedup', async (scene) => {
      await scene.fill(1);
      await scene.bury();
      expect(await scene.fill(1)).toMatchObject([{ status: 'duplicate' }]);
    }),
    rule('§12 messages without an id are never duplicates', async (scene) => {
      const verdicts = await scene.push([1, 1, 1], { transactionId: null });
      expect(verdicts.map(({ status }) => status)).toEqual(Array(3).fill('queued'));
    }),
    brokenRule(
      '§12 a minted id can be repeated by the client',
      'minted ids are not remembered',
      async (scene) => {
        const [original] = await scene.push([1], { transactionId: null });
        const transactionId = original?.message_id ?? '';
        expect(await scene.fill(1, { transactionId })).toMatchObject([{ status: 'duplicate' }]);
      },
    ),
    rule('§12 concurrent pushes of one id store one message', async (scene) => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => scene.fill(1)));
      const statuses = answers.map(([verdict]) => String(verdict?.status)).toSorted();
      expect(statuses).toEqual([...Array(9).fill('duplicate'), 'queued']);
      expect((await scene.claim()).messages).toHaveLength(1);
    }),
    rule('§12 deleting the queue forgets its ids', async (scene) => {
      await scene.fill(1);
      await scene.client.deleteQueue(scene.queue);
      expect(await scene.fill(1)).toMatchObject([{ status: 'queued' }]);
    }),
    rule('§12 a transaction that repeats a stored id rolls back', async (scene) => {
      await scene.fill(1);
      const push = { type: 'push', queue: scene.queue, payload: 1, transactionId: 't0' };
      expect(await scene.post('/transaction', { operations: [push] })).toMatchObject({
        success: false,
        reason: 'duplicate',
      });
    }),
    rule('§12 a push that repeats an id of a transaction is a duplicate', async (scene) => {
      const push = { type: 'push', queue: scene.queue, payload: 1, transactionId: 't0' };
      await scene.post('/transaction', { operations: [push] });
      expect(await scene.fill(1)).toMatchObject([{ status: 'duplicate', offset: 0 }]);
    }),
    rule('§12 an ack resolves the id within the leased range', async (scene) => {
      await scene.configure({ dedupWindowSeconds: 0 });
      await scene.fill(1);
      await scene.ackAll(await scene.claim());
      await scene.fill(1);
      const batch = await scene.claim();
      expect(first(batch).offset).toBe(1);
      expect(await scene.ackAll(batch)).toMatchObject([{ success: true, noop: false }]);
    }),
    uncheckedRule('§12 the decision survives failover', 'needs a cluster'),
    uncheckedRule('§12 ids are kept max(window, retention, 900 s)', 'takes 15 minutes'),
  ],
};
