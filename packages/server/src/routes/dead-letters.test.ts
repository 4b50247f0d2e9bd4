// Dead letters over an engine.

import { formatUuid } from '@queen-ts/base';
import { partitionIdText } from '@queen-ts/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';
import type { EngineEdge } from '../testing/engine-edge.ts';

let edge: EngineEdge;

interface Listed {
  readonly messages: readonly Record<string, unknown>[];
  readonly total: number;
  readonly pagination: object;
}

/** Pushes messages and files everything that the queue holds, in order. */
function file(queue: string, ids: readonly string[], group = 'g'): void {
  for (const id of ids) edge.driver.push({ queue, id, data: { n: 1 } });
  fileRest(queue, group);
}

function fileRest(queue: string, group: string): void {
  for (;;) {
    const { lease, messages } = edge.driver.pop({ queue, group, batch: 1 });
    const [message] = messages;
    if (message === undefined) return;
    const { partitionNumber: partition, id } = message;
    edge.driver.ack([{ partition, id, lease, status: 'dlq', error: `no ${id}` }], group);
  }
}

function letterId(id: string): string {
  const letter = edge.driver.deadLetters().find((row) => row.id === id);
  return formatUuid(letter?.deadLetterId ?? [0, 0, 0, 0]);
}

beforeEach(() => {
  edge = engineEdge();
});

describe('the list', () => {
  test('is newest first, pages, and counts all matches', async () => {
    file('q', ['a', 'b', 'c']);
    file('other', ['d'], 'h');
    const all = await edge.get<Listed>('/api/v1/dlq');
    expect(all.messages.map((row) => row['transactionId'])).toEqual(['d', 'c', 'b', 'a']);
    expect(all).toMatchObject({ total: 4, pagination: { limit: 100, offset: 0 } });
    const page = await edge.get<Listed>('/api/v1/dlq?queue=q&limit=1&offset=1');
    expect(page.messages.map((row) => row['transactionId'])).toEqual(['b']);
    expect(page).toMatchObject({ total: 3, pagination: { limit: 1, offset: 1 } });
    const group = await edge.get<Listed>('/api/v1/dlq?consumerGroup=h');
    expect(group).toMatchObject({ total: 1, messages: [{ queue: 'other', consumerGroup: 'h' }] });
    expect(await edge.get<Listed>('/api/v1/dlq?queue=nothing')).toMatchObject({ total: 0 });
  });

  test('shows payloads as they were pushed, in the order of the contract', async () => {
    edge.driver.push({ queue: 'q', id: 'x', data: { big: 1, s: 'ä"\n' } });
    fileRest('q', 'g');
    const { text } = await edge.send('GET', '/api/v1/dlq');
    const payload = String.raw`{"big":1,"s":"ä\"\n"}`;
    const keys = [
      'id',
      'queue',
      'partition',
      'partitionId',
      'createdAt',
      'consumerGroup',
      'offset',
    ];
    const rest = ['messageId', 'transactionId', 'data', 'payload', 'errorMessage', 'retryCount'];
    const { messages } = JSON.parse(text) as Listed;
    expect(Object.keys(messages[0] ?? {})).toEqual([...keys, ...rest, 'failedAt']);
    expect(text).toContain(`"data":${payload},"payload":${payload},"errorMessage":"no x"`);
    expect(messages[0]).toMatchObject({
      id: letterId('x'),
      partitionId: partitionIdText(1),
      offset: 0,
      retryCount: 0,
    });
    expect(messages[0]?.['createdAt']).toBe(messages[0]?.['failedAt']);
  });
});

