// §3 of the reference: POST /api/v1/ack and /api/v1/ack/batch.

import { expect } from 'vitest';
import type { AckVerdict } from '../../support/wire.ts';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { ackItem, expectError, expectKeys, first, payloads } from '../scene.ts';

const VERDICT_KEYS = 'index transactionId success error leaseReleased dlq noop';
const FOREIGN_LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';
const INVALID_LEASE = /invalid or expired lease/i;

const BAD_BODIES = ['', 'ok', '[]', 'null', '{"acknowledgments":"all"}', '{"acknowledgments":[1]}'];

const requests: readonly Rule[] = [
  ...['/ack', '/ack/batch'].flatMap((path) => [
    rule(`§3 ${path} takes the single form`, async (scene) => {
      await scene.fill(1);
      const verdicts = await scene.post<AckVerdict[]>(path, ackItem(await scene.claim(), 0));
      expect(verdicts).toMatchObject([{ index: 0, success: true, leaseReleased: true }]);
    }),
    rule(`§3 ${path} takes the batch form`, async (scene) => {
      await scene.fill(2);
      const batch = await scene.claim();
      const acknowledgments = [ackItem(batch, 0), ackItem(batch, 1)];
      const verdicts = await scene.post<AckVerdict[]>(path, { acknowledgments });
      expect(verdicts).toMatchObject([{ success: true }, { success: true }]);
    }),
    ...BAD_BODIES.map((body) =>
      rule(`§3 ${path} refuses the body ${JSON.stringify(body)} with 400`, async (scene) => {
        expect(expectError(await scene.text(path, body), 400)['code']).toMatch(/^bad_/);
      }),
    ),
  ]),
  rule('§3 the group of the request counts', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    expect(await scene.ackAll(batch, scene.group)).toMatchObject([{ success: true }]);
    expect(payloads(await scene.claim())).toEqual([0]);
  }),
  rule('§3 a group per item is ignored', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    const item = { ...ackItem(batch, 0), consumerGroup: scene.group };
    const [verdict] = await scene.post<AckVerdict[]>('/ack', { acknowledgments: [item] });
    expect(verdict?.success).toBe(false);
  }),
  ...[null, 7, undefined].map((consumerGroup) =>
    rule(
      `§3 consumerGroup ${consumerGroup ?? String(consumerGroup)} is queue mode`,
      async (scene) => {
        await scene.fill(1);
        const acknowledgments = [ackItem(await scene.claim(), 0)];
        const verdicts = await scene.post('/ack/batch', { acknowledgments, consumerGroup });
        expect(verdicts).toMatchObject([{ success: true }]);
      },
    ),
  ),
  ...['', 'nonsense', FOREIGN_LEASE, '4294967295', '-1', '1.5'].map((partitionId) =>
    rule(`§3 partitionId "${partitionId}" fails its item alone`, async (scene) => {
      await scene.fill(1);
      const batch = await scene.claim();
      const [bad, good] = await scene.ack(batch, [{ at: 0, partitionId }, 0]);
      expect(bad).toMatchObject({ success: false, leaseReleased: false, dlq: false });
      expect(bad?.error).toMatch(/partition/i);
      expect(good).toMatchObject({ success: true });
    }),
  ),
  ...[null, ''].map((leaseId) =>
    rule(`§3 leaseId ${JSON.stringify(leaseId)} is unfenced`, async (scene) => {
      await scene.fill(1);
      const verdicts = await scene.ack(await scene.claim(), [{ at: 0, leaseId }]);
      expect(verdicts).toMatchObject([{ success: true, leaseReleased: true }]);
    }),
  ),
  rule('§3 an absent leaseId is unfenced', async (scene) => {
    await scene.fill(1);
    const { transactionId, partitionId } = ackItem(await scene.claim(), 0);
    const verdicts = await scene.client.ack([{ transactionId, partitionId }]);
    expect(verdicts).toMatchObject([{ success: true, leaseReleased: true }]);
  }),
  ...['completed', 'success', 'acked', 'ok', 'COMPLETED', 'Ok'].map((status) =>
    rule(`§3 status "${status}" completes`, async (scene) => {
      await scene.fill(2);
      const verdicts = await scene.ack(await scene.claim(), [{ at: 1, status }]);
      expect(verdicts).toMatchObject([{ success: true, leaseReleased: true, dlq: false }]);
      expect(await scene.pop()).toBeUndefined();
    }),
  ),
  ...['failed', 'FAILED', 'retry', 'Retry'].map((status) =>
    rule(`§3 status "${status}" redelivers`, async (scene) => {
      await scene.fill(1);
      const verdicts = await scene.ack(await scene.claim(), [{ at: 0, status }]);
      expect(verdicts).toMatchObject([{ success: true, leaseReleased: true, dlq: false }]);
      expect(payloads(await scene.claim())).toEqual([0]);
    }),
  ),
  ...['dlq', 'DLQ'].map((status) =>
    rule(`§3 status "${status}" files a dead letter`, async (scene) => {
      await scene.fill(1);
      const verdicts = await scene.ack(await scene.claim(), [{ at: 0, status }]);
      expect(verdicts).toMatchObject([{ success: true, leaseReleased: true, dlq: true }]);
      expect(await scene.letters()).toHaveLength(1);
    }),
  ),
  ...['done', '', 'fail'].map((status) =>
    rule(`§3 status "${status}" fails its item, nothing changes`, async (scene) => {
      await scene.fill(1);
      const batch = await scene.claim();
      const [verdict] = await scene.ack(batch, [{ at: 0, status }]);
      expect(verdict).toMatchObject({ success: false, leaseReleased: false, dlq: false });
      expect(verdict?.error).toMatch(/status/i);
      expect(await scene.ackAll(batch)).toMatchObject([{ success: true, leaseReleased: true }]);
    }),
  ),
  rule('§3 an absent status completes', async (scene) => {
    await scene.fill(1);
    await scene.ack(await scene.claim(), [0]);
    expect(await scene.pop()).toBeUndefined();
  }),
  rule('§3 the error of an item is kept on its dead letter', async (scene) => {
    await scene.fill(1);
    await scene.bury(1, 'poisoned');
    expect(await scene.letters()).toMatchObject([{ errorMessage: 'poisoned' }]);
  }),
  rule('§3 an error that is null is accepted', async (scene) => {
    await scene.fill(1);
    const verdicts = await scene.ack(await scene.claim(), [{ at: 0, status: 'dlq', error: null }]);
    expect(verdicts).toMatchObject([{ success: true, dlq: true }]);
    expect((await scene.letters())[0]?.['errorMessage']).toMatch(/\w/);
  }),
];

