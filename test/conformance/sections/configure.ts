// §6 of the reference: POST /api/v1/configure.

import { expect } from 'vitest';
import { rule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectError, expectKeys, UUID } from '../scene.ts';
import type { Json } from '../scene.ts';

/** Option, configure default, another value, its echo when that differs. */
const OPTIONS: readonly (readonly [string, unknown, unknown])[] = [
  ['leaseTime', 300, 45],
  ['retryLimit', 3, 7],
  ['deadLetterQueue', true, false],
  ['dlqAfterMaxRetries', true, false],
  ['dedupWindowSeconds', 3600, 60],
  ['delayedProcessing', 0, 5],
  ['windowBuffer', 0, 6],
  ['retentionEnabled', false, true],
  ['retentionSeconds', 0, 1000],
  ['completedRetentionSeconds', 0, 1001],
  ['maxWaitTimeSeconds', 0, 1002],
  ['encryptionEnabled', false, true],
  ['retentionSinkHold', '', 'my-Sink_1.a'],
  ['retentionSinkHoldMaxSeconds', 604_800, 3600],
  ['minPopWaitTime', 0, 10],
  ['priority', 0, 4],
  ['retryDelay', 1000, 50],
  ['ttl', 3600, 99],
  ['maxSize', 0, 12],
];

const INTEGERS = OPTIONS.filter(([, value]) => typeof value === 'number').map(([name]) => name);
const BOOLEANS = OPTIONS.filter(([, value]) => typeof value === 'boolean').map(([name]) => name);

function optionsOf(configured: Json): Json {
  return configured['options'] as Json;
}

const options: readonly Rule[] = OPTIONS.flatMap(([name, normal, other]) => [
  rule(`§6.1 ${name} is ${JSON.stringify(normal)} by default`, async (scene) => {
    expect(optionsOf(await scene.configure({}))[name]).toBe(normal);
  }),
  rule(`§6.1 ${name} is set, stored and echoed`, async (scene) => {
    expect(optionsOf(await scene.configure({ [name]: other }))[name]).toBe(other);
    expect((await scene.client.queueRow(scene.queue))?.options[name]).toBe(other);
  }),
  rule(`§6 merge keeps ${name} when it is absent and resets it when it is null`, async (scene) => {
    await scene.configure({ [name]: other });
    expect(optionsOf(await scene.configure({}))[name]).toBe(other);
    expect(optionsOf(await scene.configure({ [name]: null }))[name]).toBe(normal);
  }),
]);

