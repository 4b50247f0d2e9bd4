// §5 of the reference: POST /api/v1/transaction.

import { expect } from 'vitest';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { ackItem, expectError, expectKeys, first, payloads, UUID_V7 } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';
import { VERBATIM_TEXT } from '../verbatim.ts';

const FOREIGN_LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';
const TRACE = '0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b83';

interface Outcome {
  readonly transactionId: string;
  readonly success: boolean;
  readonly reason?: string;
  readonly error?: string;
  readonly results: Json[];
}

async function transact(
  scene: Scene,
  operations: readonly unknown[],
  rest: Json = {},
): Promise<Outcome> {
  return scene.post<Outcome>('/transaction', { operations, ...rest });
}

/** Pushes `count` messages, claims them, gives the ack operations and a push to another queue. */
async function work(scene: Scene, count = 1): Promise<{ acks: Json[]; push: Json; out: string }> {
  await scene.fill(count);
  const batch = await scene.claim();
  const acks = batch.messages.map((_, at) => ({ type: 'ack', ...ackItem(batch, at) }));
  const out = scene.name('out');
  return { acks, out, push: { type: 'push', queue: out, payload: 'done', transactionId: 'd' } };
}

/** Pops from the queue that {@link work} pushes to. */
async function output(scene: Scene): Promise<unknown[]> {
  return payloads(await scene.client.pop(scene.name('out')));
}