const response: readonly Rule[] = [
  rule('§3.1 a verdict has its keys in order', async (scene) => {
    await scene.fill(1);
    expectKeys((await scene.ackAll(await scene.claim()))[0], VERDICT_KEYS);
  }),
  rule('§3.1 a refused verdict has the same keys', async (scene) => {
    await scene.fill(1);
    const [verdict] = await scene.ack(await scene.claim(), [{ at: 0, leaseId: FOREIGN_LEASE }]);
    expectKeys(verdict, VERDICT_KEYS);
  }),
  rule('§3.1 there is one verdict per item, in request order', async (scene) => {
    await scene.fill(20);
    const batch = await scene.claim();
    const at = [...Array(20).keys()].toReversed();
    const verdicts = await scene.ack(batch, at);
    expect(verdicts.map(({ index }) => index)).toEqual([...Array(20).keys()]);
    expect(verdicts.map(({ transactionId }) => transactionId)).toEqual(at.map((i) => `t${i}`));
  }),
  rule('§3.1 repeated items get a verdict each', async (scene) => {
    await scene.fill(1);
    expect(await scene.ack(await scene.claim(), [0, 0, 0])).toHaveLength(3);
  }),
  rule('§3.1 error is null on success', async (scene) => {
    await scene.fill(1);
    expect((await scene.ackAll(await scene.claim()))[0]?.error).toBeNull();
  }),
  rule('§3.1 leaseReleased is the same for all items of a target', async (scene) => {
    await scene.fill(3);
    const verdicts = await scene.ack(await scene.claim(), [0, { at: 1, status: 'retry' }]);
    expect(verdicts.map(({ leaseReleased }) => leaseReleased)).toEqual([true, true]);
  }),
  rule('§3.1 dlq marks the filed item only', async (scene) => {
    await scene.fill(2);
    const verdicts = await scene.ack(await scene.claim(), [0, { at: 1, status: 'dlq' }]);
    expect(verdicts.map(({ dlq }) => dlq)).toEqual([false, true]);
  }),
  rule('§3.1 completing below the cursor is a successful noop', async (scene) => {
    await scene.fill(2);
    const batch = await scene.claim();
    await scene.ack(batch, [0]);
    expect(await scene.ack(batch, [{ at: 0, leaseId: null }])).toMatchObject([
      { success: true, error: null, noop: true },
    ]);
  }),
  ...[FOREIGN_LEASE, 'not-a-lease'].map((leaseId) =>
    rule(`§3.1 the lease ${leaseId} is an invalid or expired lease`, async (scene) => {
      await scene.fill(1);
      const batch = await scene.claim();
      const [verdict] = await scene.ack(batch, [{ at: 0, leaseId }]);
      expect(verdict?.success).toBe(false);
      expect(verdict?.error).toMatch(INVALID_LEASE);
    }),
  ),
  rule('§3.1 a lease that ran out is refused after its redelivery', async (scene) => {
    await scene.fill(1);
    const slow = await scene.claim({ leaseSeconds: 1 });
    await scene.claimLater();
    const [verdict] = await scene.ackAll(slow);
    expect(verdict?.success).toBe(false);
    expect(verdict?.error).toMatch(INVALID_LEASE);
  }),
  rule('§3.1 an id that is not in range is unresolvable or already committed', async (scene) => {
    await scene.fill(1);
    const [verdict] = await scene.ack(await scene.claim(), [{ at: 0, transactionId: 'unheard' }]);
    expect(verdict?.error).toMatch(/unresolv[\s\S]*committed/i);
  }),
  ...['failed', 'retry', 'dlq'].map((status) =>
    rule(`§3.1 ${status} of a committed message is refused`, async (scene) => {
      await scene.fill(2);
      const batch = await scene.claim();
      await scene.ack(batch, [0]);
      const [verdict] = await scene.ack(batch, [{ at: 0, status }]);
      expect(verdict).toMatchObject({ success: false, dlq: false });
      expect(verdict?.error).toMatch(/unresolv[\s\S]*committed/i);
    }),
  ),
  rule('§3.1 a group without a cursor there is refused', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim();
    const [verdict] = await scene.ack(batch, [{ at: 0, leaseId: null }], scene.group);
    expect(verdict?.success).toBe(false);
  }),
  rule('§3.1 a rejected item does not touch the lease', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim();
    await scene.ack(batch, [{ at: 0, leaseId: FOREIGN_LEASE }]);
    expect(await scene.client.extend(batch.leaseId)).toMatchObject({ success: true });
  }),
];