const merging: readonly Rule[] = [
  rule('§6 the status is 200', async (scene) => {
    const answer = await scene.send('POST', '/configure', { queue: scene.queue, options: {} });
    expect(answer.status).toBe(200);
  }),
  ...['{}', '{"queue":7}', '{"queue":null}', '[]', 'x', ''].map((body) =>
    rule(`§6 the body ${JSON.stringify(body)} is a 400`, async (scene) => {
      expectError(await scene.text('/configure', body), 400);
    }),
  ),
  rule('§6 without options the keys are read from the top level', async (scene) => {
    const configured = await scene.post('/configure', { queue: scene.queue, leaseTime: 33 });
    expect(optionsOf(configured)['leaseTime']).toBe(33);
  }),
  rule('§6 labels are read from the top level', async (scene) => {
    const configured = await scene.configure({}, { namespace: 'n', task: 't' });
    expect(configured).toMatchObject({ namespace: 'n', task: 't' });
  }),
  rule('§6 labels inside options win', async (scene) => {
    const configured = await scene.configure({ namespace: 'in', task: 'it' }, { namespace: 'out' });
    expect(configured).toMatchObject({ namespace: 'in', task: 'it' });
  }),
  ...[null, ''].map((namespace) =>
    rule(`§6 a top-level namespace ${JSON.stringify(namespace)} does not count`, async (scene) => {
      await scene.configure({}, { namespace: 'kept' });
      expect(await scene.configure({}, { namespace })).toMatchObject({ namespace: 'kept' });
    }),
  ),
  rule('§6 mode merge may be spelled out', async (scene) => {
    await scene.configure({ leaseTime: 44 });
    expect(optionsOf(await scene.configure({}, { mode: 'merge' }))['leaseTime']).toBe(44);
  }),
  rule('§6 replace resets everything that was not sent', async (scene) => {
    await scene.configure({ leaseTime: 44, retryLimit: 9 }, { namespace: 'n' });
    const configured = await scene.configure({ retryLimit: 8 }, { mode: 'replace' });
    expect(configured).toMatchObject({ namespace: '', options: { leaseTime: 300, retryLimit: 8 } });
  }),
  rule('§6 replace keeps id and creation time', async (scene) => {
    const { queueId } = await scene.configure({});
    const before = await scene.client.queueRow(scene.queue);
    expect((await scene.configure({}, { mode: 'replace' }))['queueId']).toBe(queueId);
    expect((await scene.client.queueRow(scene.queue))?.createdAt).toBe(before?.createdAt);
  }),
  rule('§6 another mode is a 400', async (scene) => {
    const body = { queue: scene.queue, options: {}, mode: 'patch' };
    expectError(await scene.send('POST', '/configure', body), 400);
    expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
  }),
  rule('§6 a queue configured first has empty labels', async (scene) => {
    expect(await scene.configure({})).toMatchObject({ namespace: '', task: '' });
  }),
  rule('§6 merging keeps the implicit values of a pushed queue', async (scene) => {
    await scene.fill(1);
    const configured = await scene.configure({ retryLimit: 9 });
    expect(configured).toMatchObject({
      namespace: scene.queue,
      options: { leaseTime: 60, retryLimit: 9 },
    });
  }),
  rule('§6 null resets to the configure default on a pushed queue too', async (scene) => {
    await scene.fill(1);
    expect(optionsOf(await scene.configure({ leaseTime: null }))['leaseTime']).toBe(300);
  }),
  rule('§6 configure creates no partition', async (scene) => {
    await scene.configure({});
    expect(await scene.client.queueRow(scene.queue)).toMatchObject({ partitions: 0 });
  }),
  rule('§6 configure keeps messages and cursors', async (scene) => {
    await scene.fill(2);
    await scene.claim({ autoAck: true, batch: 1 });
    await scene.configure({}, { mode: 'replace' });
    expect((await scene.claim()).messages).toMatchObject([{ offset: 1 }]);
  }),
  rule('§6 unknown options are ignored', async (scene) => {
    expect(optionsOf(await scene.configure({ colour: 'red' }))).not.toHaveProperty('colour');
  }),
  ...INTEGERS.flatMap((name) =>
    ['"5"', '1.5', '3000000000', 'true'].map((value) =>
      rule(`§6 ${name} ${value} is a 400 bad_request`, async (scene) => {
        const body = `{"queue":"${scene.queue}","options":{"${name}":${value}}}`;
        expectError(await scene.text('/configure', body), 400, 'bad_request');
        expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
      }),
    ),
  ),
  ...BOOLEANS.flatMap((name) =>
    ['"true"', '1'].map((value) =>
      rule(`§6 ${name} ${value} is a 400 bad_request`, async (scene) => {
        const body = `{"queue":"${scene.queue}","options":{"${name}":${value}}}`;
        expectError(await scene.text('/configure', body), 400, 'bad_request');
      }),
    ),
  ),
];

