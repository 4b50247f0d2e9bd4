// The edge over real connections: bodies, limits, admission, broken requests, closing.

import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from './testing/eventually.ts';
import { routedApp } from './routed-app.ts';
import { jsonBytes } from './http/answers.ts';
import { ByteBudget } from './http/byte-budget.ts';
import type { Grant } from './http/byte-budget.ts';
import { withBody } from './http/with-body.ts';
import { HTTP_LIMITS_DEFAULT, HttpServer } from './http-server.ts';
import type { HttpLimits } from './http-server.ts';
import { EdgeCounters } from './metrics/edge-counters.ts';
import { createLog } from './process/log.ts';
import type { Route } from './routes/route.ts';
import { RawClient } from './testing/raw-client.ts';

const BYTES_MAX = 1024 * 1024;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface TestServer {
  readonly port: number;
  readonly budget: ByteBudget;
  readonly server: HttpServer;
  readonly lines: string[];
  /** Sizes of the bodies that were read. */
  readonly echoed: readonly number[];
  readonly connect: () => Promise<RawClient>;
}

/** Serves POST /echo (size and digest of the body), GET /wait (until `release`) and GET /name/:n. */
async function serve(
  options: {
    readonly limits?: Partial<HttpLimits>;
    readonly budget?: ByteBudget;
    readonly waitFor?: Promise<void>;
  } = {},
): Promise<TestServer> {
  const budget = options.budget ?? new ByteBudget({ bytesMax: 4 * BYTES_MAX, holdMs: 1000 });
  const lines: string[] = [];
  const echoed: number[] = [];
  const routes: Route[] = [
    {
      method: 'POST',
      path: '/echo',
      handler: (exchange) =>
        withBody(exchange, { budget, bytesMax: BYTES_MAX }, async (_exchange, body) => {
          echoed.push(body.length);
          return jsonBytes(Buffer.from(JSON.stringify(describeBody(body))));
        }),
    },
    {
      method: 'GET',
      path: '/wait',
      handler: async () => {
        await options.waitFor;
        return jsonBytes(Buffer.from('"waited"'));
      },
    },
  ];
  const sink = { write: (line: string) => void lines.push(line) };
  const log = createLog({ logLevel: 'info', logJson: true, nodeId: 1 }, sink);
  const app = routedApp(routes, { log, counters: new EdgeCounters(), crash: () => {} });
  const server = new HttpServer(app.fetch, { ...HTTP_LIMITS_DEFAULT, ...options.limits });
  const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
  closers.push(() => server.close(0));
  const connect = async (): Promise<RawClient> => {
    const client = await RawClient.open(port);
    closers.unshift(() => Promise.resolve(client.destroy()));
    return client;
  };
  return { port, budget, server, lines, echoed, connect };
}

function describeBody(body: Uint8Array): { size: number; digest: string } {
  return { size: body.length, digest: createHash('sha256').update(body).digest('hex') };
}

/** Takes more than there is room for, which one request at a time may. */
function takeBeyond(budget: ByteBudget, size: number): Grant {
  const grant = budget.open();
  expect(grant.widen(1)).toBeUndefined();
  expect(grant.widen(size)).toBeUndefined();
  return grant;
}

function bytes(size: number): Uint8Array {
  const body = new Uint8Array(size);
  for (let i = 0; i < size; i++) body[i] = (i * 31) % 251;
  return body;
}

describe('bodies', () => {
  test('arrive byte for byte, in one piece or in many', async () => {
    const { connect } = await serve();
    const client = await connect();
    for (const size of [0, 1, 300, 65_536, 700_000, BYTES_MAX]) {
      await client.post('/echo', bytes(size));
      const answer = await client.answer();
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual(describeBody(bytes(size)));
    }
  });

  test('arrive when their pieces come one by one', async () => {
    const { connect, budget } = await serve();
    const client = await connect();
    await client.send('POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\n');
    await client.send('abc');
    await eventually(() => expect(budget.usedBytes).toBe(3));
    await client.send('def');
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from('abcdef')));
    expect(budget.usedBytes).toBe(0);
  });

  test('arrive in chunks without a declared length', async () => {
    const { connect, budget } = await serve();
    const client = await connect();
    const half = 'x'.repeat(100_000);
    await client.send('POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n');
    await client.send(`186a0\r\n${half}\r\n`);
    await eventually(() => expect(budget.usedBytes).toBe(100_000));
    await client.send(`186a0\r\n${half}\r\n0\r\n\r\n`);
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from(half + half)));
    expect(budget.usedBytes).toBe(0);
  });

  test('are asked for when the client waits for 100 Continue', async () => {
    const { connect } = await serve();
    const client = await connect();
    await client.send(
      'POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n',
    );
    expect((await client.answer()).status).toBe(100);
    await client.send('ab');
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from('ab')));
  });
});

