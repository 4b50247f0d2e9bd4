// Messages over an engine.

import { formatTimestampUs, formatUuid } from '@queen-ts/base';
import { partitionIdText } from '@queen-ts/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';
import type { EngineEdge } from '../testing/engine-edge.ts';

let edge: EngineEdge;

interface Listed {
  readonly messages: readonly Record<string, unknown>[];
  readonly total: number;
  readonly mode: object;
}

/** Transaction ids of a page. */
async function ids(query = ''): Promise<string[]> {
  const { messages } = await edge.get<Listed>(`/api/v1/messages?${query}`);
  return messages.map((row) => String(row['transactionId']));
}

function at(secondsAgo: number): string {
  return encodeURIComponent(formatTimestampUs(edge.driver.nowUs - secondsAgo * 1_000_000));
}

beforeEach(() => {
  edge = engineEdge();
});

describe('the list of messages', () => {
  test('is newest first over the last hour and pages', async () => {
    edge.driver.push({ queue: 'q', id: 'old' });
    edge.driver.wait(3700);
    edge.driver.push([
      { queue: 'q', id: 'a' },
      { queue: 'q', id: 'b' },
    ]);
    edge.driver.wait(10);
    edge.driver.push({ queue: 'other', id: 'c' });
    expect(await ids()).toEqual(['c', 'b', 'a']);
    expect(await ids('limit=1&offset=1')).toEqual(['b']);
    expect(await ids(`from=${at(4000)}`)).toEqual(['c', 'b', 'a', 'old']);
    expect(await ids(`from=${at(4000)}&to=${at(3000)}`)).toEqual(['old']);
    expect(await ids('queue=other')).toEqual(['c']);
    expect(await ids('queue=nothing')).toEqual([]);
  });

  test('filters by labels, partition and status', async () => {
    edge.driver.push([
      { queue: 'x.a', id: '1' },
      { queue: 'x.b', id: '2', partition: 'p' },
      { queue: 'y.b', id: '3', partition: 'p' },
    ]);
    expect((await ids('namespace=x')).sort()).toEqual(['1', '2']);
    expect(await ids('task=b&namespace=y')).toEqual(['3']);
    expect((await ids('partition=p')).sort()).toEqual(['2', '3']);
    edge.driver.pop({ queue: 'x.a', autoAck: true });
    expect(await ids('status=completed')).toEqual(['1']);
    expect((await ids('status=pending')).sort()).toEqual(['2', '3']);
    expect(await ids('status=failed')).toEqual([]);
  });

  test('shows every field in the order of the contract', async () => {
    edge.driver.configure('q', { namespace: 'n', task: 't', priority: 7 });
    const [pushed] = edge.driver.push({ queue: 'q', partition: 'p', id: 'x', data: { a: [1] } });
    const created = edge.driver.nowUs;
    edge.driver.pop({ queue: 'q', leaseSeconds: 60 });
    edge.driver.pop({ queue: 'q', group: 'g', autoAck: true });
    const { text } = await edge.send('GET', '/api/v1/messages');
    const list = JSON.parse(text) as Listed;
    const [row] = list.messages;
    expect(Object.keys(row ?? {}).join()).toBe(
      'id,transactionId,txnHash,data,payload,traceId,producerSub,createdAt,offset,queue,partition,' +
        'partitionId,status,queueStatus,busStatus,queuePath,namespace,task,queuePriority,' +
        'payloadAvailable,leaseExpiresAt,segment,isEncrypted',
    );
    expect(row).toMatchObject({
      id: pushed?.messageId,
      transactionId: 'x',
      txnHash: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      data: { a: [1] },
      payload: { a: [1] },
      traceId: null,
      producerSub: null,
      createdAt: formatTimestampUs(created),
      offset: 0,
      queue: 'q',
      partition: 'p',
      partitionId: partitionIdText(1),
      status: 'completed',
      queueStatus: 'completed',
      busStatus: { consumedBy: 1, totalGroups: 1 },
      queuePath: 'q/p',
      namespace: 'n',
      task: 't',
      queuePriority: 7,
      payloadAvailable: true,
      leaseExpiresAt: expect.stringMatching(/\.\d{3}Z$/) as string,
      segment: { seq: expect.any(Number) as number, frameIdx: 0 },
      isEncrypted: false,
    });
    expect(text).toContain('"data":{"a":[1]},"payload":{"a":[1]},');
    expect(text).toMatch(
      /"total":1,"pagination":\{"limit":200,"offset":0\},"mode":\{"hasQueueMode":true,"busGroupsCount":1,"type":"hybrid"\}\}$/,
    );
  });

  test('tells who reads: nobody, queue mode, or groups', async () => {
    edge.driver.push([{ queue: 'none' }, { queue: 'queue' }, { queue: 'bus' }]);
    edge.driver.pop({ queue: 'queue', autoAck: true });
    edge.driver.pop({ queue: 'bus', group: 'g' });
    for (const type of ['none', 'queue', 'bus']) {
      expect((await edge.get<Listed>(`/api/v1/messages?queue=${type}`)).mode).toMatchObject({
        type,
      });
    }
  });

  test.each(['from=yesterday', 'limit=x'])('refuses %s in plain text', async (query) => {
    const { status, body } = await edge.send('GET', `/api/v1/messages?${query}`);
    expect(status).toBe(400);
    expect(body).toBeUndefined();
  });

  test('refuses pages that lie too deep', async () => {
    const { status, body } = await edge.send('GET', '/api/v1/messages?offset=100001');
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'bad_request' });
  });
});

describe('one message', () => {
  test('shows what became of it, by either form of its partition', async () => {
    const [, minted] = edge.driver.push([{ queue: 'q', id: 'a/b', data: 1 }, { queue: 'q' }]);
    const { lease } = edge.driver.pop({ queue: 'q', group: 'g', batch: 1 });
    edge.driver.ack([{ partition: 1, id: 'a/b', lease, status: 'dlq', error: 'broken' }], 'g');
    const path = `/api/v1/messages/${partitionIdText(1)}/a%2Fb`;
    const detail = await edge.get<Record<string, unknown>>(path);
    expect(Object.keys(detail).join()).toBe(
      'id,transactionId,data,payload,traceId,producerSub,createdAt,partitionId,partition,queue,' +
        'queuePath,namespace,task,status,errorMessage,retryCount,isEncrypted,queueConfig,mode,' +
        'consumerGroups',
    );
    expect(detail).toMatchObject({
      transactionId: 'a/b',
      data: 1,
      partitionId: partitionIdText(1),
      status: 'dead_letter',
      errorMessage: 'broken',
      retryCount: 0,
      queueConfig: { leaseTime: 60 },
      mode: { hasQueueMode: false, busGroupsCount: 1, type: 'bus' },
      consumerGroups: [{ name: 'g', committed: 0, consumed: true, leaseExpiresAt: null }],
    });
    const other = await edge.get(`/api/v1/messages/1/${minted?.messageId}`);
    expect(other).toMatchObject({ id: minted?.messageId, status: 'pending', errorMessage: null });
  });

  test.each(['1/nothing', '2/a', 'x/a', `${formatUuid([1, 2, 3, 4])}/a`])(
    'is a 404 at %s',
    async (address) => {
      edge.driver.push({ queue: 'q', id: 'a' });
      const { status, body } = await edge.send('GET', `/api/v1/messages/${address}`);
      expect(status).toBe(404);
      expect(body).toEqual({ error: 'Message not found' });
    },
  );
});
