// Queue resources over an engine.

import { formatTimestampUs } from '@queen-ts/base';
import { partitionIdText } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';

interface Row {
  readonly name: string;
  readonly messages: object;
}

const QUEUES = '/api/v1/resources/queues';

describe('the list of queues', () => {
  test('shows counts, options and labels in the order of the contract', async () => {
    const { driver, send } = engineEdge();
    driver.configure('mail.out', { namespace: 'mail', task: 'out', leaseTime: 7 });
    driver.push([{ queue: 'mail.out' }, { queue: 'mail.out', partition: 'b' }]);
    driver.pop({ queue: 'mail.out', group: 'g', batch: 1 });
    const { text, body } = await send('GET', QUEUES);
    expect(Object.keys(body as object)).toEqual([
      'queues',
      'kvRows',
      'kvBytes',
      'timerRows',
      'timerBytes',
    ]);
    expect(text).toMatch(
      /^\{"queues":\[\{"id":"[^"]+","name":"mail.out","queue":"mail.out","namespace":"mail","task":"out","storage":"segments","partitions":2,"segments":\{"segments":2,"messages":2\},"messages":\{"total":2,"pending":1,"processing":1,"completed":0,"deadLetter":0\},"retainedBytes":\d+,"options":\{.*"leaseTime":7.*\},"createdAt":"[^"]+Z"\}\],"kvRows":0/,
    );
  });

  test('has a short form that looks at no partition', async () => {
    const { driver, get } = engineEdge();
    driver.push([
      { queue: 'a', partition: '1' },
      { queue: 'a', partition: '2' },
    ]);
    const [queue] = driver.list();
    expect(await get(`${QUEUES}?stats=lanes`)).toEqual({
      queues: [
        {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          name: 'a',
          queue: 'a',
          partitions: 2,
          createdAt: formatTimestampUs(queue?.createdUs ?? 0),
        },
      ],
      stats: 'lanes',
    });
  });

  test('filters and pages, newest first', async () => {
    const { driver, get } = engineEdge();
    for (const queue of ['x.a', 'x.b', 'y.a', 'x.a b']) driver.push({ queue });
    const names = async (query: string): Promise<string[]> =>
      (await get<{ queues: Row[] }>(`${QUEUES}?${query}`)).queues.map(({ name }) => name);
    expect(await names('namespace=x')).toEqual(['x.a b', 'x.b', 'x.a']);
    expect(await names('namespace=x&limit=1&offset=1')).toEqual(['x.b']);
    expect(await names('task=a&stats=lanes')).toEqual(['y.a', 'x.a']);
    expect(await names('search=a+b')).toEqual(['x.a b']);
  });

  test.each(['limit=-1', 'limit=many', 'offset=1.5'])('refuses %s in plain text', async (query) => {
    const { app, broker, lines } = engineEdge();
    const answer = await app.request(`${QUEUES}?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain(query.split('=')[0]);
    expect(broker.reads).toEqual([]);
    expect(lines).toEqual([]);
  });
});

describe('the detail of a queue', () => {
  test('shows its partitions by name; pending includes what is leased', async () => {
    const { driver, get } = engineEdge();
    driver.push([
      { queue: 'q', partition: 'b' },
      { queue: 'q', partition: 'a' },
      { queue: 'q', partition: 'a' },
    ]);
    driver.pop({ queue: 'q', partition: 'a', group: 'g', batch: 1 });
    const detail = await get<Record<string, unknown> & { partitions: Record<string, unknown>[] }>(
      `${QUEUES}/q`,
    );
    expect(Object.keys(detail)).toEqual([
      'id',
      'name',
      'namespace',
      'task',
      'createdAt',
      'options',
      'partitions',
      'segments',
      'totals',
      'retainedBytes',
    ]);
    expect(detail['totals']).toEqual({
      total: 3,
      pending: 3,
      processing: 1,
      completed: 0,
      failed: null,
      deadLetter: 0,
    });
    const [a, b] = detail.partitions;
    expect(Object.keys(a ?? {})).toEqual([
      'id',
      'name',
      'createdAt',
      'messages',
      'stats',
      'cursor',
      'lastActivity',
      'oldestMessage',
      'newestMessage',
      'retainedBytes',
    ]);
    expect(a).toMatchObject({
      id: partitionIdText(2),
      name: 'a',
      messages: { total: 2, pending: 2, processing: 1, completed: 0, deadLetter: 0 },
      cursor: { totalConsumed: 0, batchesConsumed: 0 },
    });
    expect(b).toMatchObject({ name: 'b', messages: { total: 1, pending: 1 } });
    expect(a?.['oldestMessage']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test('pages through many partitions and then says how many there are', async () => {
    const { driver, get } = engineEdge();
    driver.push(['c', 'a', 'd', 'b'].map((partition) => ({ queue: 'q', partition })));
    const detail = await get<{ partitions: { name: string }[]; partitionCount?: number }>(
      `${QUEUES}/q?limit=2&offset=1`,
    );
    expect(detail.partitions.map(({ name }) => name)).toEqual(['b', 'c']);
    expect(detail.partitionCount).toBe(4);
  });

  test.each(['', '/depth', '/sizes'])('is a 404 when there is no such queue%s', async (rest) => {
    const { send } = engineEdge();
    const { status, body } = await send('GET', `${QUEUES}/nothing${rest}`);
    expect(status).toBe(404);
    expect(body).toEqual({ error: 'Queue not found' });
  });
});

describe('the depth of a queue', () => {
  test('tells what waits and what could be claimed, for one group', async () => {
    const { broker, driver, send } = engineEdge();
    driver.push([{ queue: 'q' }, { queue: 'q' }, { queue: 'q', partition: 'b' }]);
    driver.pop({ queue: 'q', partition: 'Default', group: 'g', batch: 1 });
    const { body, text } = await send('GET', `${QUEUES}/q/depth?group=g`);
    expect(body).toEqual({
      queue: 'q',
      group: 'g',
      pending: 3,
      processing: 1,
      ready: 1,
      partitionsPending: 2,
      partitionsReady: 1,
      conflation: false,
      effectivePending: 3,
      effectiveReady: 1,
      partitions: [
        { partition: 'Default', pending: 2, processing: 1, ready: 0 },
        { partition: 'b', pending: 1, processing: 0, ready: 1 },
      ],
    });
    expect(text).toMatch(/^\{"queue":"q","group":"g","pending":3,"processing":1,"ready":1,/);
    // Autoscalers decide by it: it must see every write that was answered.
    expect(broker.reads).toMatchObject([{ from: 'leader' }]);
  });

  test('counts partitions instead of messages for a conflating group', async () => {
    const { driver, get } = engineEdge();
    driver.push([{ queue: 'q' }, { queue: 'q' }, { queue: 'q', partition: 'b' }]);
    driver.pop({ queue: 'q', group: 'g', conflation: true, partitions: 1, batch: 1 });
    expect(await get(`${QUEUES}/q/depth?group=g`)).toMatchObject({
      conflation: true,
      pending: 3,
      effectivePending: 2,
      effectiveReady: 1,
    });
  });
});

describe('the sizes of a queue', () => {
  test('are bytes by partition, whatever the names are', async () => {
    const { driver, send } = engineEdge();
    driver.push(['__proto__', 'a"b'].map((partition) => ({ queue: 'q', partition })));
    const { text } = await send('GET', `${QUEUES}/q/sizes`);
    expect(text).toMatch(/^\{"queue":"q","partitions":\{"__proto__":\d+,"a\\"b":\d+\}\}$/);
  });
});
