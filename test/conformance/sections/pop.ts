// §2 of the reference: the three pop routes.

import { expect } from 'vitest';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectError, expectKeys, first, payloads, UUID } from '../scene.ts';
import { CONFLATION } from './conflation.ts';

const TOP_KEYS =
  'success queue partition partitionId leaseId consumerGroup messages partitionsClaimed';
const MESSAGE_KEYS =
  'id transactionId traceId data producerSub createdAt partitionId partition leaseId consumerGroup deliveryAttempt offset';

const parameters: readonly Rule[] = [
  rule('§2.1 batch is 200 by default', async (scene) => {
    await scene.fill(201);
    expect((await scene.claim()).messages).toHaveLength(200);
  }),
  rule('§2.1 batch bounds what is delivered', async (scene) => {
    await scene.fill(5);
    expect(payloads(await scene.claim({ batch: 3 }))).toEqual([0, 1, 2]);
  }),
  ...[0, -1, -2_147_483_648].map((batch) =>
    rule(`§2.1 batch ${batch} behaves as 1`, async (scene) => {
      await scene.fill(3);
      expect((await scene.claim({ batch })).messages).toHaveLength(1);
    }),
  ),
  rule('§2.1 batch is the budget over all partitions of the call', async (scene) => {
    for (const partition of ['a', 'b', 'c']) await scene.fill(4, { partition });
    const batch = await scene.claim({ batch: 6, partitions: 3 });
    expect(batch.messages).toHaveLength(6);
    expect(batch.partitionsClaimed).toBe(2);
  }),
  rule('§2.1 partitions is 1 by default', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(2, { partition });
    const batch = await scene.claim();
    expect([batch.partitionsClaimed, batch.messages.length]).toEqual([1, 2]);
  }),
  rule('§2.1 partitions bounds how many are claimed', async (scene) => {
    for (const partition of ['a', 'b', 'c']) await scene.fill(1, { partition });
    expect((await scene.claim({ partitions: 2 })).partitionsClaimed).toBe(2);
  }),
  ...[0, -1].map((partitions) =>
    rule(`§2.1 partitions ${partitions} is no cap`, async (scene) => {
      const names = Array.from({ length: 70 }, (_, i) => `p${i}`);
      await scene.client.push(
        names.map((partition) => ({ queue: scene.queue, partition, payload: 1 })),
      );
      expect((await scene.claim({ partitions })).partitionsClaimed).toBe(70);
    }),
  ),
  rule('§2.1 partitions has no upper clamp of 64', async (scene) => {
    const names = Array.from({ length: 70 }, (_, i) => `p${i}`);
    await scene.client.push(
      names.map((partition) => ({ queue: scene.queue, partition, payload: 1 })),
    );
    expect((await scene.claim({ partitions: 66 })).partitionsClaimed).toBe(66);
  }),
  rule('§2.1 partitions is ignored on a pinned pop', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    const batch = await scene.client.popPartition(scene.queue, 'b', { partitions: 5 });
    expect([batch?.partitionsClaimed, batch?.partition]).toEqual([1, 'b']);
  }),
  ...['commitOnDelivery', 'autoAck'].map((flag) =>
    rule(`§2.1 ${flag} commits at hand-out and leases nothing`, async (scene) => {
      await scene.fill(2);
      const batch = await scene.claim({ [flag]: true, batch: 1 });
      expect([batch.leaseId, first(batch).leaseId]).toEqual(['', '']);
      expect(payloads(await scene.claim())).toEqual([1]);
    }),
  ),
  rule('§2.1 of commitOnDelivery and autoAck either true wins', async (scene) => {
    await scene.fill(2);
    expect((await scene.claim({ autoAck: true, commitOnDelivery: false, batch: 1 })).leaseId).toBe(
      '',
    );
    expect((await scene.claim({ autoAck: false, commitOnDelivery: true })).leaseId).toBe('');
  }),
  rule('§2.1 without wait an empty pop answers at once', async (scene) => {
    const startedAt = performance.now();
    expect(await scene.pop({ timeout: 20_000 })).toBeUndefined();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  }),
  rule('§2.1 wait holds an empty pop until its timeout', async (scene) => {
    await scene.pop();
    const startedAt = performance.now();
    expect(await scene.pop({ wait: true, timeout: 700 })).toBeUndefined();
    expect(performance.now() - startedAt).toBeGreaterThan(450);
  }),
  rule('§2.1 leaseSeconds sets how long the lease lives', async (scene) => {
    await scene.fill(1);
    const { leaseId } = await scene.claim({ leaseSeconds: 100 });
    const { newExpiresAt } = await scene.client.extend(leaseId, 1);
    const seconds = (Date.parse(newExpiresAt ?? '') - Date.now()) / 1000;
    expect(Math.abs(seconds - 100)).toBeLessThan(20);
  }),
  ...[0, -5].map((leaseSeconds) =>
    rule(`§2.1 leaseSeconds ${leaseSeconds} is as if absent`, async (scene) => {
      await scene.configure({ leaseTime: 200 });
      await scene.fill(1);
      const { leaseId } = await scene.claim({ leaseSeconds });
      const { newExpiresAt } = await scene.client.extend(leaseId, 1);
      const seconds = (Date.parse(newExpiresAt ?? '') - Date.now()) / 1000;
      expect(Math.abs(seconds - 200)).toBeLessThan(20);
    }),
  ),
  rule('§2.1 the lease of an implicit queue is 60 s by default', async (scene) => {
    await scene.fill(1);
    const { leaseId } = await scene.claim();
    const { newExpiresAt } = await scene.client.extend(leaseId, 1);
    expect(Math.abs((Date.parse(newExpiresAt ?? '') - Date.now()) / 1000 - 60)).toBeLessThan(20);
  }),
  rule('§2.1 a group starts with all by default', async (scene) => {
    await scene.fill(2);
    expect(payloads(await scene.claim({ consumerGroup: scene.group }))).toEqual([0, 1]);
  }),
  ...['new', 'NEW', ' new ', 'new-only', 'new_only', 'newonly'].map((subscriptionMode) =>
    rule(`§2.1 subscriptionMode "${subscriptionMode}" is new`, async (scene) => {
      await scene.fill(1);
      const query = { consumerGroup: scene.group, subscriptionMode };
      expect(await scene.pop(query)).toBeUndefined();
      await scene.push(['later'], { transactionId: null });
      expect(payloads(await scene.claimLater(query))).toEqual(['later']);
    }),
  ),
  ...['all', 'newest', ''].map((subscriptionMode) =>
    rule(`§2.1 subscriptionMode "${subscriptionMode}" is all`, async (scene) => {
      await scene.fill(1);
      expect(payloads(await scene.claim({ consumerGroup: scene.group, subscriptionMode }))).toEqual(
        [0],
      );
    }),
  ),
  rule('§2.1 queue mode is always all', async (scene) => {
    await scene.fill(1);
    expect(payloads(await scene.claim({ subscriptionMode: 'new' }))).toEqual([0]);
  }),
  ...['now', 'NOW'].map((subscriptionFrom) =>
    rule(`§2.1 subscriptionFrom "${subscriptionFrom}" is the moment`, async (scene) => {
      await scene.fill(1);
      expect(await scene.pop({ consumerGroup: scene.group, subscriptionFrom })).toBeUndefined();
    }),
  ),
  rule('§2.1 subscriptionFrom with an instant starts there', async (scene) => {
    await scene.fill(1);
    const early = { consumerGroup: scene.group, subscriptionFrom: '2020-01-01T00:00:00Z' };
    expect(payloads(await scene.claim(early))).toEqual([0]);
    const late = { consumerGroup: scene.name('late'), subscriptionFrom: '2099-01-01T00:00:00Z' };
    expect(await scene.pop(late)).toBeUndefined();
  }),
  rule('§2.1 a subscriptionFrom that does not parse is ignored', async (scene) => {
    await scene.fill(1);
    const query = { consumerGroup: scene.group, subscriptionFrom: 'yesterday' };
    expect(payloads(await scene.claim(query))).toEqual([0]);
  }),
  rule('§2.1 subscriptionFrom wins over the mode', async (scene) => {
    await scene.fill(1);
    const subscriptionFrom = '2020-01-01T00:00:00Z';
    const query = { consumerGroup: scene.group, subscriptionMode: 'new', subscriptionFrom };
    expect(payloads(await scene.claim(query))).toEqual([0]);
  }),
  ...['', '?namespace=', '?namespace=&task='].map((query) =>
    rule(`§2.1 discovery without a label is a 400 of its own shape: "${query}"`, async (scene) => {
      const answer = await scene.send('GET', `/pop${query}`);
      const body = expectError(answer, 400);
      expectKeys(body, 'success error messages');
      expect(body).toMatchObject({ success: false, messages: [] });
      expect(body['error']).toMatch(/namespace or task is required/);
    }),
  ),
  uncheckedRule('§2.1 timeout is as sent, up to 10 minutes', 'takes minutes'),
  uncheckedRule('§2.1 timeout defaults to 30 s', 'takes half a minute'),
];

