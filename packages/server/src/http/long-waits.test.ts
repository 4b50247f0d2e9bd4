// Exchanges that sleep while they wait, over real connections: nobody outside may notice.

import { SeededRng } from '@queen-ts/base';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HTTP_LIMITS_DEFAULT, HttpServer } from '../http-server.ts';
import { eventually } from '../testing/eventually.ts';
import { RawClient } from '../testing/raw-client.ts';
import { jsonBytes } from './answers.ts';
import { ClientPresence } from './delivery.ts';
import type { LongWaitLimits, LongWaits, LongWork } from './long-waits.ts';

const AT_ONCE: LongWaitLimits = { awakeMax: 0, sleepAfterMs: 0 };
const NEVER: LongWaitLimits = { awakeMax: 1000, sleepAfterMs: 0 };

/** One request to `/wait`, as the application sees it. */
class Work implements LongWork {
  readonly client = new ClientPresence();
  readonly socket: Socket;
  readonly due: Promise<void>;
  finish!: () => void;
  text = 'there';
  error: Error | undefined;
  isDiscarded = false;

  constructor(socket: Socket) {
    this.socket = socket;
    this.due = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  async answer(): Promise<Response> {
    if (this.error !== undefined) throw this.error;
    return jsonBytes(Buffer.from(JSON.stringify(this.text)), 200, { 'Queen-Test': 'yes' });
  }

  refuse(error: Error): Response {
    return jsonBytes(Buffer.from(JSON.stringify(error.message)), 503);
  }

  discard(): void {
    this.isDiscarded = true;
  }
}

interface Bindings {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly waits: LongWaits;
}

interface Fixture {
  readonly server: HttpServer;
  readonly works: Work[];
  /** URLs of all requests that reached the application, in order. */
  readonly seen: string[];
  readonly asleepCount: () => number;
  readonly connect: () => Promise<RawClient>;
}

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** `/wait` waits for its test, everything else is answered at once with its URL. */
async function serve(longWaits: LongWaitLimits): Promise<Fixture> {
  const works: Work[] = [];
  const seen: string[] = [];
  const server = new HttpServer(
    (_request, env) => {
      const { incoming, outgoing, waits } = env as unknown as Bindings;
      seen.push(incoming.url!);
      if (incoming.url !== '/wait') return jsonBytes(Buffer.from(JSON.stringify(incoming.url)));
      const work = new Work(incoming.socket);
      works.push(work);
      return waits.answer({ incoming, outgoing }, work);
    },
    { ...HTTP_LIMITS_DEFAULT, longWaits },
  );
  const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
  const clients: RawClient[] = [];
  closers.push(async () => {
    for (const client of clients) client.destroy();
    await server.close(0);
  });
  const connect = async (): Promise<RawClient> => {
    const client = await RawClient.open(port);
    clients.push(client);
    return client;
  };
  return { server, works, seen, asleepCount: () => server.asleepCount, connect };
}

/** A client whose request to `/wait` sleeps. */
async function sleeper(
  fixture: Fixture,
  head = 'GET /wait HTTP/1.1\r\nHost: test\r\n',
): Promise<{ readonly client: RawClient; readonly work: Work }> {
  const client = await fixture.connect();
  const count = fixture.works.length;
  const asleep = fixture.asleepCount();
  await client.send(`${head}\r\n`);
  await eventually(() => {
    expect(fixture.works).toHaveLength(count + 1);
    expect(fixture.asleepCount()).toBe(asleep + 1);
  });
  return { client, work: fixture.works[count]! };
}

describe('an exchange that slept', () => {
  test.each([
    ['HTTP/1.1', 'GET /wait HTTP/1.1\r\nHost: test\r\n', 'keep-alive'],
    ['Connection: close', 'GET /wait HTTP/1.1\r\nHost: test\r\nConnection: close\r\n', 'close'],
    ['HTTP/1.0', 'GET /wait HTTP/1.0\r\n', 'close'],
    ['HTTP/1.0 kept alive', 'GET /wait HTTP/1.0\r\nConnection: keep-alive\r\n', 'keep-alive'],
    [
      'a wish to upgrade',
      'GET /wait HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n',
      'keep-alive',
    ],
  ])('is answered like one that was awake: %s', async (_what, head, connection) => {
    const answers = [];
    for (const limits of [NEVER, AT_ONCE]) {
      const fixture = await serve(limits);
      const client = await fixture.connect();
      await client.send(`${head}\r\n`);
      await eventually(() => {
        expect(fixture.works).toHaveLength(1);
        expect(fixture.asleepCount()).toBe(limits === AT_ONCE ? 1 : 0);
      });
      fixture.works[0]!.finish();
      const { status, headers, body } = await client.answer();
      answers.push({ status, body, headers: [...headers].filter(([name]) => name !== 'date') });
      expect(headers.get('connection')).toBe(connection);
      if (connection === 'close') await client.ended();
      else {
        await client.get('/next');
        expect((await client.answer()).json).toBe('/next');
      }
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 200, body: '"there"' });
  });

  test('leaves its connection as it was, however often', async () => {
    const fixture = await serve(AT_ONCE);
    const client = await fixture.connect();
    const listeners: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      await client.get('/wait');
      await eventually(() => expect(fixture.asleepCount()).toBe(1));
      const { socket } = fixture.works[round]!;
      fixture.works[round]!.finish();
      expect((await client.answer()).json).toBe('there');
      const counts = socket.eventNames().map((event) => socket.listenerCount(event));
      listeners.push(counts.reduce((sum, count) => sum + count, 0));
    }
    expect(new Set(listeners.slice(1)).size).toBe(1);
    expect(fixture.server.connectionCount).toBe(1);
    expect(fixture.seen).toHaveLength(20);
    client.destroy();
    await eventually(() => expect(fixture.server.connectionCount).toBe(0));
  });

