// §2.6 of the reference: pops that deliver the last value per partition.

import { expect } from 'vitest';
import { expectJson } from '../../support/http-client.ts';
import type { Batch } from '../../support/wire.ts';
import { rule } from '../rule.ts';
import type { Rule } from '../rule.ts';
import { expectError, expectKeys, first, payloads } from '../scene.ts';
import type { Json, Query, Scene } from '../scene.ts';

const TOP_KEYS =
  'success queue partition partitionId leaseId consumerGroup messages partitionsClaimed conflation';

async function pop(scene: Scene, query: Query = {}): Promise<Batch & Json> {
  const answer = await scene.popAnswer(`/queue/${scene.queue}`, {
    consumerGroup: scene.group,
    conflation: true,
    ...query,
  });
  return expectJson<Batch & Json>(answer, 200);
}

/** §2.6. */
export const CONFLATION: readonly Rule[] = [
  rule('§2.6 a conflating pop delivers the newest message of a partition', async (scene) => {
    await scene.fill(5);
    expect(payloads(await pop(scene))).toEqual([4]);
  }),
  rule('§2.6 a conflating pop delivers one message per partition', async (scene) => {
    for (const partition of ['a', 'b', 'c']) await scene.fill(3, { partition });
    const batch = await pop(scene, { batch: 10 });
    expect([batch.partitionsClaimed, payloads(batch)]).toEqual([3, [2, 2, 2]]);
  }),
  rule('§2.6 batch bounds how many partitions a conflating pop claims', async (scene) => {
    for (const partition of ['a', 'b', 'c']) await scene.fill(1, { partition });
    expect((await pop(scene, { batch: 2 })).messages).toHaveLength(2);
  }),
  rule('§2.6 the echo comes last', async (scene) => {
    await scene.fill(1);
    const batch = await pop(scene);
    expectKeys(batch, TOP_KEYS);
    expect(batch['conflation']).toBe(true);
  }),
  rule('§2.6 an empty conflating pop is 200 with the echo', async (scene) => {
    const batch = await pop(scene);
    expectKeys(batch, TOP_KEYS);
    expect(batch).toMatchObject({
      success: true,
      partition: '',
      partitionId: '',
      leaseId: '',
      messages: [],
      partitionsClaimed: 0,
      conflation: true,
    });
  }),
  rule('§2.6 an ordinary pop carries no conflation keys', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    expect(batch).not.toHaveProperty('conflation');
    expect(batch).not.toHaveProperty('conflationConflict');
  }),
  rule('§2.6 conflation without a group is a 400 of its own shape', async (scene) => {
    const answer = await scene.popAnswer(`/queue/${scene.queue}`, { conflation: true });
    const body = expectError(answer, 400);
    expectKeys(body, 'success error messages');
    expect(body).toMatchObject({ success: false, messages: [] });
  }),
  ...['autoAck', 'commitOnDelivery'].map((flag) =>
    rule(`§2.6 conflation together with ${flag} is a 400 that names both`, async (scene) => {
      const query = { consumerGroup: scene.group, conflation: true, [flag]: true };
      const body = expectError(await scene.popAnswer(`/queue/${scene.queue}`, query), 400);
      expect(body['error']).toMatch(/conflation/);
      expect(body['error']).toMatch(/autoAck|commitOnDelivery/);
    }),
  ),
  rule('§2.6 completing completes the whole span', async (scene) => {
    await scene.fill(5);
    expect(await scene.ackAll(await pop(scene), scene.group)).toMatchObject([
      { success: true, leaseReleased: true },
    ]);
    expect(payloads(await pop(scene))).toEqual([]);
  }),
  rule('§2.6 a message pushed after the claim is delivered next', async (scene) => {
    await scene.fill(2);
    const batch = await pop(scene);
    await scene.push(['later'], { transactionId: null });
    await scene.ackAll(batch, scene.group);
    expect(payloads(await pop(scene))).toEqual(['later']);
  }),
  rule('§2.6 superseded redeliveries keep counting', async (scene) => {
    await scene.fill(2);
    await scene.ack(await pop(scene), [{ at: 0, status: 'retry' }], scene.group);
    await scene.push(['later'], { transactionId: null });
    const again = await pop(scene);
    expect(first(again)).toMatchObject({ data: 'later', deliveryAttempt: 2 });
  }),
  rule('§2.6 filing retires the superseded messages too', async (scene) => {
    await scene.fill(3);
    await scene.ack(await pop(scene), [{ at: 0, status: 'dlq' }], scene.group);
    expect(await scene.letters()).toMatchObject([{ offset: 2 }]);
    expect(payloads(await pop(scene))).toEqual([]);
  }),
  rule('§2.6 a conflating group stays so without the parameter', async (scene) => {
    await pop(scene);
    await scene.fill(3);
    const batch = await scene.claim({ consumerGroup: scene.group });
    expect(payloads(batch)).toEqual([2]);
    expect(batch).toMatchObject({ conflation: true });
  }),
  rule('§2.6 asking an ordinary group for it is a conflict', async (scene) => {
    await scene.pop({ consumerGroup: scene.group });
    await scene.fill(2);
    const batch = await pop(scene);
    expect(payloads(batch)).toEqual([0, 1]);
    expect(batch['conflationConflict']).toBe(true);
    expect(batch).not.toHaveProperty('conflation');
  }),
  rule('§2.6 an empty pop with a conflict is 200 too', async (scene) => {
    await scene.pop({ consumerGroup: scene.group });
    expect(await pop(scene)).toMatchObject({ messages: [], conflationConflict: true });
  }),
  rule('§2.6 an explicit false on a conflating group is a conflict', async (scene) => {
    await pop(scene);
    await scene.fill(2);
    const batch = await pop(scene, { conflation: false });
    expect(payloads(batch)).toEqual([1]);
    expect(batch).toMatchObject({ conflation: true, conflationConflict: true });
  }),
  rule('§2.6 delayed messages are not the newest yet', async (scene) => {
    await scene.fill(1);
    await scene.configure({ delayedProcessing: 600 });
    await scene.push(['deferred'], { transactionId: null });
    expect(payloads(await pop(scene))).toEqual([]);
  }),
  rule('§2.6 at most 64 messages come per call', async (scene) => {
    const items = Array.from({ length: 70 }, (_, i) => ({
      queue: scene.queue,
      partition: `p${i}`,
      payload: i,
    }));
    await scene.client.push(items);
    expect((await pop(scene)).messages).toHaveLength(64);
  }),
  rule('§2.6 the depth of a conflating group counts partitions', async (scene) => {
    await pop(scene);
    for (const partition of ['a', 'b']) await scene.fill(3, { partition });
    expect(
      await scene.get(`/resources/queues/${scene.queue}/depth?group=${scene.group}`),
    ).toMatchObject({ pending: 6, conflation: true, effectivePending: 2, effectiveReady: 2 });
  }),
];