const limits: readonly Rule[] = [
  rule('§6.1 a negative dedupWindowSeconds is clamped to 0', async (scene) => {
    const configured = await scene.configure({ dedupWindowSeconds: -1 });
    expect(optionsOf(configured)['dedupWindowSeconds']).toBe(0);
  }),
  ...(
    [
      [-5, 0],
      [70_000, 60_000],
    ] as const
  ).map(([sent, kept]) =>
    rule(`§6.1 minPopWaitTime ${sent} is clamped to ${kept}`, async (scene) => {
      expect(optionsOf(await scene.configure({ minPopWaitTime: sent }))['minPopWaitTime']).toBe(
        kept,
      );
    }),
  ),
  ...['a b', 'ä', 'x'.repeat(65)].map((retentionSinkHold) =>
    rule(`§6.1 retentionSinkHold "${retentionSinkHold}" is a 400`, async (scene) => {
      const body = { queue: scene.queue, options: { retentionSinkHold } };
      expectError(await scene.send('POST', '/configure', body), 400);
    }),
  ),
  ...[59, 31_536_001].map((retentionSinkHoldMaxSeconds) =>
    rule(
      `§6.1 retentionSinkHoldMaxSeconds ${retentionSinkHoldMaxSeconds} is a 400`,
      async (scene) => {
        const body = { queue: scene.queue, options: { retentionSinkHoldMaxSeconds } };
        expectError(await scene.send('POST', '/configure', body), 400);
      },
    ),
  ),
  ...[60, 31_536_000].map((retentionSinkHoldMaxSeconds) =>
    rule(
      `§6.1 retentionSinkHoldMaxSeconds ${retentionSinkHoldMaxSeconds} is taken`,
      async (scene) => {
        expect(optionsOf(await scene.configure({ retentionSinkHoldMaxSeconds }))).toMatchObject({
          retentionSinkHoldMaxSeconds,
        });
      },
    ),
  ),
  ...[null, 7].map((namespace) =>
    rule(`§6.1 a namespace ${namespace} inside options is empty`, async (scene) => {
      await scene.configure({ namespace: 'before' });
      expect(await scene.configure({ namespace })).toMatchObject({ namespace: '' });
    }),
  ),
  rule('§6.1 leaseTime 0 leases for 1 s', async (scene) => {
    await scene.configure({ leaseTime: 0 });
    await scene.fill(1);
    await scene.claim();
    expect((await scene.claimLater()).messages).toMatchObject([{ deliveryAttempt: 2 }]);
  }),
];

const response: readonly Rule[] = [
  rule('§6.2 the answer has its keys in order', async (scene) => {
    expectKeys(
      await scene.configure({}),
      'configured queueId partitionId queue namespace task storage options',
    );
  }),
  rule('§6.2 the answer is configured, without a partition, in segments', async (scene) => {
    const configured = await scene.configure({});
    expect(configured).toMatchObject({
      configured: true,
      partitionId: null,
      queue: scene.queue,
      storage: 'segments',
    });
    expect(configured['queueId']).toMatch(UUID);
  }),
  rule('§6.2 options echo every key and maxQueueSize, no labels', async (scene) => {
    const keys = Object.keys(optionsOf(await scene.configure({})));
    expect(keys.toSorted()).toEqual([...OPTIONS.map(([name]) => name), 'maxQueueSize'].toSorted());
  }),
  rule('§6.2 maxQueueSize is maxSize', async (scene) => {
    expect(optionsOf(await scene.configure({ maxSize: 17 }))['maxQueueSize']).toBe(17);
  }),
  rule('§6.2 the same options are in the list and in the detail', async (scene) => {
    const echoed = optionsOf(await scene.configure({ leaseTime: 77 }));
    const detail = await scene.get(`/resources/queues/${scene.queue}`);
    expect(detail['options']).toEqual(echoed);
    expect((await scene.client.queueRow(scene.queue))?.options).toEqual(echoed);
  }),
  rule('§6.2 read, edit, write round-trips', async (scene) => {
    const echoed = optionsOf(await scene.configure({ leaseTime: 77, retentionSinkHold: 's' }));
    expect(optionsOf(await scene.configure(echoed))).toEqual(echoed);
  }),
  rule('§6.2 the queue id stays the same', async (scene) => {
    const { queueId } = await scene.configure({});
    expect((await scene.configure({ leaseTime: 1 }))['queueId']).toBe(queueId);
    expect((await scene.client.queueRow(scene.queue))?.id).toBe(queueId);
  }),
];

const implicit: readonly Rule[] = [
  ...OPTIONS.map(([name, normal]) => {
    const value = name === 'leaseTime' ? 60 : normal;
    return rule(`§6.3 a pushed queue has ${name} ${JSON.stringify(value)}`, async (scene) => {
      await scene.fill(1);
      expect((await scene.client.queueRow(scene.queue))?.options[name]).toBe(value);
    });
  }),
  rule('§6.3 a queue that a transaction created has the implicit values', async (scene) => {
    const push = { type: 'push', queue: scene.queue, payload: 1 };
    await scene.post('/transaction', { operations: [push] });
    expect(await scene.client.queueRow(scene.queue)).toMatchObject({
      namespace: scene.queue,
      options: { leaseTime: 60 },
    });
  }),
];

/** §6. */
export const CONFIGURE: Section = {
  title: '6 configure',
  rules: [...merging, ...options, ...limits, ...response, ...implicit],
};