const operations: readonly Rule[] = [
  rule('§5 acks and pushes commit together', async (scene) => {
    const { acks, push } = await work(scene);
    expect(await transact(scene, [...acks, push])).toMatchObject({ success: true });
    expect(await output(scene)).toEqual(['done']);
    expect(await scene.pop()).toBeUndefined();
  }),
  ...['operations', 'requiredLeases', 'kv', 'timers', 'positions'].map((field) =>
    rule(`§5 ${field} that is no array is a 400`, async (scene) => {
      const body = { operations: [], [field]: 7 };
      const answer = await scene.send('POST', '/transaction', body);
      expect(expectError(answer, 400)).toMatchObject({ success: false, reason: 'bad_request' });
    }),
  ),
  ...['kv', 'timer', 'timers'].map((type) =>
    rule(`§5 an operation of type ${type} is a 400`, async (scene) => {
      const body = { operations: [{ type }] };
      expectError(await scene.send('POST', '/transaction', body), 400);
    }),
  ),
  ...['kv', 'timers'].map((rider) =>
    rule(`§5 the rider ${rider} is a 400 until it is served`, async (scene) => {
      const push = { type: 'push', queue: scene.queue, payload: 1 };
      const body = { operations: [push], [rider]: [{ op: 'get' }] };
      const answer = await scene.send('POST', '/transaction', body);
      expect(expectError(answer, 400)).toMatchObject({ success: false, reason: 'not_supported' });
      expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
    }),
  ),
  rule('§5.1 a push takes items', async (scene) => {
    const items = [1, 2].map((payload) => ({ queue: scene.queue, payload }));
    const { results } = await transact(scene, [{ type: 'push', items }]);
    expect(results).toHaveLength(2);
    expect(payloads(await scene.claim())).toEqual([1, 2]);
  }),
  rule('§5.1 a push takes one item inline', async (scene) => {
    await transact(scene, [{ type: 'push', queue: scene.queue, partition: 'p', payload: 3 }]);
    expect((await scene.claim()).partition).toBe('p');
  }),
  rule('§5.1 an absent partition is Default', async (scene) => {
    await transact(scene, [{ type: 'push', queue: scene.queue, payload: 1 }]);
    expect((await scene.claim()).partition).toBe('Default');
  }),
  rule('§5.1 an absent transaction id is the minted message id', async (scene) => {
    const { results } = await transact(scene, [{ type: 'push', queue: scene.queue, payload: 1 }]);
    expect(results[0]?.['transactionId']).toBe(results[0]?.['messageId']);
  }),
  rule('§5.1 a trace id that is a UUID is stored', async (scene) => {
    await transact(scene, [{ type: 'push', queue: scene.queue, payload: 1, traceId: TRACE }]);
    expect(first(await scene.claim()).traceId).toBe(TRACE);
  }),
  rule('§5.1 a trace id that is none is ignored', async (scene) => {
    await transact(scene, [{ type: 'push', queue: scene.queue, payload: 1, traceId: 'x' }]);
    expect(first(await scene.claim()).traceId).toBeNull();
  }),
  rule('§5.1 a payload is stored byte by byte', async (scene) => {
    const push = `{"type":"push","queue":"${scene.queue}","payload":${VERBATIM_TEXT}}`;
    expect((await scene.text('/transaction', `{"operations":[${push}]}`)).status).toBe(200);
    const { text } = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(text).toContain(`"data":${VERBATIM_TEXT},`);
  }),
  rule('§5.1 a repeat inside the call is stored once and marked', async (scene) => {
    const push = { type: 'push', queue: scene.queue, payload: 1, transactionId: 'x' };
    const { success, results } = await transact(scene, [push, push]);
    expect(success).toBe(true);
    expect(results[0]).not.toHaveProperty('duplicate');
    expect(results[1]).toMatchObject({ duplicate: true, messageId: results[0]?.['messageId'] });
    expect((await scene.claim()).messages).toHaveLength(1);
  }),
  rule('§5.1 an ack names its own group', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim({ consumerGroup: scene.group });
    const ack = { type: 'ack', ...ackItem(batch, 0), consumerGroup: scene.group };
    expect(await transact(scene, [ack])).toMatchObject({ success: true });
    expect(await scene.pop({ consumerGroup: scene.group })).toBeUndefined();
  }),
  ...[null, ''].map((consumerGroup) =>
    rule(`§5.1 consumerGroup ${JSON.stringify(consumerGroup)} is queue mode`, async (scene) => {
      const { acks } = await work(scene);
      expect(await transact(scene, [{ ...acks[0], consumerGroup }])).toMatchObject({
        success: true,
      });
    }),
  ),
  rule('§5.1 retry is honoured', async (scene) => {
    const { acks } = await work(scene);
    await transact(scene, [{ ...acks[0], status: 'retry' }]);
    expect(payloads(await scene.claim())).toEqual([0]);
  }),
  rule('§5.1 dlq is honoured', async (scene) => {
    const { acks } = await work(scene);
    const { results } = await transact(scene, [{ ...acks[0], status: 'dlq', error: 'bad' }]);
    expect(results).toMatchObject([{ success: true, dlq: true }]);
    expect(await scene.letters()).toMatchObject([{ errorMessage: 'bad' }]);
  }),
  rule('§5.1 failed charges the retry counter', async (scene) => {
    await scene.configure({ retryLimit: 0 });
    const { acks } = await work(scene);
    await transact(scene, [{ ...acks[0], status: 'failed' }]);
    expect(await scene.letters()).toHaveLength(1);
  }),
  rule('§5.1 the single lease of requiredLeases fences acks without one', async (scene) => {
    const { acks } = await work(scene);
    const { leaseId, ...ack } = acks[0] ?? {};
    const wrong = await transact(scene, [ack], { requiredLeases: [FOREIGN_LEASE] });
    expect(wrong).toMatchObject({ success: false, reason: 'rejected_ack' });
    const right = await transact(scene, [ack], { requiredLeases: [leaseId] });
    expect(right).toMatchObject({ success: true });
  }),
  rule('§5.1 requiredLeases fences nothing by itself', async (scene) => {
    const push = { type: 'push', queue: scene.queue, payload: 1 };
    const done = await transact(scene, [push], { requiredLeases: [FOREIGN_LEASE] });
    expect(done.success).toBe(true);
  }),
  rule('§5.1 an ack without any lease is unfenced', async (scene) => {
    const { acks } = await work(scene);
    expect(await transact(scene, [{ ...acks[0], leaseId: null }])).toMatchObject({
      success: true,
    });
  }),
  rule('§5.1 an unfenced completed of an acked message commits', async (scene) => {
    const { acks, push } = await work(scene);
    await transact(scene, acks);
    const done = await transact(scene, [{ ...acks[0], leaseId: null }, push]);
    expect(done.success).toBe(true);
    expect(await output(scene)).toEqual(['done']);
  }),
  ...['failed', 'retry', 'dlq'].map((status) =>
    rule(`§5.1 an unfenced ${status} of an acked message rolls back`, async (scene) => {
      const { acks, push } = await work(scene);
      await transact(scene, acks);
      const done = await transact(scene, [push, { ...acks[0], leaseId: null, status }]);
      expect(done).toMatchObject({ success: false, reason: 'rejected_ack' });
      expect(await output(scene)).toEqual([]);
    }),
  ),
  rule('§5.1 a fenced ack of a settled lease rolls back', async (scene) => {
    const { acks, push } = await work(scene);
    await transact(scene, acks);
    expect(await transact(scene, [...acks, push])).toMatchObject({
      success: false,
      reason: 'rejected_ack',
    });
    expect(await output(scene)).toEqual([]);
  }),
  uncheckedRule('§5.2 kv and timer riders', 'not served yet'),
  uncheckedRule('§5.2 positions', 'not served yet'),
];

