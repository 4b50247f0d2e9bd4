// §4 of the reference: POST /api/v1/lease/:leaseId/extend.

import { expect } from 'vitest';
import { expectJson } from '../../support/http-client.ts';
import type { Extension } from '../../support/wire.ts';
import { rule, uncheckedRule } from '../rule.ts';
import type { Section } from '../rule.ts';
import { expectKeys, MILLISECONDS, payloads } from '../scene.ts';
import type { Scene } from '../scene.ts';

const UNKNOWN_LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';
const KEYS = 'leaseId success renewed newExpiresAt expiresAt lease_expires_at';

async function extend(scene: Scene, leaseId: string, body: string): Promise<Extension> {
  return expectJson<Extension>(await scene.text(`/lease/${leaseId}/extend`, body), 200);
}

function secondsLeft({ newExpiresAt }: Extension): number {
  return (Date.parse(newExpiresAt ?? '') - Date.now()) / 1000;
}

async function shortLease(scene: Scene): Promise<string> {
  await scene.fill(1);
  return (await scene.claim({ leaseSeconds: 10 })).leaseId;
}

/** §4. */
export const LEASE: Section = {
  title: '4 lease',
  rules: [
    rule('§4 the answer has its keys in order', async (scene) => {
      expectKeys(await extend(scene, await shortLease(scene), '{"seconds":30}'), KEYS);
    }),
    rule('§4 an unsuccessful answer has the same keys', async (scene) => {
      expectKeys(await extend(scene, UNKNOWN_LEASE, '{}'), KEYS);
    }),
    rule('§4 a live lease is extended to now + seconds', async (scene) => {
      const leaseId = await shortLease(scene);
      const extension = await extend(scene, leaseId, '{"seconds":300}');
      expect(extension).toMatchObject({ leaseId, success: true, renewed: 1 });
      expect(Math.abs(secondsLeft(extension) - 300)).toBeLessThan(15);
    }),
    ...['', '{}', 'nonsense', '[]', '{"seconds":null}'].map((body) =>
      rule(`§4 the body ${JSON.stringify(body)} means 60 s`, async (scene) => {
        const extension = await extend(scene, await shortLease(scene), body);
        expect(Math.abs(secondsLeft(extension) - 60)).toBeLessThan(15);
      }),
    ),
    ...[0, -7].map((seconds) =>
      rule(`§4 ${seconds} seconds are 1 and shorten nothing`, async (scene) => {
        const extension = await extend(scene, await shortLease(scene), `{"seconds":${seconds}}`);
        expect(extension.success).toBe(true);
        expect(secondsLeft(extension)).toBeGreaterThan(1);
      }),
    ),
    rule('§4 an extension never shortens', async (scene) => {
      const leaseId = await shortLease(scene);
      const far = await extend(scene, leaseId, '{"seconds":500}');
      expect((await extend(scene, leaseId, '{"seconds":5}')).newExpiresAt).toBe(far.newExpiresAt);
    }),
    rule('§4 all partitions of the pop are extended', async (scene) => {
      for (const partition of ['a', 'b', 'c']) await scene.fill(1, { partition });
      const { leaseId } = await scene.claim({ partitions: 3 });
      expect((await extend(scene, leaseId, '{}')).renewed).toBe(3);
    }),
    rule('§4 partitions that were acked are not counted', async (scene) => {
      for (const partition of ['a', 'b']) await scene.fill(1, { partition });
      const batch = await scene.claim({ partitions: 2 });
      await scene.ack(batch, [0]);
      expect((await extend(scene, batch.leaseId, '{}')).renewed).toBe(1);
    }),
    rule('§4 the three expiry keys are equal', async (scene) => {
      const extension = await extend(scene, await shortLease(scene), '{}');
      expect(extension.newExpiresAt).toMatch(MILLISECONDS);
      expect(extension.expiresAt).toBe(extension.newExpiresAt);
      expect(extension.lease_expires_at).toBe(extension.newExpiresAt);
    }),
    rule('§4 an unknown lease is 200 with success false', async (scene) => {
      expect(await extend(scene, UNKNOWN_LEASE, '{}')).toEqual({
        leaseId: UNKNOWN_LEASE,
        success: false,
        renewed: 0,
        newExpiresAt: null,
        expiresAt: null,
        lease_expires_at: null,
      });
    }),
    rule('§4 a lease id that is none is 200 with success false', async (scene) => {
      expect(await extend(scene, 'nonsense', '{}')).toMatchObject({ success: false, renewed: 0 });
    }),
    rule('§4 a released lease is as unknown', async (scene) => {
      await scene.fill(1);
      const batch = await scene.claim();
      await scene.ackAll(batch);
      expect(await extend(scene, batch.leaseId, '{}')).toMatchObject({
        success: false,
        newExpiresAt: null,
      });
    }),
    rule('§4 an expired lease is as unknown', async (scene) => {
      await scene.fill(1);
      const { leaseId } = await scene.claim({ leaseSeconds: 1 });
      await scene.claimLater();
      expect(await extend(scene, leaseId, '{}')).toMatchObject({ success: false, renewed: 0 });
    }),
    rule('§4 an extended lease outlives its first expiry', async (scene) => {
      await scene.fill(1);
      const { leaseId } = await scene.claim({ leaseSeconds: 1 });
      await extend(scene, leaseId, '{"seconds":60}');
      expect(await scene.pop({ wait: true, timeout: 2_500 })).toBeUndefined();
      await scene.push(['other'], { partition: 'other' });
      expect(payloads(await scene.claim())).toEqual(['other']);
    }),
    rule('§4 an extended lease still takes acks', async (scene) => {
      await scene.fill(1);
      const batch = await scene.claim();
      await extend(scene, batch.leaseId, '{"seconds":60}');
      expect(await scene.ackAll(batch)).toMatchObject([{ success: true, leaseReleased: true }]);
    }),
    uncheckedRule('§4 leases of another tenant are unknown', 'tenancy is off'),
  ],
};