describe('replaying', () => {
  test('moves the message to its tail, once', async () => {
    file('q', ['a']);
    const id = letterId('a');
    const { status, body } = await edge.send('POST', `/api/v1/dlq/${id}/replay`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      result: 'moved',
      queue: 'q',
      partition: 'Default',
      consumerGroup: 'g',
      dlqId: id,
      originalTransactionId: 'a',
      dlqRowRemoved: true,
      replayedAs: { index: 0, transaction_id: `dlq:${id}`, status: 'queued', offset: 1 },
    });
    const again = await edge.send('POST', `/api/v1/dlq/${id}/replay`);
    expect(again.status).toBe(404);
    expect(again.body).toMatchObject({ success: false, result: 'gone' });
  });

  test('by message goes to another queue, in either form of the partition id', async () => {
    file('q', ['a/b', 'c']);
    const first = await edge.send('POST', `/api/v1/messages/1/${encodeURIComponent('a/b')}/retry`, {
      queue: ' elsewhere ',
    });
    expect(first.body).toMatchObject({ result: 'moved', queue: 'elsewhere', partition: 'Default' });
    const path = `/api/v1/messages/${partitionIdText(1)}/c/retry`;
    expect((await edge.send('POST', path, {})).body).toMatchObject({ result: 'moved', queue: 'q' });
    expect((await edge.send('POST', path, {})).status).toBe(404);
    expect((await edge.send('POST', '/api/v1/messages/nowhere/c/retry')).status).toBe(404);
  });

  test('to a place that has the copy already keeps the dead letter', async () => {
    file('q', ['a']);
    const id = letterId('a');
    edge.driver.push({ queue: 'q', id: `dlq:${id}` });
    const { body } = await edge.send('POST', `/api/v1/dlq/${id}/replay`);
    expect(body).toMatchObject({ result: 'duplicate', dlqRowRemoved: false });
    expect(edge.driver.deadLetters()).toHaveLength(1);
  });

  test.each(['{"queue":"  "}', '{"partition":7}', '{', '[]'])(
    'refuses the body %s',
    async (sent) => {
      file('q', ['a']);
      const { status, body } = await edge.send('POST', `/api/v1/dlq/${letterId('a')}/replay`, sent);
      expect(status).toBe(400);
      expect(body).toMatchObject({ success: false });
      expect(edge.driver.deadLetters()).toHaveLength(1);
    },
  );

  test('refuses a destination whose name is too long', async () => {
    const path = `/api/v1/dlq/${formatUuid([1, 2, 3, 4])}/replay`;
    const { status, body } = await edge.send('POST', path, { queue: 'x'.repeat(412) });
    expect(status).toBe(413);
    expect(body).toMatchObject({ code: 'name_too_long' });
  });
});

describe('removing', () => {
  test('by message takes dead letters only', async () => {
    file('q', ['a']);
    edge.driver.push({ queue: 'q', id: 'live' });
    const path = `/api/v1/messages/${partitionIdText(1)}`;
    const done = await edge.send('DELETE', `${path}/a`);
    expect(done.text).toBe(
      `{"success":true,"partitionId":"${partitionIdText(1)}","transactionId":"a","deleted":1}`,
    );
    const live = await edge.send('DELETE', `${path}/live`);
    expect(live.status).toBe(404);
    expect(live.body).toMatchObject({ success: false, error: 'Message not found' });
    expect((await edge.send('DELETE', '/api/v1/messages/x/live')).status).toBe(404);
  });

  test('by queue and group', async () => {
    file('q', ['a', 'b']);
    const query = '?queue=q&consumerGroup=nobody';
    expect((await edge.send('DELETE', `/api/v1/dlq${query}`)).body).toEqual({
      success: true,
      queue: 'q',
      consumerGroup: 'nobody',
      deleted: 0,
    });
    expect((await edge.send('DELETE', '/api/v1/dlq?queue=q')).body).toEqual({
      success: true,
      queue: 'q',
      consumerGroup: null,
      deleted: 2,
    });
    const unnamed = await edge.send('DELETE', '/api/v1/dlq');
    expect(unnamed.status).toBe(400);
    expect(unnamed.body).toMatchObject({ success: false, error: 'queue is required' });
  });
});
