// What clients send by mistake or malice: refused with a status and an error text that help, nothing
// stored, no stack trace in the log, and the broker goes on.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { within } from '../support/eventually.ts';
import type { Answer } from '../support/http-client.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { useBroker } from '../support/use-broker.ts';
import type { ErrorBody } from '../support/wire.ts';

const BODY_BYTES_MAX = 65_536;
/** With the default tenant's 36 bytes, a queue name and a partition name share 447. */
const NAME_BYTES_MAX = 411;
const STACK_FRAME = /^\s+at .+:\d+:\d+\)?$/m;

const broker = useBroker({ env: { QUEEN_MAX_BODY_BYTES: String(BODY_BYTES_MAX) } });

let logStart = 0;

beforeEach(() => {
  logStart = broker.process.log.length;
});

afterEach(async () => {
  expect(await broker.client.queues()).toEqual([]);
  expect(broker.process.log.slice(logStart)).not.toMatch(STACK_FRAME);
});

function pushBody(item: object): string {
  return JSON.stringify({ items: [item] });
}

async function push(body: string | Uint8Array): Promise<Answer> {
  return broker.client.request('POST', '/api/v1/push', { body });
}

/** Checks the status and that the body is an error envelope; returns it. */
function expectError(answer: Answer, status: number): ErrorBody {
  expect(answer).toMatchObject({ status });
  const body = JSON.parse(answer.text) as ErrorBody;
  expect(body.error).toMatch(/\w/);
  expect(body.code).toMatch(/^[a-z_]+$/);
  return body;
}

describe('a push body', () => {
  const goodItem = '{"queue":"q","payload":1}';

  it.each([
    ['nothing', ''],
    ['text', 'hello'],
    ['an open object', '{"items":[{"queue":"q","payload":1}'],
    ['something after the end', `{"items":[${goodItem}]} x`],
    ['a trailing comma', `{"items":[${goodItem},]}`],
    ['a comment', `{"items":[/* one */${goodItem}]}`],
    ['single quotes', "{'items':[]}"],
    ['a leading byte order mark', `\ufeff{"items":[${goodItem}]}`],
    ['a raw line break in a text', '{"items":[{"queue":"q","payload":"a\nb"}]}'],
    ['a bad escape', String.raw`{"items":[{"queue":"q","payload":"\x41"}]}`],
    ['a leading zero', '{"items":[{"queue":"q","payload":01}]}'],
    ['a bare fraction', '{"items":[{"queue":"q","payload":.5}]}'],
    ['NaN', '{"items":[{"queue":"q","payload":NaN}]}'],
    ['no items', '{"item":[]}'],
    ['items that are null', '{"items":null}'],
    ['items that are an object', `{"items":${goodItem}}`],
    ['a list instead of an object', `[${goodItem}]`],
    ['an item that is a text', '{"items":["q"]}'],
    ['an item that is null', `{"items":[${goodItem},null]}`],
    ['an item without a queue', '{"items":[{"payload":1}]}'],
    ['an item whose queue is a number', '{"items":[{"queue":7,"payload":1}]}'],
    ['an item whose queue is null', '{"items":[{"queue":null,"payload":1}]}'],
    ['an item without a payload', '{"items":[{"queue":"q"}]}'],
    ['an item with data instead of a payload', '{"items":[{"queue":"q","data":1}]}'],
    ['a partition that is a number', '{"items":[{"queue":"q","partition":1,"payload":1}]}'],
    ['a partition that is a list', '{"items":[{"queue":"q","partition":["a"],"payload":1}]}'],
    [
      'a transaction id that is a number',
      '{"items":[{"queue":"q","transactionId":1,"payload":1}]}',
    ],
    ['a good item before a bad one', `{"items":[${goodItem},{"queue":"q"}]}`],
  ])('of %s is refused whole', async (_, body) => {
    expect(expectError(await push(body), 400).code).toMatch(/^bad_(body|request)$/);
  });

  it('of invalid UTF-8 is refused', async () => {
    const body = Buffer.from(pushBody({ queue: 'q', payload: 'x@x' }));
    for (const bytes of [
      [0xff],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2],
    ]) {
      const at = body.indexOf('@');
      const broken = Buffer.concat([
        body.subarray(0, at),
        Buffer.from(bytes),
        body.subarray(at + 1),
      ]);
      expect(expectError(await push(broken), 400).code).toBe('bad_body');
    }
  });

  it('nested beyond reason is refused', async () => {
    const depth = 30_000;
    const payload = '['.repeat(depth) + ']'.repeat(depth);
    expectError(await push(`{"items":[{"queue":"q","payload":${payload}}]}`), 400);
  });

  it('with a transaction id above its limit is refused', async () => {
    const text = pushBody({ queue: 'q', payload: 1, transactionId: 'x'.repeat(65_536) });
    // Above the body limit too, so only a broker with the default one could tell the difference.
    expect([400, 413]).toContain((await push(text)).status);
  });
});