  test('is refused in the words of its work', async () => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    work.error = new Error('no leader');
    work.finish();
    const answer = await client.answer();
    expect([answer.status, answer.json]).toEqual([503, 'no leader']);
  });

  test('delivers an answer that no buffer takes in at once', async () => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    work.text = 'x'.repeat(8 * 1024 * 1024);
    work.finish();
    expect((await client.answer()).json).toBe(work.text);
  });
});

describe('a client of an exchange that sleeps', () => {
  test.each(['resets', 'ends'] as const)('is gone when it %s its connection', async (how) => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    expect(work.client.aborted).toBe(false);
    if (how === 'ends') client.end();
    else client.destroy();
    await eventually(() => expect(work.client.aborted).toBe(true));
    expect(fixture.asleepCount()).toBe(0);
    expect(fixture.server.connectionCount).toBe(0);
    expect(work.isDiscarded).toBe(false);
    // What was on its way for it has to go back.
    work.finish();
    await eventually(() => expect(work.isDiscarded).toBe(true));
  });

  test('may send another request, which is handled at once and answered in turn', async () => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    await client.get('/second');
    await eventually(() => expect(fixture.seen).toEqual(['/wait', '/second']));
    expect(fixture.asleepCount()).toBe(0);
    await client.get('/third');
    await eventually(() => expect(fixture.seen).toHaveLength(3));
    work.finish();
    const answers = [await client.answer(), await client.answer(), await client.answer()];
    expect(answers.map(({ json }) => json)).toEqual(['there', '/second', '/third']);
  });

  test('is seen to leave after that, too', async () => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    await client.get('/second');
    await eventually(() => expect(fixture.seen).toHaveLength(2));
    client.destroy();
    await eventually(() => expect(work.client.aborted).toBe(true));
  });

  test('may send the next request in pieces', async () => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    await client.send('GET /sec');
    await eventually(() => expect(fixture.asleepCount()).toBe(0));
    work.finish();
    expect((await client.answer()).json).toBe('there');
    await client.send('ond HTTP/1.1\r\nHost: test\r\n\r\n');
    expect((await client.answer()).json).toBe('/second');
  });

  test('gets its answer before it hears that what it sent then is not HTTP', async () => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    await client.send('!?\r\n\r\n');
    await eventually(() => expect(fixture.asleepCount()).toBe(0));
    work.finish();
    expect((await client.answer()).json).toBe('there');
    expect((await client.answer()).status).toBe(400);
  });
});