const response: readonly Rule[] = [
  ...['/queue/$q', '/queue/$q/partition/p', '?namespace=$q'].map((path) =>
    rule(`§2.2 nothing to deliver is 204 without a body: ${path}`, async (scene) => {
      const answer = await scene.popAnswer(path.replace('$q', scene.queue));
      expect(answer).toMatchObject({ status: 204, text: '' });
    }),
  ),
  rule('§2.2 the body has its keys in order', async (scene) => {
    await scene.fill(1);
    expectKeys(await scene.claim(), TOP_KEYS);
  }),
  rule('§2.2 a message has its keys in order', async (scene) => {
    await scene.fill(1);
    expectKeys(first(await scene.claim()), MESSAGE_KEYS);
  }),
  rule('§2.2 a batch without a lease has the same keys', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ autoAck: true });
    expectKeys(batch, TOP_KEYS);
    expectKeys(first(batch), MESSAGE_KEYS);
  }),
  rule('§2.2 success is true', async (scene) => {
    await scene.fill(1);
    expect((await scene.claim()).success).toBe(true);
  }),
  rule('§2.2 queue is the one of the path', async (scene) => {
    await scene.fill(1);
    expect((await scene.claim()).queue).toBe(scene.queue);
  }),
  rule('§2.2 queue is empty on discovery', async (scene) => {
    await scene.fill(1);
    expect((await scene.client.discover({ namespace: scene.queue }))?.queue).toBe('');
  }),
  rule('§2.2 the top partition is the first one claimed', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    const batch = await scene.claim({ partitions: 2 });
    expect([batch.partition, batch.partitionId]).toEqual([
      first(batch).partition,
      first(batch).partitionId,
    ]);
  }),
  rule('§2.2 one lease id covers the whole call', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(2, { partition });
    const batch = await scene.claim({ partitions: 2 });
    expect(batch.messages.map(({ leaseId }) => leaseId)).toEqual(Array(4).fill(batch.leaseId));
  }),
  rule('§2.2 every message names its own partition', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    const { messages } = await scene.claim({ partitions: 2 });
    expect(messages.map(({ partition }) => partition).toSorted()).toEqual(['a', 'b']);
    expect(new Set(messages.map(({ partitionId }) => partitionId)).size).toBe(2);
  }),
  rule('§2.2 messages come in offset order, partition by partition', async (scene) => {
    for (let i = 0; i < 3; i += 1) {
      for (const partition of ['a', 'b']) await scene.push([i], { partition, transactionId: null });
    }
    const { messages } = await scene.claim({ partitions: 2 });
    expect(messages.map(({ offset }) => offset)).toEqual([0, 1, 2, 0, 1, 2]);
    expect(new Set(messages.slice(0, 3).map(({ partition }) => partition)).size).toBe(1);
  }),
  rule('§2.2 messages name the group of the pop', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    expect([batch.consumerGroup, first(batch).consumerGroup]).toEqual(Array(2).fill(scene.group));
  }),
  rule('§2.2 partitionId is a UUID text', async (scene) => {
    await scene.fill(1);
    expect((await scene.claim()).partitionId).toMatch(UUID);
  }),
  rule('§2.2 deliveryAttempt and offset are numbers', async (scene) => {
    await scene.fill(1);
    expect(first(await scene.claim())).toMatchObject({ deliveryAttempt: 1, offset: 0 });
  }),
  rule('§2.2 all messages of a batch carry the same attempt', async (scene) => {
    await scene.fill(3);
    const one = await scene.claim();
    await scene.ack(one, [{ at: 0, status: 'retry' }]);
    const { messages } = await scene.claim();
    expect(messages.map(({ deliveryAttempt }) => deliveryAttempt)).toEqual([2, 2, 2]);
  }),
  rule('§2.2 a 204 says empty in Queen-Pop-Reason', async (scene) => {
    const answer = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(answer.headers['queen-pop-reason']).toBe('empty');
  }),
  rule('§2.2 a 204 says leased in Queen-Pop-Reason', async (scene) => {
    await scene.fill(1);
    await scene.claim();
    const answer = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(answer.headers['queen-pop-reason']).toBe('leased');
  }),
  rule('§2.2 a 204 says delayed in Queen-Pop-Reason', async (scene) => {
    await scene.configure({ delayedProcessing: 600 });
    await scene.fill(1);
    const answer = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(answer.headers['queen-pop-reason']).toBe('delayed');
  }),
  rule('§2.2 a 204 says window in Queen-Pop-Reason', async (scene) => {
    await scene.configure({ windowBuffer: 600 });
    await scene.fill(1);
    const answer = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(answer.headers['queen-pop-reason']).toBe('window');
  }),
  uncheckedRule('§2.2 a 204 says paused in Queen-Pop-Reason', 'would stop a shared broker'),
];