describe('a name', () => {
  it('that takes the whole budget is no error', async () => {
    const queue = 'q'.repeat(200);
    const partition = 'é'.repeat((NAME_BYTES_MAX - 200 - 1) / 2) + 'x';
    const [verdict] = await broker.client.push([{ queue, partition, payload: 1 }]);
    expect(verdict).toMatchObject({ status: 'queued', offset: 0 });
    await broker.client.deleteQueue(queue);
  });

  it('one byte above the budget fails the whole push', async () => {
    const queue = 'q'.repeat(200);
    const partition = 'é'.repeat((NAME_BYTES_MAX - 200 - 1) / 2) + 'xx';
    const body = JSON.stringify({
      items: [
        { queue: 'short', payload: 1 },
        { queue, partition, payload: 1 },
      ],
    });
    expect(expectError(await push(body), 413).code).toBe('name_too_long');
  });

  it('above the budget is refused by a pop, an ack and a configure', async () => {
    const long = 'n'.repeat(NAME_BYTES_MAX + 1);
    const answers = await Promise.all([
      broker.client.popRaw(`queue/${long}`, {}),
      broker.client.popRaw('queue/q', { consumerGroup: long }),
      broker.client.popRaw(`queue/q/partition/${long}`, {}),
      broker.client.post('/api/v1/ack/batch', {
        consumerGroup: `${long}${'n'.repeat(36)}`,
        acknowledgments: [{ transactionId: 't', partitionId: '1' }],
      }),
      broker.client.post('/api/v1/configure', { queue: long, options: {} }),
    ]);
    for (const answer of answers) expect(expectError(answer, 413).code).toBe('name_too_long');
  });
});

