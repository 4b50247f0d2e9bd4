// Leases, configuration and the deletion of queues over a fake broker.

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
