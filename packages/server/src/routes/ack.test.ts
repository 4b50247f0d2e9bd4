// The ack routes over a fake broker.

import { ACK_ERROR, ACK_STATUS } from '@queen-ts/protocol';
import type { AckCommand, AckOutcome } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { testEdge, TEST_NOW_US } from '../testing/test-edge.ts';

function accepted(command: AckCommand): AckOutcome {
  const { itemCount, statuses } = command;
  return {
    kind: 'ack',
    errors: new Uint8Array(itemCount),
    leaseReleased: new Uint8Array(itemCount).fill(1),
    deadLettered: new Uint8Array(itemCount),
    noops: new Uint8Array(itemCount),
    statuses: statuses as AckOutcome['statuses'],
  };
}

const LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';
const SINGLE = `{"transactionId":"t-1","partitionId":"4","leaseId":"${LEASE}","consumerGroup":"g"}`;
const BATCH = `{"consumerGroup":"g","acknowledgments":[
  {"transactionId":"t-1","partitionId":"4","leaseId":"${LEASE}"},
  {"transactionId":"t-2","partitionId":"4","leaseId":"${LEASE}","status":"retry"}]}`;

describe('an ack', () => {
  test.each(['/api/v1/ack', '/api/v1/ack/batch'])('at %s takes either form', async (path) => {
    const { app, broker, edge } = testEdge();
    broker.onSubmit = (command) => accepted(command as AckCommand);
    const one = await app.request(path, { method: 'POST', body: SINGLE });
    expect(one.status).toBe(200);
    expect(await one.json()).toEqual([
      {
        index: 0,
        transactionId: 't-1',
        success: true,
        error: null,
        leaseReleased: true,
        dlq: false,
        noop: false,
      },
    ]);
    const two = await app.request(path, { method: 'POST', body: BATCH });
    expect(await two.json()).toMatchObject([{ transactionId: 't-1' }, { transactionId: 't-2' }]);
    const commands = broker.commands as AckCommand[];
    expect(commands.map(({ group, itemCount }) => [group, itemCount])).toEqual([
      ['g', 1],
      ['g', 2],
    ]);
    expect([...commands[1]!.statuses]).toEqual([ACK_STATUS.COMPLETED, ACK_STATUS.RETRY]);
    expect(broker.deadlines).toEqual([TEST_NOW_US + 10_000_000, TEST_NOW_US + 10_000_000]);
    expect(edge.counters).toMatchObject({ ackRequests: 2, ackMessages: 3 });
    expect(edge.controlBudget.usedBytes).toBe(0);
  });

  test('says what is wrong with an item', async () => {
    const { app, broker } = testEdge();
    broker.onSubmit = (command) => ({
      ...accepted(command as AckCommand),
      errors: Uint8Array.of(ACK_ERROR.INVALID_LEASE),
      leaseReleased: Uint8Array.of(0),
    });
    const answer = await app.request('/api/v1/ack', { method: 'POST', body: SINGLE });
    expect(await answer.json()).toMatchObject([
      { success: false, error: expect.stringContaining('invalid or expired lease') as string },
    ]);
  });

  test('of nothing answers an empty list', async () => {
    const { app, broker } = testEdge();
    const body = '{"acknowledgments":[]}';
    const answer = await app.request('/api/v1/ack/batch', { method: 'POST', body });
    expect([answer.status, await answer.text()]).toEqual([200, '[]']);
    expect(broker.commands).toEqual([]);
  });

  test('of malformed JSON is refused', async () => {
    const { app } = testEdge();
    const answer = await app.request('/api/v1/ack', { method: 'POST', body: '{"transactionId"' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'bad_body' });
  });
});
