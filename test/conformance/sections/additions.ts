// What the broker adds to the reference; none of it changes a compatible answer.

import { expect } from 'vitest';
import { rule, uncheckedRule } from '../rule.ts';
import type { Section } from '../rule.ts';
import type { Json, Scene } from '../scene.ts';

async function keyed(scene: Scene, path: string, value: Json, key: string): Promise<string> {
  const headers = { 'idempotency-key': scene.name(key) };
  const body = JSON.stringify(value);
  return (await scene.client.request('POST', `/api/v1${path}`, { body, headers })).text;
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
    uncheckedRule('§0 an Idempotency-Key is remembered for 10 minutes', 'takes minutes'),
    uncheckedRule('§0 push and pop maintenance', 'would stop a shared broker; integration'),
  ],
};
