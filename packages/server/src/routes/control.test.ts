// Leases, configuration and queue resources over a fake broker.

import type { ConfigureCommand } from '@queen-ts/protocol';
import { CONFIGURED_QUEUE_DEFAULTS } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { testEdge, TEST_NOW_US } from '../testing/test-edge.ts';

const LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';

describe('extending a lease', () => {
  test('hands id and seconds on, and answers with the expiry three times', async () => {
    const { app, broker, edge } = testEdge();
    const expiresAtUs = Date.UTC(2027, 0, 2, 3, 4, 5, 678) * 1000;
    broker.onSubmit = () => ({ kind: 'extend', renewed: 2, expiresAtUs });
    const path = `/api/v1/lease/${LEASE}/extend`;
    const answer = await app.request(path, { method: 'POST', body: '{"seconds":90}' });
    expect(answer.status).toBe(200);
    const at = '2027-01-02T03:04:05.678Z';
    expect(await answer.json()).toEqual({
      leaseId: LEASE,
      success: true,
      renewed: 2,
      newExpiresAt: at,
      expiresAt: at,
      lease_expires_at: at,
    });
    expect(broker.commands).toMatchObject([{ kind: 'extend', seconds: 90 }]);
    expect(broker.deadlines).toEqual([TEST_NOW_US + 10_000_000]);
    expect(edge.controlBudget.usedBytes).toBe(0);
  });

  test('echoes an id that is none, and needs no body', async () => {
    const { app, broker } = testEdge();
    broker.onSubmit = () => ({ kind: 'extend', renewed: 0, expiresAtUs: 0 });
    const answer = await app.request('/api/v1/lease/no%20lease/extend', { method: 'POST' });
    expect(await answer.json()).toMatchObject({ leaseId: 'no lease', success: false, renewed: 0 });
    expect(broker.commands).toEqual([{ kind: 'extend', leaseId: undefined, seconds: 60 }]);
  });
});

describe('configuring', () => {
  test('hands the change on and answers with the queue as it is then', async () => {
    const { app, broker } = testEdge();
    broker.onSubmit = (command) => ({
      kind: 'configure',
      queue: (command as ConfigureCommand).queue,
      queueId: [1, 2, 3, 4],
      options: { ...CONFIGURED_QUEUE_DEFAULTS, leaseTime: 7, namespace: 'n' },
    });
    const body = '{"queue":"a","options":{"leaseTime":7,"namespace":"n"}}';
    const answer = await app.request('/api/v1/configure', { method: 'POST', body });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      configured: true,
      queueId: '00000001-0000-0002-0000-000300000004',
      partitionId: null,
      queue: 'a',
      namespace: 'n',
      storage: 'segments',
      options: { leaseTime: 7, maxQueueSize: 0 },
    });
    expect(broker.commands).toMatchObject([
      { kind: 'configure', queue: 'a', mode: 'merge', options: { leaseTime: 7, namespace: 'n' } },
    ]);
  });

  test('with a wrong type is refused', async () => {
    const { app, broker } = testEdge();
    const body = '{"queue":"a","options":{"leaseTime":"7"}}';
    const answer = await app.request('/api/v1/configure', { method: 'POST', body });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'bad_request' });
    expect(broker.commands).toEqual([]);
  });
});

describe('deleting a queue', () => {
  test('says whether it existed, by its decoded name', async () => {
    const { app, broker } = testEdge();
    const existing = new Set(['a/b']);
    broker.onSubmit = (command) => {
      if (command.kind !== 'deleteQueue') throw new Error(command.kind);
      const { queue } = command;
      return { kind: 'deleteQueue', queue, existed: existing.delete(queue) };
    };
    const path = '/api/v1/resources/queues/a%2Fb';
    const first = await app.request(path, { method: 'DELETE' });
    expect(await first.json()).toEqual({ deleted: true, existed: true, queue: 'a/b' });
    const second = await app.request(path, { method: 'DELETE' });
    expect(second.status).toBe(200);
    expect(await second.json()).toMatchObject({ deleted: false, existed: false, queue: 'a/b' });
  });
});

describe('listing queues', () => {
  const queue = {
    id: [1, 2, 3, 4],
    name: 'mail.out',
    options: { ...CONFIGURED_QUEUE_DEFAULTS, namespace: 'mail', task: 'out' },
    createdUs: Date.UTC(2027, 0, 2) * 1000 + 5,
    partitions: 3,
    segments: 9,
    messages: { total: 20, pending: 8, processing: 2, completed: 9, deadLetter: 1 },
    retainedBytes: 4096,
  } as const;

  test('shows counts, options and labels', async () => {
    const { app, broker } = testEdge();
    broker.queueList = [queue];
    const answer = await app.request('/api/v1/resources/queues');
    expect(answer.status).toBe(200);
    const { namespace, task, ...options } = queue.options;
    expect(await answer.json()).toEqual({
      queues: [
        {
          id: '00000001-0000-0002-0000-000300000004',
          name: 'mail.out',
          queue: 'mail.out',
          namespace,
          task,
          storage: 'segments',
          partitions: 3,
          segments: { segments: 9, messages: 20 },
          messages: queue.messages,
          retainedBytes: 4096,
          options: { ...options, maxQueueSize: 0 },
          createdAt: '2027-01-02T00:00:00.000005Z',
        },
      ],
      kvRows: 0,
      kvBytes: 0,
      timerRows: 0,
      timerBytes: 0,
    });
  });

  test('has a short form', async () => {
    const { app, broker } = testEdge();
    broker.queueList = [queue];
    const answer = await app.request('/api/v1/resources/queues?stats=lanes');
    expect(await answer.json()).toEqual({
      queues: [
        {
          id: '00000001-0000-0002-0000-000300000004',
          name: 'mail.out',
          queue: 'mail.out',
          partitions: 3,
          createdAt: '2027-01-02T00:00:00.000005Z',
        },
      ],
      stats: 'lanes',
    });
  });

  test('filters and pages', async () => {
    const { app, broker } = testEdge();
    await app.request('/api/v1/resources/queues');
    const query = 'namespace=n%26&task=t&search=a+b&limit=5&offset=10';
    await app.request(`/api/v1/resources/queues?${query}`);
    expect(broker.filters).toEqual([
      { namespace: '', task: '', search: '', offset: 0 },
      { namespace: 'n&', task: 't', search: 'a b', limit: 5, offset: 10 },
    ]);
  });

  test.each(['limit=-1', 'limit=many', 'offset=1.5'])('refuses %s in plain text', async (query) => {
    const { app, broker, lines } = testEdge();
    const answer = await app.request(`/api/v1/resources/queues?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain(query.split('=')[0]);
    expect(broker.filters).toEqual([]);
    expect(lines).toEqual([]);
  });
});
