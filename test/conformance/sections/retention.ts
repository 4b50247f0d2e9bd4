// §13 of the reference: retention. Its loop runs every few seconds, so these cases wait for it.

import { expect } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { rule, uncheckedRule } from '../rule.ts';
import type { Section } from '../rule.ts';
import { payloads } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';

const DEADLINE_MS = 25_000;
const ENABLED = { retentionEnabled: true };

async function log(scene: Scene): Promise<Json> {
  const body = { entries: [{ queue: scene.queue, offset: 0 }] };
  const { entries } = await scene.post<{ entries: Json[] }>('/fetch', body);
  return entries[0] as Json;
}

async function startsAt(scene: Scene, logStartOffset: number): Promise<void> {
  await eventually(
    `a log that starts at ${logStartOffset}`,
    async () => (await log(scene))['logStartOffset'] === logStartOffset,
    DEADLINE_MS,
  );
}

/** Waits until a control queue with the same age limit was cut: long enough for the other one. */
async function onePass(scene: Scene): Promise<void> {
  const queue = scene.name('control');
  await scene.post('/configure', { queue, options: { ...ENABLED, retentionSeconds: 1 } });
  await scene.fill(1, { queue });
  await eventually(
    'a pass of retention',
    async () => {
      const body = { entries: [{ queue, offset: 1 }] };
      const { entries } = await scene.post<{ entries: Json[] }>('/fetch', body);
      return entries[0]?.['logStartOffset'] === 1;
    },
    DEADLINE_MS,
  );
}

/** §13. */
export const RETENTION: Section = {
  title: '13 retention',
  rules: [
    rule('§13 retention is off by default', async (scene) => {
      await scene.configure({ retentionSeconds: 1 });
      await scene.fill(1);
      await onePass(scene);
      expect(await log(scene)).toMatchObject({ logStartOffset: 0 });
    }),
    rule('§13 retentionSeconds removes what is older, consumed or not', async (scene) => {
      await scene.configure({ ...ENABLED, retentionSeconds: 1 });
      await scene.fill(2);
      await startsAt(scene, 2);
      expect(await scene.pop()).toBeUndefined();
    }),
    rule('§13 completedRetentionSeconds removes what every cursor passed', async (scene) => {
      await scene.configure({ ...ENABLED, completedRetentionSeconds: 1 });
      for (let i = 0; i < 2; i += 1) await scene.push([i], { transactionId: null });
      await scene.claim({ autoAck: true, batch: 1 });
      await startsAt(scene, 1);
      expect(payloads(await scene.claim())).toEqual([1]);
    }),
    rule('§13 completedRetentionSeconds waits for the slowest cursor', async (scene) => {
      await scene.configure({ ...ENABLED, completedRetentionSeconds: 1 });
      await scene.fill(1);
      const slow = await scene.claim({ consumerGroup: scene.group });
      await scene.ack(slow, [{ at: 0, status: 'retry' }], scene.group);
      await scene.claim({ autoAck: true });
      await onePass(scene);
      expect(await log(scene)).toMatchObject({ logStartOffset: 0 });
    }),
    rule('§13 completedRetentionSeconds without a cursor keeps everything', async (scene) => {
      await scene.configure({ ...ENABLED, completedRetentionSeconds: 1 });
      await scene.fill(1);
      await onePass(scene);
      expect(await log(scene)).toMatchObject({ logStartOffset: 0 });
    }),
    rule('§13 maxWaitTimeSeconds needs no retentionEnabled', async (scene) => {
      await scene.configure({ maxWaitTimeSeconds: 1 });
      await scene.fill(1);
      await startsAt(scene, 1);
      expect(await scene.letters()).toEqual([]);
    }),
    rule('§13 a live lease does not protect', async (scene) => {
      await scene.configure({ ...ENABLED, retentionSeconds: 1 });
      await scene.fill(1);
      await scene.claim({ leaseSeconds: 100 });
      await startsAt(scene, 1);
    }),
    rule('§13 a consumer below the start goes on at the first survivor', async (scene) => {
      await scene.configure({ ...ENABLED, retentionSeconds: 1 });
      await scene.fill(2);
      await startsAt(scene, 2);
      await scene.push(['later'], { transactionId: null });
      const batch = await scene.claim({ consumerGroup: scene.group });
      expect(batch.messages).toMatchObject([{ data: 'later', offset: 2 }]);
    }),
    rule('§13 an offset below the start is out of range', async (scene) => {
      await scene.configure({ ...ENABLED, retentionSeconds: 1 });
      await scene.fill(1);
      await startsAt(scene, 1);
      expect(await log(scene)).toMatchObject({ error: 'OFFSET_OUT_OF_RANGE', highWatermark: 1 });
    }),
    rule('§13 dead letters are unaffected', async (scene) => {
      await scene.configure({ ...ENABLED, retentionSeconds: 1 });
      await scene.fill(1);
      await scene.bury();
      await startsAt(scene, 1);
      expect(await scene.letters()).toMatchObject([{ payload: 0 }]);
    }),
    rule('§13 the memory of ids is unaffected', async (scene) => {
      await scene.configure({ ...ENABLED, retentionSeconds: 1 });
      await scene.fill(1);
      await startsAt(scene, 1);
      expect(await scene.fill(1)).toMatchObject([{ status: 'duplicate', offset: 0 }]);
    }),
    uncheckedRule('§13 a sink hold keeps messages', 'sinks are not served yet'),
    uncheckedRule('§13 partitions are removed after PARTITION_CLEANUP_DAYS', 'takes days'),
  ],
};
