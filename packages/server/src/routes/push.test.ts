// The push route over a fake broker.

import { BrokerError, PUSH_STATUS } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { storedAll } from '../testing/fake-broker.ts';
import { testEdge, TEST_NOW_US } from '../testing/test-edge.ts';

const PUSH = '/api/v1/push';

function post(body: string): RequestInit {
  return { method: 'POST', body };
}

describe('a push', () => {
  test('hands its items on and answers 201 with a verdict for each', async () => {
    const { app, broker, edge } = testEdge();
    broker.onSubmit = () => storedAll(2);
    const items = '{"queue":"a","payload":1,"transactionId":"t-1"},{"queue":"b","payload":[2]}';
    const answer = await app.request(PUSH, post(`{"items":[${items}]}`));
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toMatchObject([
      { index: 0, transaction_id: 't-1', queueName: 'a', status: 'queued', offset: 0 },
      { index: 1, queueName: 'b', status: 'queued', offset: 1 },
    ]);
    const [command] = broker.commands;
    expect(command).toMatchObject({ kind: 'push', itemCount: 2, queues: ['a', 'b'] });
    expect(broker.deadlines).toEqual([TEST_NOW_US + 20_000_000]);
    expect(edge.counters).toMatchObject({ pushRequests: 1, pushMessages: 2 });
    expect(edge.pushBudget.usedBytes).toBe(0);
  });

  test('needs no content type', async () => {
    const { app, broker } = testEdge();
    broker.onSubmit = () => storedAll(1);
    const body = '{"items":[{"queue":"a","payload":1}]}';
    const headers = { 'Content-Type': 'text/html' };
    const answer = await app.request(PUSH, { method: 'POST', body, headers });
    expect(answer.status).toBe(201);
  });

  test('takes room for what many tiny items take beside their bytes', async () => {
    const { app, broker, edge } = testEdge();
    const used: number[] = [];
    const body = (count: number): string =>
      `{"items":[${Array(count).fill('{"queue":"a","payload":1}').join()}]}`;
    for (const count of [100, 1000]) {
      broker.onSubmit = () => {
        used.push(edge.pushBudget.usedBytes);
        return storedAll(count);
      };
      await app.request(PUSH, post(body(count)));
    }
    expect(used).toEqual([body(100).length, body(1000).length + 256_000]);
    expect(edge.pushBudget.usedBytes).toBe(0);
  });

  test('of nothing answers an empty list without asking the broker', async () => {
    const { app, broker } = testEdge();
    const answer = await app.request(PUSH, post('{"items":[]}'));
    expect([answer.status, await answer.text()]).toEqual([201, '[]']);
    expect(broker.commands).toEqual([]);
  });

  test.each([
    ['{"items":', 400, 'bad_body'],
    ['', 400, 'bad_body'],
    ['{"items":[{"queue":"a"}]}', 400, 'bad_body'],
    [`{"items":[{"queue":"${'q'.repeat(500)}","payload":1}]}`, 413, 'name_too_long'],
  ])('of %s is refused', async (body, status, code) => {
    const { app, broker, edge, lines } = testEdge();
    const answer = await app.request(PUSH, post(body));
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code });
    expect(broker.commands).toEqual([]);
    expect(edge.counters.errors.get(code as 'bad_body')).toBe(1);
    expect(lines).toEqual([]);
  });

  test('shows the errors of single items', async () => {
    const { app, broker } = testEdge();
    broker.onSubmit = () => ({
      ...storedAll(2),
      statuses: Uint8Array.of(PUSH_STATUS.ERROR, PUSH_STATUS.DUPLICATE),
      errors: new Map([[0, { code: 'too_large', message: 'too much' }]]),
    });
    const body = '{"items":[{"queue":"a","payload":1},{"queue":"a","payload":2}]}';
    const answer = await app.request(PUSH, post(body));
    expect(answer.status).toBe(201);
    expect(await answer.json()).toMatchObject([
      { status: 'error', error: 'too much' },
      { status: 'duplicate', offset: 1 },
    ]);
  });

  test.each([
    ['timeout', 503],
    ['storage_full', 507],
    ['overloaded', 429],
  ] as const)('that fails with %s is answered %i and gives its room back', async (code, status) => {
    const { app, broker, edge } = testEdge();
    broker.onSubmit = () => Promise.reject(new BrokerError(code, 'text'));
    const answer = await app.request(PUSH, post('{"items":[{"queue":"a","payload":1}]}'));
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ error: 'text', code });
    expect(edge.pushBudget.usedBytes).toBe(0);
  });

  test('holds its room until its answer is there', async () => {
    const { app, broker, edge } = testEdge();
    const gate = Promise.withResolvers<void>();
    broker.onSubmit = async () => {
      await gate.promise;
      return storedAll(1);
    };
    const answer = app.request(PUSH, post('{"items":[{"queue":"a","payload":1}]}'));
    await eventually(() => expect(broker.commands).toHaveLength(1));
    expect(edge.pushBudget.usedBytes).toBeGreaterThan(0);
    // Acks have room of their own.
    expect(edge.controlBudget.usedBytes).toBe(0);
    gate.resolve();
    expect((await answer).status).toBe(201);
    expect(edge.pushBudget.usedBytes).toBe(0);
  });
});