describe('a body above the limit', () => {
  const large = pushBody({ queue: 'q', payload: 'x'.repeat(BODY_BYTES_MAX) });

  it('is refused by its announced length', async () => {
    expect((await push(large)).status).toBe(413);
  });

  it('is refused when it comes in chunks without a length', async () => {
    const connection = await RawConnection.open(broker.client.url);
    connection.send(
      'POST /api/v1/push HTTP/1.1\r\nHost: broker\r\nContent-Type: application/json\r\n' +
        'Transfer-Encoding: chunked\r\n\r\n',
    );
    for (let from = 0; from < large.length; from += 16_384) {
      const chunk = large.slice(from, from + 16_384);
      connection.send(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    }
    connection.send('0\r\n\r\n');
    await connection.firstByte();
    expect(connection.received).toMatch(/^HTTP\/1\.1 413 /);
    connection.reset();
  });

  it('is refused before all of it was sent', async () => {
    const connection = await RawConnection.open(broker.client.url);
    connection.send(
      'POST /api/v1/push HTTP/1.1\r\nHost: broker\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${8 * 1024 * 1024 * 1024}\r\n\r\n{"items":`,
    );
    await connection.firstByte();
    expect(connection.received).toMatch(/^HTTP\/1\.1 413 /);
    connection.reset();
  });

  it('is taken at exactly the limit', async () => {
    const frame = pushBody({ queue: 'fits', payload: '' });
    const body = pushBody({ queue: 'fits', payload: 'x'.repeat(BODY_BYTES_MAX - frame.length) });
    expect(body).toHaveLength(BODY_BYTES_MAX);
    expect((await push(body)).status).toBe(201);
    await broker.client.deleteQueue('fits');
  });
});

describe('a body that breaks off', () => {
  it('stores nothing', async () => {
    const body = pushBody({ queue: 'q', payload: 1 });
    const connection = await RawConnection.open(broker.client.url);
    connection.send(
      'POST /api/v1/push HTTP/1.1\r\nHost: broker\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${body.length + 1}\r\n\r\n${body}`,
    );
    connection.end();
    await connection.closed();
    expect(connection.received).not.toMatch(/^HTTP\/1\.1 2/);
  });
});

describe('a path', () => {
  it.each(['GET', 'POST', 'DELETE', 'PUT'])('that no route has is 404 for %s', async (method) => {
    const answer = await broker.client.request(method, '/api/v1/nonsense?x=1');
    const { code, path } = expectError(answer, 404);
    expect([code, path]).toEqual(['no_such_route', '/api/v1/nonsense']);
  });

  it.each([
    ['GET', '/api/v1/push'],
    ['POST', '/api/v1/pop/queue/q'],
    ['GET', '/api/v1/ack'],
    ['DELETE', '/api/v1/configure'],
    ['POST', '/api/v1/resources/queues'],
  ])('with the wrong method is 405: %s %s', async (method, path) => {
    const answer = await broker.client.request(method, path);
    expect(expectError(answer, 405).code).toBe('method_not_allowed');
  });

  it.each([
    '/api/v1/pop/queue/%zz',
    '/api/v1/pop/queue/%',
    '/api/v1/pop/queue/%ff',
    '/api/v1/pop/queue/q/partition/%e2%82',
  ])('with malformed escapes is refused: %s', async (path) => {
    expectError(await broker.client.request('GET', path), 400);
  });
});

describe('a query parameter', () => {
  it.each([
    'wait=1',
    'wait=yes',
    'wait=',
    'autoAck=TRUE',
    'batch=many',
    'batch=1.5',
    'batch=',
    'batch=4294967296',
    'partitions=x',
    'timeout=-1',
    'timeout=soon',
    'leaseSeconds=1h',
    'consumerGroup=%ff',
  ])('that does not parse is refused: %s', async (query) => {
    const answer = await broker.client.request('GET', `/api/v1/pop/queue/q?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/\w/);
  });
});

describe('an ack body', () => {
  it.each([
    ['nothing', ''],
    ['text', 'ok'],
    ['a list', '[]'],
    ['acknowledgments that are a text', '{"acknowledgments":"all"}'],
    ['an item that is a number', '{"acknowledgments":[1]}'],
  ])('of %s is refused', async (_, body) => {
    const answer = await broker.client.request('POST', '/api/v1/ack/batch', { body });
    expect(expectError(answer, 400).code).toMatch(/^bad_(body|request)$/);
  });
});

describe('a connection', () => {
  it('that speaks no HTTP is closed and harms nobody', async () => {
    const connection = await RawConnection.open(broker.client.url);
    connection.send('\u0000\u0001 this is not HTTP\r\n\r\n');
    await connection.closed();
    expect((await broker.client.request('GET', '/health')).status).toBe(200);
  });

  it('that resets in the middle of a body harms nobody', async () => {
    const connections = await Promise.all(
      Array.from({ length: 20 }, () => RawConnection.open(broker.client.url)),
    );
    for (const connection of connections) {
      connection.send(
        'POST /api/v1/push HTTP/1.1\r\nHost: broker\r\nContent-Length: 1000\r\n\r\n{"items":[',
      );
    }
    for (const connection of connections) connection.reset();
    const answer = broker.client.request('GET', '/health');
    expect((await within('an answer', answer, 5_000)).status).toBe(200);
  });
});