const completing: readonly Rule[] = [
  rule('§3.2 a repeat of the ack that settled the lease succeeds again', async (scene) => {
    await scene.fill(2);
    const batch = await scene.claim();
    await scene.ackAll(batch);
    expect(await scene.ackAll(batch)).toMatchObject(
      Array(2).fill({ success: true, error: null, leaseReleased: true }),
    );
  }),
  rule('§3.2 a repeat of a partial ack is a success', async (scene) => {
    await scene.fill(3);
    const batch = await scene.claim();
    await scene.ack(batch, [0]);
    expect(await scene.ack(batch, [0])).toMatchObject([{ success: true }]);
  }),
  rule('§3.2 after a release for redelivery the repeat is refused', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim();
    await scene.ack(batch, [{ at: 0, status: 'retry' }]);
    const [verdict] = await scene.ack(batch, [{ at: 0, status: 'retry' }]);
    expect(verdict?.success).toBe(false);
    expect(verdict?.error).toMatch(INVALID_LEASE);
  }),
  rule('§3.2 an unfenced ack acts on the lease of another worker', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim();
    expect(await scene.ack(batch, [{ at: 0, leaseId: null }])).toMatchObject([
      { success: true, leaseReleased: true },
    ]);
    expect(await scene.client.extend(batch.leaseId)).toMatchObject({ success: false });
  }),
  rule('§3.2 completing the highest message completes everything below', async (scene) => {
    await scene.fill(4);
    expect(await scene.ack(await scene.claim(), [3])).toMatchObject([{ leaseReleased: true }]);
    expect(await scene.pop()).toBeUndefined();
  }),
  rule('§3.2 completing a middle message keeps the lease', async (scene) => {
    await scene.fill(4);
    const batch = await scene.claim();
    expect(await scene.ack(batch, [1])).toMatchObject([{ success: true, leaseReleased: false }]);
    expect(await scene.pop()).toBeUndefined();
    expect(await scene.ack(batch, [3])).toMatchObject([{ success: true, leaseReleased: true }]);
  }),
  rule('§3.2 what was not completed comes again after expiry', async (scene) => {
    await scene.fill(4);
    const batch = await scene.claim({ leaseSeconds: 1 });
    await scene.ack(batch, [1]);
    expect(payloads(await scene.claimLater())).toEqual([2, 3]);
  }),
  rule('§3.2 targets are processed independently of each other', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(2, { partition });
    const batch = await scene.claim({ partitions: 2 });
    const verdicts = await scene.ack(batch, [1, { at: 2, status: 'retry' }]);
    expect(verdicts).toMatchObject([
      { success: true, leaseReleased: true },
      { success: true, leaseReleased: true },
    ]);
    const again = await scene.claim({ partitions: 2 });
    expect([again.partitionsClaimed, payloads(again)]).toEqual([1, [0, 1]]);
  }),
  rule('§3.2 one bad lease does not stop the items of another', async (scene) => {
    await scene.fill(1);
    const verdicts = await scene.ack(await scene.claim(), [{ at: 0, leaseId: FOREIGN_LEASE }, 0]);
    expect(verdicts.map(({ success }) => success)).toEqual([false, true]);
  }),
];