const effects: readonly Rule[] = [
  rule('§2.3 a wildcard pop creates a missing queue', async (scene) => {
    expect(await scene.pop()).toBeUndefined();
    expect(await scene.client.queueRow(scene.queue)).toMatchObject({ partitions: 0 });
  }),
  rule('§2.3 a queue that a pop created has the implicit defaults', async (scene) => {
    await scene.pop();
    const row = await scene.client.queueRow(scene.queue);
    expect(row).toMatchObject({ namespace: scene.queue, options: { leaseTime: 60 } });
  }),
  rule('§2.3 a pinned pop creates no queue', async (scene) => {
    expect(await scene.client.popPartition(scene.queue, 'p')).toBeUndefined();
    expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
  }),
  rule('§2.3 a pinned pop creates no partition', async (scene) => {
    await scene.fill(1);
    expect(await scene.client.popPartition(scene.queue, 'p')).toBeUndefined();
    expect(await scene.client.queueRow(scene.queue)).toMatchObject({ partitions: 1 });
  }),
  rule('§2.3 a waiting pinned pop on a missing partition parks and is woken', async (scene) => {
    const query = { wait: true, timeout: 10_000 };
    const parked = scene.client.popPartition(scene.queue, 'p', query);
    await scene.fill(1, { partition: 'p' });
    expect(payloads(await parked)).toEqual([0]);
  }),
  rule('§2.3 a wildcard pop registers its group', async (scene) => {
    await scene.pop({ consumerGroup: scene.group });
    const gone = await scene.send('DELETE', `/consumer-groups/${scene.group}`);
    expect(JSON.parse(gone.text)).toMatchObject({ metadataDeleted: true, queues: [scene.queue] });
  }),
  rule('§2.3 a pinned pop registers no group', async (scene) => {
    await scene.fill(1);
    await scene.client.popPartition(scene.queue, 'Default', { consumerGroup: scene.group });
    const gone = await scene.send('DELETE', `/consumer-groups/${scene.group}`);
    expect(JSON.parse(gone.text)).toMatchObject({ metadataDeleted: false });
  }),
  rule('§2.3 discovery creates nothing', async (scene) => {
    await scene.client.discover({ namespace: scene.queue });
    expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
  }),
  rule('§2.3 discovery registers the group on each matching queue', async (scene) => {
    for (const word of ['a', 'b']) await scene.fill(1, { queue: `${scene.queue}.${word}` });
    await scene.client.discover({ namespace: scene.queue, consumerGroup: scene.group });
    const gone = await scene.send('DELETE', `/consumer-groups/${scene.group}`);
    expect(JSON.parse(gone.text)).toMatchObject({
      queues: [`${scene.queue}.a`, `${scene.queue}.b`],
    });
  }),
];

