// What the broker adds to the reference; none of it changes a compatible answer.

import { expect } from 'vitest';
import { rule, uncheckedRule } from '../rule.ts';
import type { Section } from '../rule.ts';
import { expectJson } from '../../support/http-client.ts';
import type { Batch } from '../../support/wire.ts';
import { expectError, payloads } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';

async function keyed(scene: Scene, path: string, value: Json, key: string): Promise<string> {
  const headers = { 'idempotency-key': scene.name(key) };
  const body = JSON.stringify(value);
  return (await scene.client.request('POST', `/api/v1${path}`, { body, headers })).text;
}

async function keyedGet(scene: Scene, path: string): Promise<Batch> {
  const headers = { 'idempotency-key': scene.name('get') };
  return expectJson<Batch>(await scene.client.request('GET', `/api/v1${path}`, { headers }), 200);
}

/** Additions. */
export const ADDITIONS: Section = {
  title: 'additions',
  rules: [
    rule('§0 a push repeated with its Idempotency-Key gets the first answer', async (scene) => {
      const body = { items: [{ queue: scene.queue, payload: 1 }] };
      const once = await keyed(scene, '/push', body, 'k');
      expect(JSON.parse(once)).toMatchObject([{ status: 'queued', offset: 0 }]);
      expect(await keyed(scene, '/push', body, 'k')).toBe(once);
      expect((await scene.claim()).messages).toHaveLength(1);
    }),
    rule('§0 another Idempotency-Key is another request', async (scene) => {
      const body = { items: [{ queue: scene.queue, payload: 1 }] };
      await keyed(scene, '/push', body, 'k');
      await keyed(scene, '/push', body, 'l');
      expect((await scene.claim()).messages).toHaveLength(2);
    }),
    rule('§0 a transaction repeated with its Idempotency-Key is done once', async (scene) => {
      const body = { operations: [{ type: 'push', queue: scene.queue, payload: 1 }] };
      await keyed(scene, '/transaction', body, 'k');
      expect(JSON.parse(await keyed(scene, '/transaction', body, 'k'))).toMatchObject({
        success: true,
      });
      expect((await scene.claim()).messages).toHaveLength(1);
    }),
    rule('§0 the query counts as part of a request under an Idempotency-Key', async (scene) => {
      await scene.fill(2);
      const pop = (query: string) => keyedGet(scene, `/pop/queue/${scene.queue}?${query}`);
      expect(payloads(await pop('autoAck=true&batch=1'))).toEqual([0]);
      expect(payloads(await pop('batch=1&autoAck=true'))).toEqual([1]);
    }),
    rule('§0 a pop that commits delivers the same under its Idempotency-Key', async (scene) => {
      await scene.fill(3);
      const path = `/pop/queue/${scene.queue}?autoAck=true&batch=2`;
      expect(payloads(await keyedGet(scene, path))).toEqual([0, 1]);
      expect(payloads(await keyedGet(scene, path))).toEqual([0, 1]);
      expect(payloads(await scene.claim())).toEqual([2]);
    }),
    rule('§0 a seek repeated with its Idempotency-Key moves nothing', async (scene) => {
      await scene.fill(2);
      await scene.claim({ consumerGroup: scene.group, batch: 1 });
      const path = `/consumer-groups/${scene.group}/queues/${scene.queue}/seek`;
      const once = await keyed(scene, path, { toEnd: true }, 'k');
      expect(JSON.parse(once)).toMatchObject({ success: true, partitionsUpdated: 1 });
      await scene.push(['later'], { transactionId: 'later' });
      expect(await keyed(scene, path, { toEnd: true }, 'k')).toBe(once);
      expect(payloads(await scene.claim({ consumerGroup: scene.group }))).toEqual(['later']);
    }),
    rule('§0 a replay repeated with its Idempotency-Key gets the first answer', async (scene) => {
      await scene.fill(1);
      await scene.bury();
      const [letter] = await scene.letters();
      const { partitionId } = letter ?? {};
      for (const path of [
        `/dlq/${String(letter?.['id'])}/replay`,
        `/messages/${String(partitionId)}/t0/retry`,
      ]) {
        const once = await keyed(scene, path, {}, 'k');
        expect(await keyed(scene, path, {}, 'k')).toBe(once);
      }
      expect((await scene.claim()).messages).toHaveLength(1);
    }),
    rule('§0 several Idempotency-Keys are refused', async (scene) => {
      const body = JSON.stringify({ items: [{ queue: scene.queue, payload: 1 }] });
      const headers = { 'idempotency-key': ['a', 'b'] };
      const answer = await scene.client.request('POST', '/api/v1/push', { body, headers });
      expectError(answer, 400, 'bad_request');
    }),
    rule(
      '§0 a group called lagging is shown where its name is spelled another way',
      async (scene) => {
        await scene.fill(1);
        await scene.claim({ consumerGroup: 'lagging' });
        expect(await scene.get('/consumer-groups/lagging')).toBeInstanceOf(Array);
        expect(await scene.get('/consumer-groups/%6Cagging')).toHaveProperty([scene.queue]);
      },
    ),
    uncheckedRule('§0 an Idempotency-Key is remembered for 10 minutes', 'takes minutes'),
    uncheckedRule('§0 push and pop maintenance', 'would stop a shared broker; integration'),
  ],
};
