// The clients of `parked-pops.ts`, in a process of their own: many connections, each with one pop that
// waits. The answers to pushes and the pops that they wake are timed here, by one clock.

import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** What the benchmark asks for. */
export type ClientOrder =
  | {
      readonly kind: 'park';
      readonly port: number;
      /** Pops number `from` up to, without, `toExclusive`. */
      readonly from: number;
      readonly toExclusive: number;
      readonly queues: number;
    }
  | { readonly kind: 'wake'; readonly samples: number }
  | { readonly kind: 'leave' };

/** What it is told when that is done. */
export type ClientReport =
  | { readonly kind: 'parked' }
  | { readonly kind: 'left' }
  | {
      readonly kind: 'woken';
      /** From a push nobody waits for to its answer. */
      readonly pushMs: readonly number[];
      /** From a push that wakes a pop to the push's answer. */
      readonly wakingPushMs: readonly number[];
      /** From the same push to the pop's answer. */
      readonly wakeMs: readonly number[];
    };

/** Connections that are opened at once. */
const OPENING_MAX = 64;
/** Where pushes go that nobody waits for. */
const UNWATCHED = 'unwatched';
const WAIT_MS = 600_000;

/** Pops that wait, in the order of their numbers. */
const parked: { readonly number: number; readonly connection: Connection }[] = [];
let queues = 1;
let port = 0;

/** One connection; at most one request is in flight. */
class Connection {
  readonly #socket: Socket;
  #onAnswer: (status: string) => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      // Answers here are small: a head and a body in one piece.
      this.#onAnswer(bytes.toString('latin1', 9, 12));
    });
    socket.on('error', (error) => fail(error.message));
    socket.on('close', () => fail('the node closed a connection'));
  }

  static open(at: number): Promise<Connection> {
    return new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: at, noDelay: true });
      const connection = new Connection(socket);
      socket.once('connect', () => resolve(connection));
    });
  }

  /** Sends a request; resolves with its status when the answer is there. */
  send(request: string): Promise<string> {
    return new Promise((resolve) => {
      this.#onAnswer = resolve;
      this.#socket.write(request);
    });
  }

  leave(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.removeAllListeners('close');
      this.#socket.once('close', () => resolve());
      this.#socket.resetAndDestroy();
    });
  }
}

process.on('message', (order: ClientOrder) => {
  void obey(order).then((report) => process.send?.(report));
});

function obey(order: ClientOrder): Promise<ClientReport> {
  switch (order.kind) {
    case 'park':
      return park(order);
    case 'wake':
      return wake(order.samples);
    default:
      return leave();
  }
}

async function park(order: ClientOrder & { readonly kind: 'park' }): Promise<ClientReport> {
  queues = order.queues;
  port = order.port;
  let next = order.from;
  const worker = async (): Promise<void> => {
    while (next < order.toExclusive) {
      const number = next;
      next += 1;
      const connection = await Connection.open(port);
      void connection.send(popRequest(number)).then((status) => fail(`a pop came to ${status}`));
      parked.push({ number, connection });
    }
  };
  await Promise.all(Array.from({ length: OPENING_MAX }, worker));
  parked.sort((a, b) => a.number - b.number);
  return { kind: 'parked' };
}

async function wake(samples: number): Promise<ClientReport> {
  const times = { pushMs: [] as number[], wakingPushMs: [] as number[], wakeMs: [] as number[] };
  const pusher = await Connection.open(port);
  const targets = parked.filter(({ number }) => isPinned(number)).slice(0, samples);
  for (const { number, connection } of targets) {
    times.pushMs.push((await timed(() => pusher.send(pushRequest(UNWATCHED, 'p')))).elapsedMs);
    const { queue, partition } = placeOf(number);
    const startMs = performance.now();
    const popped = timed(() => connection.send(''));
    const pushed = await timed(() => pusher.send(pushRequest(queue, partition)));
    const { status, endMs } = await popped;
    if (pushed.status !== '201' || status !== '200') fail(`${pushed.status} woke ${status}`);
    times.wakingPushMs.push(pushed.elapsedMs);
    times.wakeMs.push(endMs - startMs);
  }
  await pusher.leave();
  return { kind: 'woken', ...times };
}

async function timed(
  run: () => Promise<string>,
): Promise<{ readonly status: string; readonly elapsedMs: number; readonly endMs: number }> {
  const startMs = performance.now();
  const status = await run();
  const endMs = performance.now();
  return { status, elapsedMs: endMs - startMs, endMs };
}

async function leave(): Promise<ClientReport> {
  await Promise.all(parked.map(({ connection }) => connection.leave()));
  setImmediate(() => process.disconnect());
  return { kind: 'left' };
}

/** Half of the pops wait for one partition, the others for any partition of their queue. */
function isPinned(number: number): boolean {
  return number % 2 === 0;
}

function placeOf(number: number): { readonly queue: string; readonly partition: string } {
  return { queue: `parked-${Math.floor(number / 2) % queues}`, partition: `p-${number}` };
}

function popRequest(number: number): string {
  const { queue, partition } = placeOf(number);
  const scope = isPinned(number) ? `/partition/${partition}` : '';
  return (
    `GET /api/v1/pop/queue/${queue}${scope}?batch=100&wait=true&timeout=${WAIT_MS} HTTP/1.1\r\n` +
    'Host: 127.0.0.1:6632\r\nConnection: keep-alive\r\nAccept: */*\r\n' +
    'Accept-Language: *\r\nSec-Fetch-Mode: cors\r\nUser-Agent: node\r\n' +
    'Accept-Encoding: gzip, deflate\r\n\r\n'
  );
}

function pushRequest(queue: string, partition: string): string {
  const payload = { filler: 'x'.repeat(240) };
  const body = JSON.stringify({ items: [{ queue, partition, payload }] });
  return (
    'POST /api/v1/push HTTP/1.1\r\nHost: 127.0.0.1:6632\r\nConnection: keep-alive\r\n' +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

function fail(what: string): never {
  console.error(`parked pops: ${what}`);
  process.exit(1);
}
