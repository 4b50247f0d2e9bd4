// Transactions over an engine.

import { formatUuid } from '@queen-ts/base';
import { partitionIdText } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';

const PATH = '/api/v1/transaction';

describe('a transaction', () => {
  test('acks and pushes in one step', async () => {
    const { driver, edge, send } = engineEdge();
    driver.push({ queue: 'in', id: 'a' });
    const { lease } = driver.pop({ queue: 'in' });
    const { status, body } = await send('POST', PATH, {
      operations: [
        {
          type: 'ack',
          transactionId: 'a',
          partitionId: partitionIdText(1),
          leaseId: formatUuid(lease),
        },
        { type: 'push', items: [{ queue: 'out', payload: 1, transactionId: 'b' }] },
        { type: 'push', queue: 'out', payload: 2 },
      ],
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      results: [
        { index: 0, type: 'ack', success: true, transactionId: 'a', error: null, dlq: false },
        { index: 1, type: 'push', success: true, transactionId: 'b', queueName: 'out' },
        { index: 2, type: 'push', success: true, queueName: 'out' },
      ],
    });
    expect(driver.pop({ queue: 'in' }).messages).toEqual([]);
    expect(driver.pop({ queue: 'out' }).messages.map(({ data }) => data)).toEqual([1, 2]);
    expect([edge.counters.pushMessages, edge.counters.ackMessages]).toEqual([2, 1]);
  });

  test('that cannot ack pushes nothing', async () => {
    const { driver, send } = engineEdge();
    driver.push({ queue: 'in', id: 'a' });
    const { status, body } = await send('POST', PATH, {
      operations: [
        { type: 'push', queue: 'out', payload: 1 },
        {
          type: 'ack',
          transactionId: 'a',
          partitionId: partitionIdText(1),
          leaseId: formatUuid([1, 2, 3, 4]),
        },
      ],
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: false, reason: 'rejected_ack', results: [] });
    expect(driver.list({ search: 'out' })).toEqual([]);
  });

  test.each([
    ['not json', 400],
    ['{"operations":{}}', 400],
    ['{"operations":[{"type":"fly"}]}', 400],
    ['{"operations":[]}', 200],
  ])('that says %s is answered as rolled back with %i', async (sent, expected) => {
    const { send } = engineEdge();
    const { status, body } = await send('POST', PATH, sent);
    expect(status).toBe(expected);
    expect(body).toMatchObject({ success: false, reason: 'bad_request', results: [] });
  });
});
