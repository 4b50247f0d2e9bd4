// `Idempotency-Key` on every write (decisions D2), over an engine: a repeat gets the first answer to the
// byte and has no effect, whatever happened in between.

import { formatUuid } from '@queen-ts/base';
import { partitionIdText } from '@queen-ts/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';
import type { EngineEdge } from '../testing/engine-edge.ts';
import { serveApp } from '../testing/test-edge.ts';

let edge: EngineEdge;

beforeEach(() => {
  edge = engineEdge();
});

async function send(
  [method, path, body]: readonly [method: string, path: string, body?: object],
  key: string,
): Promise<{ status: number; text: string }> {
  const init = { method, headers: { 'Idempotency-Key': key } };
  const answer = await edge.app.request(
    path,
    body === undefined ? init : { ...init, body: JSON.stringify(body) },
  );
  return { status: answer.status, text: await answer.text() };
}

/** Files messages `a` and `b` of queue `q` as dead letters of group `g`. */
function fileTwo(): void {
  const { driver } = edge;
  for (const id of ['a', 'b']) driver.push({ queue: 'q', id });
  const { lease, messages } = driver.pop({ queue: 'q', group: 'g', batch: 2 });
  const items = messages.map(({ partitionNumber: partition, id }) => {
    return { partition, id, lease, status: 'dlq' } as const;
  });
  driver.ack(items, 'g');
}

function letterId(): string {
  return formatUuid(edge.driver.deadLetters()[0]?.deadLetterId ?? [0, 0, 0, 0]);
}

const GROUP = '/api/v1/consumer-groups/g';

describe('a write under a key', () => {
  const writes: [string, () => readonly [string, string, object?]][] = [
    ['push', () => ['POST', '/api/v1/push', { items: [{ queue: 'q', payload: 1 }] }]],
    [
      'transaction',
      () => {
        const operations = [{ type: 'push', items: [{ queue: 'q', payload: 1 }] }];
        return ['POST', '/api/v1/transaction', { operations }];
      },
    ],
    ['configure', () => ['POST', '/api/v1/configure', { queue: 'q', options: { leaseTime: 9 } }]],
    ['delete a queue', () => ['DELETE', '/api/v1/resources/queues/q']],
    ['replay by id', () => ['POST', `/api/v1/dlq/${letterId()}/replay`, { queue: 'r' }]],
    [
      'replay by message',
      () => ['POST', `/api/v1/messages/${partitionIdText(1)}/a/retry`, { partition: 'p' }],
    ],
    ['delete dead letters', () => ['DELETE', `/api/v1/messages/${partitionIdText(1)}/a`]],
    ['purge dead letters', () => ['DELETE', '/api/v1/dlq?queue=q']],
    ['seek in a queue', () => ['POST', `${GROUP}/queues/q/seek`, { toEnd: true }]],
    [
      'seek in a partition',
      () => ['POST', `${GROUP}/queues/q/partitions/Default/seek`, { toEnd: true }],
    ],
    [
      'subscription',
      () => ['POST', `${GROUP}/subscription`, { subscriptionTimestamp: '2020-01-01T00:00:00Z' }],
    ],
    ['delete a group from a queue', () => ['DELETE', `${GROUP}/queues/q`]],
    ['delete a group', () => ['DELETE', GROUP]],
    ['maintenance', () => ['POST', '/api/v1/system/maintenance', { enabled: true }]],
    ['pop maintenance', () => ['POST', '/api/v1/system/maintenance/pop', { enabled: true }]],
    ['pop that commits', () => ['GET', '/api/v1/pop/queue/q?autoAck=true&batch=1&consumerGroup=h']],
  ];

  test.each(writes)('%s is done once', async (_, writeOf) => {
    fileTwo();
    edge.driver.push({ queue: 'other' });
    edge.driver.pop({ queue: 'other', group: 'g' });
    const write = writeOf();
    const first = await send(write, 'k');
    expect([200, 201]).toContain(first.status);
    const entries = edge.driver.entries.length;
    expect(await send(write, 'k')).toEqual(first);
    expect(edge.driver.entries).toHaveLength(entries);
  });

  test('is another write when the query, the body, the path or the key is another', async () => {
    fileTwo();
    const purge = (queue: string, key: string) =>
      send(['DELETE', `/api/v1/dlq?queue=${queue}`], key);
    expect((await purge('other', 'k')).text).toContain('"deleted":0');
    expect((await purge('q', 'k')).text).toContain('"deleted":2');
    const pop = (batch: number, key: string) =>
      send(['GET', `/api/v1/pop/queue/q?autoAck=true&batch=${batch}&consumerGroup=h`], key);
    const offsets = [];
    for (const answer of [await pop(1, 'k'), await pop(1, 'l'), await pop(1, 'k')]) {
      const { messages } = JSON.parse(answer.text) as { messages: { offset: number }[] };
      offsets.push(messages.map(({ offset }) => offset));
    }
    expect(offsets).toEqual([[0], [1], [0]]);
  });

  test('that deletes a group everywhere goes on where a repeat of it finds the rest', async () => {
    for (const queue of ['a', 'b', 'c']) {
      edge.driver.push({ queue });
      edge.driver.pop({ queue, group: 'g' });
    }
    let left = 2;
    const { onSubmit } = edge.broker;
    edge.broker.onSubmit = (command, options) => {
      left -= 1;
      if (left < 0) throw new Error('the leader is gone');
      return onSubmit(command, options);
    };
    expect((await send(['DELETE', GROUP], 'k')).status).toBe(500);
    edge.broker.onSubmit = onSubmit;
    const { text } = await send(['DELETE', GROUP], 'k');
    expect(JSON.parse(text)).toMatchObject({ deletedPartitions: 3, queues: ['a', 'b', 'c'] });
  });
});

test('several keys in one request are refused', async () => {
  const { connect, close } = await serveApp(edge.app);
  const client = await connect();
  await client.send(
    'DELETE /api/v1/resources/queues/q HTTP/1.1\r\nHost: x\r\n' +
      'Idempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n',
  );
  const answer = await client.answer();
  expect(answer.status).toBe(400);
  client.destroy();
  await close();
});