const starts: readonly Rule[] = [
  rule('§2.4 queue mode starts with the oldest message', async (scene) => {
    await scene.fill(3);
    expect(first(await scene.claim()).offset).toBe(0);
  }),
  rule(
    '§2.4 a partition created after a new group registered is read from its start',
    async (scene) => {
      const query = { consumerGroup: scene.group, subscriptionMode: 'new' };
      await scene.fill(1);
      await scene.pop(query);
      await scene.fill(2, { partition: 'later' });
      expect(await scene.claim(query)).toMatchObject({
        partition: 'later',
        messages: [{ offset: 0 }, { offset: 1 }],
      });
    },
  ),
  rule('§2.4 a future instant delivers nothing older than it', async (scene) => {
    const query = { consumerGroup: scene.group, subscriptionFrom: '2099-01-01T00:00:00Z' };
    await scene.pop(query);
    await scene.fill(1);
    expect(await scene.pop(query)).toBeUndefined();
  }),
  rule('§2.4 an unregistered group that pins with new starts at the tail', async (scene) => {
    await scene.fill(2);
    const query = { consumerGroup: scene.group, subscriptionMode: 'new' };
    expect(await scene.client.popPartition(scene.queue, 'Default', query)).toBeUndefined();
    await scene.push(['later'], { transactionId: null });
    const batch = await scene.client.popPartition(scene.queue, 'Default', query);
    expect(payloads(batch)).toEqual(['later']);
  }),
  rule('§2.4 an unregistered group that pins with all starts at the beginning', async (scene) => {
    await scene.fill(2);
    const query = { consumerGroup: scene.group, subscriptionMode: 'all' };
    const batch = await scene.client.popPartition(scene.queue, 'Default', query);
    expect(payloads(batch)).toEqual([0, 1]);
  }),
  rule('§2.4 a later pop with another mode changes nothing', async (scene) => {
    await scene.fill(1);
    await scene.pop({ consumerGroup: scene.group, subscriptionMode: 'new' });
    const query = { consumerGroup: scene.group, subscriptionMode: 'all' };
    expect(await scene.pop(query)).toBeUndefined();
  }),
];