const signals: readonly Rule[] = [
  rule('§3.2 retry redelivers from the first unacked message', async (scene) => {
    await scene.fill(4);
    await scene.ack(await scene.claim(), [1, { at: 2, status: 'retry' }]);
    expect(payloads(await scene.claim())).toEqual([2, 3]);
  }),
  rule(
    '§3.2 retry without completed ones redelivers from the start of the batch',
    async (scene) => {
      await scene.fill(3);
      await scene.ack(await scene.claim(), [{ at: 2, status: 'retry' }]);
      expect(payloads(await scene.claim())).toEqual([0, 1, 2]);
    },
  ),
  rule('§3.2 retry never uses up the retry limit', async (scene) => {
    await scene.configure({ retryLimit: 0 });
    await scene.fill(1);
    for (let i = 0; i < 3; i += 1) {
      await scene.ack(await scene.claim(), [{ at: 0, status: 'retry' }]);
    }
    expect(first(await scene.claim()).deliveryAttempt).toBe(4);
  }),
  rule('§3.2 failed redelivers completed messages above it', async (scene) => {
    await scene.fill(5);
    await scene.ack(await scene.claim(), [0, 1, { at: 2, status: 'failed' }, 4]);
    expect(payloads(await scene.claim())).toEqual([2, 3, 4]);
  }),
  rule('§3.2 three failed redeliver, the fourth files: retryLimit 3', async (scene) => {
    await scene.fill(1);
    const filed: boolean[] = [];
    for (let i = 0; i < 4; i += 1) {
      const [verdict] = await scene.ack(await scene.claim(), [{ at: 0, status: 'failed' }]);
      filed.push(verdict?.dlq ?? false);
    }
    expect(filed).toEqual([false, false, false, true]);
    expect(await scene.letters()).toMatchObject([{ retryCount: 3 }]);
  }),
  rule('§3.2 retryLimit 0 files the first failed', async (scene) => {
    await scene.configure({ retryLimit: 0 });
    await scene.fill(2);
    const verdicts = await scene.ack(await scene.claim(), [{ at: 0, status: 'failed' }]);
    expect(verdicts).toMatchObject([{ success: true, dlq: true, leaseReleased: true }]);
    expect(payloads(await scene.claim())).toEqual([1]);
  }),
  rule('§3.2 a negative retryLimit is used as 0', async (scene) => {
    await scene.configure({ retryLimit: -4 });
    await scene.fill(1);
    const verdicts = await scene.ack(await scene.claim(), [{ at: 0, status: 'failed' }]);
    expect(verdicts).toMatchObject([{ dlq: true }]);
  }),
  rule('§3.2 with dead letters off an exhausted message is dropped', async (scene) => {
    await scene.configure({ retryLimit: 0, deadLetterQueue: false, dlqAfterMaxRetries: false });
    await scene.fill(2);
    const verdicts = await scene.ack(await scene.claim(), [{ at: 0, status: 'failed' }]);
    expect(verdicts).toMatchObject([{ success: true, dlq: false, leaseReleased: true }]);
    expect(payloads(await scene.claim())).toEqual([1]);
    expect(await scene.letters()).toEqual([]);
  }),
  ...['deadLetterQueue', 'dlqAfterMaxRetries'].map((option) =>
    rule(`§3.2 ${option} alone keeps dead letters on`, async (scene) => {
      const off = { deadLetterQueue: false, dlqAfterMaxRetries: false };
      await scene.configure({ retryLimit: 0, ...off, [option]: true });
      await scene.fill(1);
      await scene.ack(await scene.claim(), [{ at: 0, status: 'failed' }]);
      expect(await scene.letters()).toHaveLength(1);
    }),
  ),
  rule('§3.2 a call with several failed charges the counter once', async (scene) => {
    await scene.configure({ retryLimit: 2 });
    await scene.fill(3);
    const failAll = [0, 1, 2].map((at) => ({ at, status: 'failed' }));
    await scene.ack(await scene.claim(), failAll);
    await scene.ack(await scene.claim(), failAll);
    expect(await scene.letters()).toEqual([]);
  }),
  rule('§3.2 the counter starts anew after a completed batch', async (scene) => {
    await scene.configure({ retryLimit: 1 });
    await scene.fill(2);
    await scene.ack(await scene.claim({ batch: 1 }), [{ at: 0, status: 'failed' }]);
    await scene.ackAll(await scene.claim({ batch: 1 }));
    await scene.ack(await scene.claim({ batch: 1 }), [{ at: 0, status: 'failed' }]);
    expect(await scene.letters()).toEqual([]);
  }),
  rule('§3.2 the counter starts anew after a filing', async (scene) => {
    await scene.configure({ retryLimit: 1 });
    await scene.fill(2);
    for (let i = 0; i < 3; i += 1) {
      await scene.ack(await scene.claim({ batch: 1 }), [{ at: 0, status: 'failed' }]);
    }
    expect(await scene.letters()).toHaveLength(1);
  }),
  rule('§3.2 dlq files now and completes what is named', async (scene) => {
    await scene.fill(4);
    await scene.ack(await scene.claim(), [0, { at: 1, status: 'dlq' }, 2]);
    expect(payloads(await scene.claim())).toEqual([3]);
  }),
  rule('§3.2 several dlq of one call are all filed', async (scene) => {
    await scene.fill(3);
    await scene.bury(3);
    expect(await scene.letters()).toHaveLength(3);
    expect(await scene.pop()).toBeUndefined();
  }),
  rule('§3.2 the lowest offset is the head: failed below dlq', async (scene) => {
    await scene.fill(3);
    const verdicts = await scene.ack(await scene.claim(), [
      { at: 0, status: 'failed' },
      { at: 1, status: 'dlq' },
    ]);
    expect(verdicts.map(({ dlq }) => dlq)).toEqual([false, false]);
    expect(payloads(await scene.claim())).toEqual([0, 1, 2]);
    expect(await scene.letters()).toEqual([]);
  }),
  rule('§3.2 the lowest offset is the head: dlq below failed', async (scene) => {
    await scene.fill(3);
    await scene.ack(await scene.claim(), [
      { at: 0, status: 'dlq' },
      { at: 1, status: 'failed' },
    ]);
    expect(payloads(await scene.claim())).toEqual([1, 2]);
    expect(await scene.letters()).toHaveLength(1);
  }),
  rule('§3.2 at one offset dlq beats failed', async (scene) => {
    await scene.fill(1);
    await scene.ack(await scene.claim(), [
      { at: 0, status: 'failed' },
      { at: 0, status: 'dlq' },
    ]);
    expect(await scene.letters()).toHaveLength(1);
  }),
  rule('§3.2 at one offset failed beats retry', async (scene) => {
    await scene.configure({ retryLimit: 0 });
    await scene.fill(1);
    await scene.ack(await scene.claim(), [
      { at: 0, status: 'retry' },
      { at: 0, status: 'failed' },
    ]);
    expect(await scene.letters()).toHaveLength(1);
  }),
  rule('§3.2 settling above a filed head stops at retry', async (scene) => {
    await scene.fill(3);
    await scene.ack(await scene.claim(), [{ at: 0, status: 'dlq' }, { at: 1, status: 'retry' }, 2]);
    expect(payloads(await scene.claim())).toEqual([1, 2]);
  }),
  rule(
    '§3.2 settling above a filed head takes unnamed ones below the highest completed',
    async (scene) => {
      await scene.fill(5);
      await scene.ack(await scene.claim(), [{ at: 0, status: 'dlq' }, 3]);
      expect(payloads(await scene.claim())).toEqual([4]);
    },
  ),
  rule('§3.2 settling above a filed head stops at the first unnamed beyond', async (scene) => {
    await scene.fill(4);
    await scene.ack(await scene.claim(), [{ at: 0, status: 'dlq' }, 1]);
    expect(payloads(await scene.claim())).toEqual([2, 3]);
  }),
  rule('§3.2 an exhausted failed settles further exhausted failed ones above', async (scene) => {
    await scene.configure({ retryLimit: 0 });
    await scene.fill(3);
    const all = [0, 1, 2].map((at) => ({ at, status: 'failed' }));
    await scene.ack(await scene.claim(), all);
    expect(await scene.letters()).toHaveLength(3);
  }),
  rule('§3.2 a signal without any lease is without effect and succeeds', async (scene) => {
    await scene.fill(3);
    const batch = await scene.claim({ batch: 2 });
    await scene.ackAll(batch);
    const [message] = await scene.client.push([
      { queue: scene.queue, payload: 9, transactionId: 'z' },
    ]);
    const verdicts = await scene.client.ack([
      { transactionId: 'z', partitionId: batch.partitionId, status: 'failed' },
    ]);
    expect(message?.offset).toBe(3);
    expect(verdicts).toMatchObject([{ success: true, dlq: false, leaseReleased: false }]);
    expect(payloads(await scene.claim())).toEqual([2, 9]);
  }),
  rule('§3.2 a completed without any lease moves the cursor', async (scene) => {
    await scene.fill(4);
    const batch = await scene.claim({ batch: 1 });
    await scene.ackAll(batch);
    await scene.client.ack([{ transactionId: 't2', partitionId: batch.partitionId }]);
    expect(payloads(await scene.claim())).toEqual([3]);
  }),
  rule('§3.2 a dead letter without an error of its own has a default text', async (scene) => {
    await scene.configure({ retryLimit: 0 });
    await scene.fill(1);
    await scene.ack(await scene.claim(), [{ at: 0, status: 'failed' }]);
    expect(await scene.letters()).toMatchObject([{ errorMessage: 'Retries exhausted' }]);
  }),
  rule('§3.2 a dead letter is filed for its group only', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    await scene.ack(batch, [{ at: 0, status: 'dlq' }], scene.group);
    expect(await scene.letters()).toMatchObject([{ consumerGroup: scene.group }]);
    expect(payloads(await scene.claim())).toEqual([0]);
  }),
  uncheckedRule('§3.2 a repeat within the last 65,536 consumed is a noop', 'takes minutes'),
  uncheckedRule('§3.2 a cursor held by a transaction is 503 retry', 'needs a race'),
];

/** §3. */
export const ACK: Section = {
  title: '3 ack',
  rules: [...requests, ...response, ...completing, ...signals],
};