describe('a body that is too large', () => {
  test('is refused by its declared length, before it is sent', async () => {
    const { connect, budget } = await serve();
    const client = await connect();
    await client.send(
      `POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: ${BYTES_MAX + 1}\r\n\r\n`,
    );
    const answer = await client.answer();
    expect(answer.status).toBe(413);
    expect(answer.json).toEqual({
      error: `the request body is larger than ${BYTES_MAX} bytes`,
      code: 'body_too_large',
    });
    expect(answer.headers.get('connection')).toBe('close');
    expect(budget.usedBytes).toBe(0);
  });

  test('is refused without 100 Continue', async () => {
    const { connect } = await serve();
    const client = await connect();
    await client.send(
      'POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n',
    );
    expect((await client.answer()).status).toBe(413);
  });

  test('is refused as soon as its chunks exceed the limit', async () => {
    const { connect, budget } = await serve();
    const client = await connect();
    await client.send('POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = `80000\r\n${'x'.repeat(0x80000)}\r\n`;
    await client.send(chunk + chunk + chunk);
    const answer = await client.answer();
    expect(answer.status).toBe(413);
    await eventually(() => expect(budget.usedBytes).toBe(0));
  });

  test('does not keep a client that sends everything first from reading the answer', async () => {
    const { connect } = await serve();
    const client = await connect();
    await client.post('/echo', new Uint8Array(16 * BYTES_MAX));
    expect((await client.answer()).status).toBe(413);
    await client.ended();
  });
});

describe('a request that never becomes complete', () => {
  test('gives its room back when the client leaves', async () => {
    const { connect, budget, lines } = await serve();
    const client = await connect();
    await client.send('POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 500\r\n\r\nabc');
    await eventually(() => expect(budget.usedBytes).toBe(3));
    client.destroy();
    await eventually(() => expect(budget.usedBytes).toBe(0));
    expect(lines).toEqual([]);
  });

  test('is ended with 408 after the request timeout', async () => {
    const limits = { headersTimeoutMs: 50, requestTimeoutMs: 100, checkIntervalMs: 20 };
    const { connect, budget } = await serve({ limits });
    const client = await connect();
    await client.send('POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 500\r\n\r\nabc');
    const answer = await client.answer();
    expect(answer.status).toBe(408);
    expect(answer.json).toMatchObject({ code: 'bad_request' });
    await eventually(() => expect(budget.usedBytes).toBe(0));
  });

  test.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    [
      'a length that is no number',
      'POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: two\r\n\r\nab',
    ],
    ['a negative length', 'POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: -2\r\n\r\nab'],
    [
      'two lengths',
      'POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nab',
    ],
    [
      'a length and chunks',
      'POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a chunk of no size',
      'POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    ],
  ])('is refused as JSON: %s', async (_what, request) => {
    const { connect, budget } = await serve();
    const client = await connect();
    await client.send(request);
    const answer = await client.answer();
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: 'bad_request' });
    await client.ended();
    await eventually(() => expect(budget.usedBytes).toBe(0));
  });

  test('is answered after the complete requests before it', async () => {
    const gate = Promise.withResolvers<void>();
    const { connect } = await serve({ waitFor: gate.promise });
    const client = await connect();
    const post = 'POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\nab';
    await client.send(`GET /wait HTTP/1.1\r\nHost: t\r\n\r\n${post}GARBAGE\r\n\r\n`);
    const other = await connect();
    await other.post('/echo', 'x');
    expect((await other.answer()).status).toBe(200);
    await client.send('MORE GARBAGE\r\n\r\n');
    gate.resolve();
    expect((await client.answer()).body).toBe('"waited"');
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from('ab')));
    const last = await client.answer();
    expect([last.status, last.headers.get('connection')]).toEqual([400, 'close']);
    await client.ended();
  });

  test('ends the connection when the client leaves before an answer that is due', async () => {
    const { connect, server } = await serve({ waitFor: new Promise(() => {}) });
    const client = await connect();
    await client.send('GET /wait HTTP/1.1\r\nHost: t\r\n\r\nGARBAGE\r\n\r\n');
    await eventually(() => expect(server.connectionCount).toBe(1));
    client.destroy();
    await eventually(() => expect(server.connectionCount).toBe(0));
  });

  test('is answered after those before it also when its body breaks off', async () => {
    const { connect, budget } = await serve();
    const client = await connect();
    const post = 'POST /echo HTTP/1.1\r\nHost: t\r\n';
    await client.send(`${post}Content-Length: 1\r\n\r\na`);
    await client.send(`${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from('a')));
    expect((await client.answer()).status).toBe(400);
    await client.ended();
    await eventually(() => expect(budget.usedBytes).toBe(0));
  });

  test('is refused with a body that says so when it has no Host in HTTP/1.1', async () => {
    const { connect } = await serve();
    const client = await connect();
    await client.send('GET /wait HTTP/1.1\r\n\r\n');
    const answer = await client.answer();
    expect(answer.status).toBe(400);
    expect(answer.headers.get('connection')).toBe('close');
    expect(answer.json).toEqual({
      error: 'an HTTP/1.1 request needs a Host header',
      code: 'bad_request',
    });
  });

  test('is refused with a body that says so when it expects what is not known', async () => {
    const { connect } = await serve();
    const client = await connect();
    await client.send('GET /wait HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n');
    const answer = await client.answer();
    expect(answer.status).toBe(417);
    expect(answer.json).toMatchObject({ code: 'bad_request' });
  });

  test('is refused with 431 when its head is too large', async () => {
    const { connect } = await serve();
    const client = await connect();
    await client.send(`GET /wait HTTP/1.1\r\nHost: t\r\nX-Long: ${'y'.repeat(20_000)}\r\n\r\n`);
    expect((await client.answer()).status).toBe(431);
  });
});

describe('admission', () => {
  test('answers 429 with Retry-After when no room comes free in time', async () => {
    const budget = new ByteBudget({ bytesMax: 100, holdMs: 20 });
    const { connect } = await serve({ budget });
    const first = await connect();
    await first.send('POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 85\r\n\r\n');
    await first.send(bytes(80));
    await eventually(() => expect(budget.usedBytes).toBe(80));
    const second = await connect();
    await second.post('/echo', bytes(30));
    const answer = await second.answer();
    expect(answer.status).toBe(429);
    expect(answer.json).toMatchObject({ code: 'overloaded' });
    expect(answer.headers.get('retry-after')).toBe('1');
    // The refused connection goes on, and the room is there once the first request is through.
    await first.send(bytes(85).subarray(80));
    expect((await first.answer()).json).toEqual(describeBody(bytes(85)));
    await second.post('/echo', bytes(30));
    expect((await second.answer()).json).toEqual(describeBody(bytes(30)));
  });

  test('refuses chunks that outgrow the room', async () => {
    const budget = new ByteBudget({ bytesMax: 100_000, holdMs: 0 });
    const { connect } = await serve({ budget });
    const client = await connect();
    await client.send('POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n');
    await client.send('a\r\n0123456789\r\n');
    await eventually(() => expect(budget.usedBytes).toBe(10));
    takeBeyond(budget, 100_000);
    await client.send(`15f90\r\n${'x'.repeat(90_000)}\r\n`);
    expect((await client.answer()).status).toBe(429);
    await eventually(() => expect(budget.usedBytes).toBe(100_000));
  });

  test('takes no room for what was announced and not sent', async () => {
    const budget = new ByteBudget({ bytesMax: BYTES_MAX, holdMs: 0 });
    const { connect } = await serve({ budget });
    for (let i = 0; i < 3; i += 1) {
      const idle = await connect();
      await idle.send(`POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: ${BYTES_MAX}\r\n\r\nx`);
    }
    await eventually(() => expect(budget.usedBytes).toBe(3));
    const busy = await connect();
    await busy.post('/echo', bytes(700_000));
    expect((await busy.answer()).json).toEqual(describeBody(bytes(700_000)));
  });

  test('reads a body on where it waited for room', async () => {
    const budget = new ByteBudget({ bytesMax: BYTES_MAX, holdMs: 60_000 });
    const { connect } = await serve({ budget });
    const client = await connect();
    await client.send('POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 700000\r\n\r\n');
    const beyond = takeBeyond(budget, 2 * BYTES_MAX);
    void client.send(bytes(700_000));
    await eventually(() => expect(budget.waiterCount).toBe(1));
    const small = await connect();
    await small.post('/echo', bytes(100));
    beyond.release();
    expect((await client.answer()).json).toEqual(describeBody(bytes(700_000)));
    expect((await small.answer()).json).toEqual(describeBody(bytes(100)));
    await eventually(() => expect(budget.usedBytes).toBe(0));
  });
});

describe('connections', () => {
  test('serve one request after the other, also when they were sent at once', async () => {
    const { connect } = await serve();
    const client = await connect();
    const request = 'POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\n';
    await client.send(`${request}a${request}b`);
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from('a')));
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from('b')));
  });

  test('may ask for 100 Continue behind others, with the body along or held back', async () => {
    let release = (): void => {};
    const waitFor = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { connect, echoed } = await serve({ waitFor });
    const client = await connect();
    const wait = 'GET /wait HTTP/1.1\r\nHost: t\r\n\r\n';
    const head =
      'POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n';
    await client.send(`${wait}${head}ab${head}`);
    // Its answer is made while the one before it is still to come.
    await eventually(() => expect(echoed).toEqual([2]));
    release();
    expect((await client.answer()).json).toBe('waited');
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from('ab')));
    expect((await client.answer()).status).toBe(100);
    await client.send('cd');
    expect((await client.answer()).json).toEqual(describeBody(Buffer.from('cd')));
  });

  test('need no Host in HTTP/1.0', async () => {
    const { connect } = await serve();
    const client = await connect();
    await client.send('GET /wait HTTP/1.0\r\n\r\n');
    expect((await client.answer()).status).toBe(200);
    await client.ended();
  });

  test('may send the absolute form of the target', async () => {
    const { connect } = await serve();
    const client = await connect();
    await client.get('http://proxy.example/wait?x=1');
    expect((await client.answer()).body).toBe('"waited"');
  });

  test.each(['/\\wait', 'nonsense'])('answer 400 to the target %s', async (target) => {
    const { connect } = await serve();
    const client = await connect();
    await client.get(target);
    const answer = await client.answer();
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: 'bad_request' });
  });

  test('beyond the limit are answered 503', async () => {
    const { connect } = await serve({ limits: { connectionsMax: 1 } });
    const first = await connect();
    await first.get('/wait');
    expect((await first.answer()).status).toBe(200);
    const second = await connect();
    const answer = await second.answer();
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    await second.ended();
  });
});

describe('close', () => {
  test('ends idle connections, finishes requests in flight and takes no new connection', async () => {
    const gate = Promise.withResolvers<void>();
    const { server, port, connect } = await serve({ waitFor: gate.promise });
    const idle = await connect();
    await idle.post('/echo', 'x');
    await idle.answer();
    const busy = await connect();
    await busy.get('/wait');
    await eventually(() => expect(server.connectionCount).toBe(2));
    const closed = server.close(60_000);
    await idle.ended();
    await expect(RawClient.open(port)).rejects.toThrow('ECONNREFUSED');
    gate.resolve();
    expect((await busy.answer()).body).toBe('"waited"');
    await busy.ended();
    await closed;
  });

  test('cuts off what outlives the grace time', async () => {
    const { server, connect } = await serve({ waitFor: new Promise(() => {}) });
    const client = await connect();
    await client.get('/wait');
    await eventually(() => expect(server.connectionCount).toBe(1));
    await server.close(10);
    await client.ended();
  });
});