const leases: readonly Rule[] = [
  rule('§2.5 a partition has one live lease per group', async (scene) => {
    await scene.fill(4);
    await scene.claim({ batch: 1 });
    expect(await scene.pop({ batch: 1 })).toBeUndefined();
  }),
  rule('§2.5 another worker skips a leased partition', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    const names = [(await scene.claim()).partition, (await scene.claim()).partition];
    expect(names.toSorted()).toEqual(['a', 'b']);
  }),
  rule('§2.5 groups lease independently of each other', async (scene) => {
    await scene.fill(1);
    for (const word of ['a', 'b']) {
      expect(payloads(await scene.claim({ consumerGroup: scene.name(word) }))).toEqual([0]);
    }
  }),
  rule('§2.5 queue mode and groups do not disturb each other', async (scene) => {
    await scene.fill(1);
    await scene.claim({ autoAck: true });
    expect(payloads(await scene.claim({ consumerGroup: scene.group }))).toEqual([0]);
  }),
  rule('§2.5 the batch starts after the committed offset', async (scene) => {
    await scene.fill(4);
    await scene.ackAll(await scene.claim({ batch: 2 }));
    expect(first(await scene.claim()).offset).toBe(2);
  }),
  rule('§2.5 a lease id is minted per call', async (scene) => {
    await scene.fill(1, { partition: 'a' });
    await scene.fill(1, { partition: 'b' });
    expect((await scene.claim()).leaseId).not.toBe((await scene.claim()).leaseId);
  }),
  rule('§2.5 after expiry the batch comes again, with the next attempt', async (scene) => {
    await scene.fill(2);
    const one = await scene.claim({ leaseSeconds: 1 });
    const two = await scene.claimLater();
    expect(payloads(two)).toEqual([0, 1]);
    expect([first(one).deliveryAttempt, first(two).deliveryAttempt]).toEqual([1, 2]);
    expect(two.leaseId).not.toBe(one.leaseId);
  }),
  rule('§2.5 expiry never uses up the retry limit', async (scene) => {
    await scene.configure({ retryLimit: 0 });
    await scene.fill(1);
    await scene.claim({ leaseSeconds: 1 });
    const batch = await scene.claimLater({ leaseSeconds: 1 });
    expect(payloads(batch)).toEqual([0]);
    expect(await scene.letters()).toEqual([]);
  }),
  rule('§2.5 an attempt starts at 1 after a completed batch', async (scene) => {
    await scene.fill(2);
    await scene.ackAll(await scene.claim({ batch: 1 }));
    expect(first(await scene.claim()).deliveryAttempt).toBe(1);
  }),
  rule('§2.5 a partial ack moves the marker and keeps the count', async (scene) => {
    await scene.fill(3);
    await scene.ack(await scene.claim({ leaseSeconds: 1 }), [0]);
    const again = await scene.claimLater();
    expect(payloads(again)).toEqual([1, 2]);
    expect(first(again).deliveryAttempt).toBe(2);
  }),
  rule('§2.5 commitOnDelivery carries attempt 1', async (scene) => {
    await scene.fill(1);
    await scene.ack(await scene.claim(), [{ at: 0, status: 'retry' }]);
    expect(first(await scene.claim({ autoAck: true })).deliveryAttempt).toBe(1);
  }),
  rule('§2.5 commitOnDelivery leaves a live lease alone', async (scene) => {
    await scene.fill(1);
    await scene.claim();
    expect(await scene.pop({ autoAck: true })).toBeUndefined();
  }),
  rule('§2.5 ready partitions are visited in rotation', async (scene) => {
    for (const partition of ['a', 'b', 'c']) await scene.fill(3, { partition });
    const names: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      names.push((await scene.claim({ batch: 1, autoAck: true })).partition);
    }
    expect(names.toSorted()).toEqual(['a', 'b', 'c']);
  }),
  rule('§2.5 delayedProcessing holds messages back until they are old enough', async (scene) => {
    await scene.configure({ delayedProcessing: 1 });
    await scene.fill(1);
    expect(await scene.pop()).toBeUndefined();
    expect(payloads(await scene.claimLater())).toEqual([0]);
  }),
  rule('§2.5 delayedProcessing holds on a pinned pop', async (scene) => {
    await scene.configure({ delayedProcessing: 600 });
    await scene.fill(1);
    expect(await scene.client.popPartition(scene.queue, 'Default')).toBeUndefined();
  }),
  rule('§2.5 delayedProcessing holds on discovery', async (scene) => {
    await scene.configure({ delayedProcessing: 600, namespace: scene.queue });
    await scene.fill(1);
    expect(await scene.client.discover({ namespace: scene.queue })).toBeUndefined();
  }),
  rule('§2.5 windowBuffer holds a partition until it is quiet', async (scene) => {
    await scene.configure({ windowBuffer: 1 });
    await scene.fill(2);
    expect(await scene.pop()).toBeUndefined();
    expect(payloads(await scene.claimLater())).toEqual([0, 1]);
  }),
  rule('§2.5 windowBuffer holds per partition', async (scene) => {
    await scene.fill(1, { partition: 'quiet' });
    await scene.configure({ windowBuffer: 600 });
    await scene.fill(1, { partition: 'busy' });
    expect(await scene.pop()).toBeUndefined();
  }),
  rule('§2.5 a parked pop is woken by a push', async (scene) => {
    await scene.pop();
    const startedAt = performance.now();
    const parked = scene.claimLater();
    await scene.fill(1);
    expect(payloads(await parked)).toEqual([0]);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  }),
  rule('§2.5 a parked discovery pop is woken by a push in its scope', async (scene) => {
    const parked = scene.client.discover({ namespace: scene.queue, wait: true, timeout: 8_000 });
    await scene.fill(1);
    expect(payloads(await parked)).toEqual([0]);
  }),
  rule('§2.5 a parked pop is woken by an ack that releases a lease', async (scene) => {
    await scene.fill(2);
    const batch = await scene.claim({ batch: 1 });
    const parked = scene.claimLater();
    await scene.ackAll(batch);
    expect(payloads(await parked)).toEqual([1]);
  }),
  rule('§2.5 a parked pop is woken by a nack', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim();
    const parked = scene.claimLater();
    await scene.ack(batch, [{ at: 0, status: 'failed' }]);
    expect(payloads(await parked)).toEqual([0]);
  }),
  rule('§2.5 a parked pop is woken by the expiry of a lease', async (scene) => {
    await scene.fill(1);
    await scene.claim({ leaseSeconds: 1 });
    expect(payloads(await scene.claimLater())).toEqual([0]);
  }),
  rule('§2.5 a parked pop that times out is a 204', async (scene) => {
    await scene.pop();
    const answer = await scene.popAnswer(`/queue/${scene.queue}`, { wait: true, timeout: 100 });
    expect(answer).toMatchObject({ status: 204, text: '' });
  }),
  rule('§2.5 a pop sees a push that was answered before', async (scene) => {
    for (let i = 0; i < 20; i += 1) {
      await scene.push([i], { transactionId: null });
      expect(payloads(await scene.claim({ autoAck: true }))).toEqual([i]);
    }
  }),
  rule('§2.5 a client that goes away while it waits takes nothing', async (scene) => {
    await scene.pop();
    const gone = new AbortController();
    const parked = scene.client.popRaw(
      `queue/${scene.queue}`,
      { wait: true, timeout: 8_000 },
      gone.signal,
    );
    setTimeout(() => {
      gone.abort();
    }, 200);
    await expect(parked).rejects.toThrow();
    await scene.fill(1);
    const batch = await scene.claimLater();
    expect([payloads(batch), first(batch).deliveryAttempt]).toEqual([[0], 1]);
  }),
  rule('§2.5 what concurrent workers get is disjoint and complete', async (scene) => {
    const names = Array.from({ length: 20 }, (_, i) => `p${i}`);
    await scene.client.push(
      names.map((partition) => ({ queue: scene.queue, partition, payload: partition })),
    );
    const batches = await Promise.all(names.map(() => scene.pop()));
    const delivered = batches.flatMap((batch) => payloads(batch).map(String));
    expect(delivered.toSorted()).toEqual(names.toSorted());
  }),
];

const autopilot: readonly Rule[] = [
  rule('§2.7 with autopilot the plain defaults or the chosen sizes apply', async (scene) => {
    await scene.fill(3);
    expect((await scene.claim({ autopilot: true })).messages).toHaveLength(3);
  }),
  uncheckedRule('§2.7 autopilot chooses omitted sizes', 'a broker may ignore it'),
];

/** §2. */
export const POP: Section = {
  title: '2 pop',
  rules: [
    ...parameters,
    ...response,
    ...effects,
    ...starts,
    ...leases,
    ...CONFLATION,
    ...autopilot,
  ],
};