const response: readonly Rule[] = [
  rule('§5.3 a commit has its keys in order', async (scene) => {
    const done = await transact(scene, [{ type: 'push', queue: scene.queue, payload: 1 }]);
    expectKeys(done, 'transactionId success results');
    expect(done.transactionId).toMatch(UUID_V7);
  }),
  rule('§5.3 a push result has its keys in order', async (scene) => {
    const { results } = await transact(scene, [{ type: 'push', queue: scene.queue, payload: 1 }]);
    expectKeys(results[0], 'index type success transactionId messageId queueName');
  }),
  rule('§5.3 a push result of a repeat has duplicate at its end', async (scene) => {
    const push = { type: 'push', queue: scene.queue, payload: 1, transactionId: 'x' };
    const { results } = await transact(scene, [push, push]);
    expectKeys(results[1], 'index type success transactionId messageId queueName duplicate');
  }),
  rule('§5.3 an ack result has its keys in order', async (scene) => {
    const { acks } = await work(scene);
    const { results } = await transact(scene, acks);
    expectKeys(results[0], 'index type success transactionId error dlq');
    expect(results[0]).toMatchObject({ error: null, dlq: false });
  }),
  rule('§5.3 results share a flat index: every push item counts', async (scene) => {
    const { acks, out } = await work(scene, 2);
    const items = [1, 2].map((payload) => ({ queue: out, payload }));
    const { results } = await transact(scene, [{ type: 'push', items }, ...acks]);
    expect(results.map(({ index, type }) => [index, type])).toEqual([
      [0, 'push'],
      [1, 'push'],
      [2, 'ack'],
      [3, 'ack'],
    ]);
  }),
  rule('§5.3 a rollback has its keys in order and no results', async (scene) => {
    const { acks } = await work(scene);
    const done = await transact(scene, [{ ...acks[0], leaseId: FOREIGN_LEASE }]);
    expectKeys(done, 'transactionId success reason error results');
    expect(done.results).toEqual([]);
    expect(done.error).toMatch(/\w/);
  }),
  rule('§5.3 rejected_ack: a foreign lease, nothing is written', async (scene) => {
    const { acks, push, out } = await work(scene);
    const done = await transact(scene, [push, { ...acks[0], leaseId: FOREIGN_LEASE }]);
    expect(done).toMatchObject({ success: false, reason: 'rejected_ack' });
    expect(await scene.client.queueRow(out)).toBeUndefined();
    expect(await transact(scene, acks)).toMatchObject({ success: true });
  }),
  rule('§5.3 rejected_ack: an unknown message', async (scene) => {
    const { acks } = await work(scene);
    const done = await transact(scene, [{ ...acks[0], transactionId: 'unheard' }]);
    expect(done.reason).toBe('rejected_ack');
  }),
  rule('§5.3 rejected_ack: an unknown partition', async (scene) => {
    const { acks } = await work(scene);
    const done = await transact(scene, [{ ...acks[0], partitionId: '4294967295' }]);
    expect(done.reason).toBe('rejected_ack');
  }),
  rule('§5.3 rejected_ack: one bad ack rolls the good ones back', async (scene) => {
    const { acks } = await work(scene, 2);
    await transact(scene, [acks[0], { ...acks[1], transactionId: 'unheard' }]);
    const batch = { acks };
    expect(await transact(scene, batch.acks)).toMatchObject({ success: true });
  }),
  rule('§5.3 duplicate: the acks roll back too', async (scene) => {
    const { acks, push, out } = await work(scene);
    await scene.client.push([{ queue: out, payload: 'old', transactionId: 'd' }]);
    const done = await transact(scene, [...acks, push]);
    expect(done).toMatchObject({ success: false, reason: 'duplicate' });
    expect(await transact(scene, acks)).toMatchObject({ success: true });
    expect(await output(scene)).toEqual(['old']);
  }),
  rule('§5.3 duplicate: the text names queue, partition and offset', async (scene) => {
    await scene.fill(1);
    const push = { type: 'push', queue: scene.queue, payload: 1, transactionId: 't0' };
    const { error = '' } = await transact(scene, [push]);
    for (const word of [scene.queue, 'Default', '0']) expect(error).toContain(word);
  }),
  rule('§5.3 acks are judged before pushes', async (scene) => {
    const { acks, push, out } = await work(scene);
    await scene.client.push([{ queue: out, payload: 'old', transactionId: 'd' }]);
    const done = await transact(scene, [push, { ...acks[0], leaseId: FOREIGN_LEASE }]);
    expect(done.reason).toBe('rejected_ack');
  }),
  ...[
    '',
    'text',
    '[]',
    '{"operations":[7]}',
    '{"operations":[{}]}',
    '{"operations":[{"type":"fly"}]}',
  ].map((body) =>
    rule(`§5.3 the body ${JSON.stringify(body)} is a 400 bad_request`, async (scene) => {
      const done = expectError(await scene.text('/transaction', body), 400);
      expect(done).toMatchObject({ success: false, reason: 'bad_request', results: [] });
    }),
  ),
  ...(
    [
      ['nothing to do', {}],
      ['empty arrays', { operations: [], kv: [], timers: [], positions: [] }],
      ['an inline push without a queue', { operations: [{ type: 'push', payload: 1 }] }],
      ['an inline push without a payload', { operations: [{ type: 'push', queue: 'q' }] }],
      [
        'a partition id that is none',
        { operations: [{ type: 'ack', transactionId: 't', partitionId: 'x' }] },
      ],
    ] as const
  ).map(([name, body]) =>
    rule(`§5.3 ${name} is bad_request with 200`, async (scene) => {
      expect(await scene.post('/transaction', body)).toMatchObject({
        success: false,
        reason: 'bad_request',
        results: [],
      });
    }),
  ),
  rule('§5.3 a transaction id that is too long gets the engine envelope', async (scene) => {
    const push = {
      type: 'push',
      queue: scene.queue,
      payload: 1,
      transactionId: 'x'.repeat(65_536),
    };
    const answer = await scene.send('POST', '/transaction', { operations: [push] });
    expectKeys(expectError(answer, 400, 'bad_request'), 'error code');
  }),
  rule('§5.3 a resend without a fence is a new transaction', async (scene) => {
    const push = { type: 'push', queue: scene.queue, payload: 1 };
    await transact(scene, [push]);
    await transact(scene, [push]);
    expect((await scene.claim()).messages).toHaveLength(2);
  }),
  uncheckedRule('§5.3 too_large, reserved, unavailable, internal', 'needs a failure or 96 MiB'),
  uncheckedRule('§5.3 kv_precondition and queue_not_found', 'riders are not served yet'),
];

/** §5. */
export const TRANSACTION: Section = {
  title: '5 transaction',
  rules: [...operations, ...response],
};
