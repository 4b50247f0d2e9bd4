// Configuring queues: what a merge keeps, what a replace resets, what is refused.

import { describe, expect, it } from 'vitest';
import { useBroker } from '../support/use-broker.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Options of a queue that `/configure` creates, as they are echoed. */
const DEFAULTS = {
  priority: 0,
  leaseTime: 300,
  retryLimit: 3,
  retryDelay: 1000,
  maxSize: 0,
  maxQueueSize: 0,
  ttl: 3600,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  retentionEnabled: false,
  encryptionEnabled: false,
  maxWaitTimeSeconds: 0,
  minPopWaitTime: 0,
  dedupWindowSeconds: 3600,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 604_800,
};

const broker = useBroker();

describe('configuring', () => {
  it('creates a queue without partitions and echoes the defaults', async () => {
    const queue = `${broker.queueName()}.with.dots`;
    const configured = await broker.client.configure(queue, {});
    expect(configured).toEqual({
      configured: true,
      queueId: configured.queueId,
      partitionId: null,
      queue,
      namespace: '',
      task: '',
      storage: 'segments',
      options: DEFAULTS,
    });
    expect(configured.queueId).toMatch(UUID);
    expect(await broker.client.queueRow(queue)).toMatchObject({
      id: configured.queueId,
      partitions: 0,
      options: DEFAULTS,
    });
  });

  it('merges: what is not named stays, and null is the default again', async () => {
    const queue = broker.queueName();
    const { queueId } = await broker.client.configure(queue, {
      leaseTime: 10,
      retryLimit: 7,
      deadLetterQueue: false,
      namespace: 'a',
      task: 'b',
    });
    const merged = await broker.client.configure(queue, { retryLimit: null, ttl: 5 });
    expect(merged).toMatchObject({ queueId, namespace: 'a', task: 'b' });
    expect(merged.options).toEqual({
      ...DEFAULTS,
      leaseTime: 10,
      retryLimit: 3,
      deadLetterQueue: false,
      ttl: 5,
    });
  });

  it('replaces on request: what is not named is the default again', async () => {
    const queue = broker.queueName();
    const { queueId } = await broker.client.configure(queue, { leaseTime: 10, namespace: 'a' });
    const replaced = await broker.client.configure(queue, { ttl: 5 }, { mode: 'replace' });
    expect(replaced).toMatchObject({ queueId, namespace: '', options: { ...DEFAULTS, ttl: 5 } });
  });

  it('keeps lease time and labels of a queue that a push created', async () => {
    const queue = `${broker.queueName('space')}.job`;
    await broker.client.push([{ queue, payload: 1 }]);
    const configured = await broker.client.configure(queue, { retryLimit: 1 });
    expect(configured).toMatchObject({
      namespace: queue.split('.')[0],
      task: 'job',
      options: { ...DEFAULTS, leaseTime: 60, retryLimit: 1 },
    });
  });

  it('takes options and labels from the top level too', async () => {
    const queue = broker.queueName();
    const body = { queue, leaseTime: 12, namespace: 'n', task: null };
    const answer = await broker.client.post('/api/v1/configure', body);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({
      namespace: 'n',
      task: '',
      options: { leaseTime: 12 },
    });
  });

  it('echoes maxSize as maxQueueSize, and clamps what has a range', async () => {
    const { options } = await broker.client.configure(broker.queueName(), {
      maxSize: 9,
      minPopWaitTime: 90_000,
      dedupWindowSeconds: -1,
    });
    expect(options).toMatchObject({
      maxSize: 9,
      maxQueueSize: 9,
      minPopWaitTime: 60_000,
      dedupWindowSeconds: 0,
    });
  });

  it('round-trips what it echoes', async () => {
    const queue = broker.queueName();
    const first = await broker.client.configure(queue, { leaseTime: 9, retentionEnabled: true });
    const second = await broker.client.configure(queue, first.options, { mode: 'replace' });
    expect(second).toEqual(first);
  });

  it.each([
    ['a text for a number', { leaseTime: '30' }],
    ['a fraction', { leaseTime: 1.5 }],
    ['a number beyond 32 bits', { retryLimit: 4_294_967_296 }],
    ['a number for a boolean', { deadLetterQueue: 1 }],
    ['a text for a boolean', { encryptionEnabled: 'yes' }],
    ['a list for a number', { ttl: [] }],
    ['a sink hold with a space', { retentionSinkHold: 'a b' }],
    ['a sink hold ceiling below its range', { retentionSinkHoldMaxSeconds: 1 }],
  ])('refuses %s and changes nothing', async (_, options) => {
    const queue = broker.queueName();
    const before = await broker.client.configure(queue, { leaseTime: 10 });
    const body = { queue, options: { retryLimit: 9, ...options } };
    const answer = await broker.client.post('/api/v1/configure', body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'bad_request' });
    expect((await broker.client.queueRow(queue))?.options).toEqual(before.options);
  });

  it.each([
    ['no queue', { options: {} }],
    ['a queue that is no text', { queue: 5, options: {} }],
    ['an unknown mode', { queue: 'never', options: {}, mode: 'patch' }],
    ['options that are no object', { queue: 'never', options: [] }],
    ['a body that is no object', []],
  ])('refuses %s', async (_, body) => {
    const answer = await broker.client.post('/api/v1/configure', body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toHaveProperty('error');
    expect(await broker.client.queueRow('never')).toBeUndefined();
  });

  it('takes effect on the next pop', async () => {
    const queue = broker.queueName();
    await broker.client.push([{ queue, payload: 1 }]);
    await broker.client.configure(queue, { leaseTime: 1 });
    await broker.client.pop(queue);
    const again = await broker.client.pop(queue, { wait: true, timeout: 10_000 });
    expect(again?.messages).toHaveLength(1);
  });
});