describe('an exchange stays awake', () => {
  test.each([
    ['a whole request', 'GET /second HTTP/1.1\r\nHost: test\r\n\r\n', ''],
    ['a piece of one', 'GET /sec', 'ond HTTP/1.1\r\nHost: test\r\n\r\n'],
  ])('when %s came right behind it', async (_what, now, later) => {
    const fixture = await serve(AT_ONCE);
    const client = await fixture.connect();
    await client.send(`GET /wait HTTP/1.1\r\nHost: test\r\n\r\n${now}`);
    await eventually(() => expect(fixture.works).toHaveLength(1));
    // It had its chance once a younger one sleeps.
    const other = await sleeper(fixture);
    expect(fixture.asleepCount()).toBe(1);
    fixture.works[0]!.finish();
    expect((await client.answer()).json).toBe('there');
    await client.send(later);
    expect((await client.answer()).json).toBe('/second');
    other.work.finish();
    expect((await other.client.answer()).json).toBe('there');
  });

  test('while its body is still to come', async () => {
    const fixture = await serve(AT_ONCE);
    const client = await fixture.connect();
    await client.send('GET /wait HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhe');
    await eventually(() => expect(fixture.works).toHaveLength(1));
    await sleeper(fixture);
    expect(fixture.asleepCount()).toBe(1);
    await client.send('llo');
    fixture.works[0]!.finish();
    expect((await client.answer()).json).toBe('there');
    await client.get('/next');
    expect((await client.answer()).json).toBe('/next');
  });

  test('while few wait, and then the oldest sleep', async () => {
    const fixture = await serve({ awakeMax: 2, sleepAfterMs: 0 });
    const clients: RawClient[] = [];
    for (let i = 0; i < 5; i += 1) {
      clients.push(await fixture.connect());
      await clients[i]!.get('/wait');
      await eventually(() => expect(fixture.works).toHaveLength(i + 1));
      await eventually(() => expect(fixture.asleepCount()).toBe(Math.max(0, i - 1)));
    }
    const isAsleep = fixture.works.map(({ socket }) => !('parser' in socket) || !socket.parser);
    expect(isAsleep).toEqual([true, true, true, false, false]);
    for (const work of fixture.works) work.finish();
    for (const client of clients) expect((await client.answer()).json).toBe('there');
    expect(fixture.asleepCount()).toBe(0);
  });

  test('while it is young', async () => {
    const fixture = await serve({ awakeMax: 0, sleepAfterMs: 3_600_000 });
    const client = await fixture.connect();
    await client.get('/wait');
    await eventually(() => expect(fixture.works).toHaveLength(1));
    await (await fixture.connect()).get('/other');
    await eventually(() => expect(fixture.seen).toHaveLength(2));
    expect(fixture.asleepCount()).toBe(0);
    fixture.works[0]!.finish();
    expect((await client.answer()).json).toBe('there');
  });
});

describe('a server that closes', () => {
  test('waits for exchanges that sleep, and ends their connections', async () => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    const closed = fixture.server.close(60_000);
    work.finish();
    const answer = await client.answer();
    expect([answer.json, answer.headers.get('connection')]).toEqual(['there', 'close']);
    await closed;
    await client.ended();
  });

  test('ends them by force when its patience is over', async () => {
    const fixture = await serve(AT_ONCE);
    const { client, work } = await sleeper(fixture);
    await fixture.server.close(0);
    await client.ended();
    await eventually(() => expect(work.client.aborted).toBe(true));
  });
});

describe('many exchanges', () => {
  test('that are due at once wake over several turns of the event loop', async () => {
    const fixture = await serve(AT_ONCE);
    const clients: RawClient[] = [];
    for (let i = 0; i < 150; i += 1) {
      clients.push(await fixture.connect());
      await clients[i]!.get('/wait');
    }
    await eventually(() => expect(fixture.asleepCount()).toBe(150));
    for (const work of fixture.works) work.finish();
    // All are due by now, and no turn has passed.
    await Promise.resolve();
    expect(fixture.asleepCount()).toBe(150 - 64);
    for (const client of clients) expect((await client.answer()).json).toBe('there');
    expect(fixture.asleepCount()).toBe(0);
  });

  test.each([1, 2, 3, 4])('are answered each in its turn, with seed %i', async (seed) => {
    const rng = new SeededRng(seed);
    const pick = (count: number): number => rng.u32() % count;
    const fixture = await serve({ awakeMax: 2, sleepAfterMs: 0 });
    const clients = await Promise.all(Array.from({ length: 6 }, fixture.connect));
    const expected: string[][] = clients.map(() => []);
    let sent = 0;
    let slept = 0;
    for (let step = 0; step < 400; step += 1) {
      const i = pick(clients.length);
      const path = pick(2) === 0 ? '/wait' : `/${step}`;
      const action = pick(4);
      if (action === 0) fixture.works[pick(fixture.works.length + 1)]?.finish();
      else if (action === 1) await nextTurn();
      else {
        const request = `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;
        const cut = action === 2 ? pick(request.length) : 0;
        await clients[i]!.send(request.slice(0, cut));
        if (cut > 0) await nextTurn();
        await clients[i]!.send(request.slice(cut));
        expected[i]!.push(path === '/wait' ? 'there' : path);
        sent += 1;
      }
      slept = Math.max(slept, fixture.asleepCount());
      // Now and then all that was sent has come, so that some are at rest.
      if (step % 10 === 0) await eventually(() => expect(fixture.seen).toHaveLength(sent));
    }
    await eventually(() => expect(fixture.seen).toHaveLength(sent));
    for (const work of fixture.works) work.finish();
    for (const [i, client] of clients.entries()) {
      const answers: unknown[] = [];
      while (answers.length < expected[i]!.length) answers.push((await client.answer()).json);
      expect(answers).toEqual(expected[i]);
    }
    expect(slept).toBeGreaterThan(0);
    expect(fixture.asleepCount()).toBe(0);
    expect(fixture.server.connectionCount).toBe(clients.length);
    expect(fixture.works.some(({ isDiscarded, client }) => isDiscarded || client.aborted)).toBe(
      false,
    );
  });
});
