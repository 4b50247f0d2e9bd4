// Pushes as fast as a node answers and prints what it took. One request in flight per connection,
// hand-written over bare sockets and with the request bytes built once, so that the generator costs
// little beside the server it shares the machine with. Point it at `noop-server.ts` to see its own
// ceiling.
//
//   node bench/push-throughput.ts --url http://127.0.0.1:6632 --connections 64 --batch 100

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const HEAD_END = Buffer.from('\r\n\r\n');
const CHUNKS_END = Buffer.from('\r\n0\r\n\r\n');
const ERROR_VERDICT = Buffer.from('"status":"error"');
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

interface Options {
  readonly url: URL;
  readonly path: string;
  readonly queue: string;
  readonly connections: number;
  readonly batch: number;
  /** Bytes of one payload. */
  readonly size: number;
  readonly partitions: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly json: boolean;
}

/** What all connections add to while the measurement runs. */
interface Totals {
  isMeasuring: boolean;
  isStopping: boolean;
  requests: number;
  failures: number;
  firstFailure: string | undefined;
  readonly latenciesMs: number[];
}

await main(readOptions());

async function main(options: Options): Promise<void> {
  const totals: Totals = {
    isMeasuring: false,
    isStopping: false,
    requests: 0,
    failures: 0,
    firstFailure: undefined,
    latenciesMs: [],
  };
  const requests = Array.from({ length: options.partitions }, (_, i) => requestBytes(options, i));
  const connections = Array.from({ length: options.connections }, (_, i) =>
    runConnection({ options, totals, requests, first: i }),
  );
  const finished = Promise.all(connections);
  const startMs = await Promise.race([measureAfterWarmup(options, totals), finished.then(() => 0)]);
  const elapsedSeconds = (performance.now() - startMs) / 1000;
  totals.isStopping = true;
  await finished;
  print(options, totals, elapsedSeconds);
  if (totals.failures > 0) process.exitCode = 1;
}

/** Resolves at the end of the measurement with the time at which it began. */
async function measureAfterWarmup(options: Options, totals: Totals): Promise<number> {
  await delay(options.warmupSeconds * 1000, undefined, { ref: false });
  totals.isMeasuring = true;
  const startMs = performance.now();
  await delay(options.seconds * 1000, undefined, { ref: false });
  totals.isMeasuring = false;
  return startMs;
}

/** The whole request: head and a batch for one partition. Without transaction ids: no dedup. */
function requestBytes(options: Options, partition: number): Buffer {
  const filler = 'x'.repeat(Math.max(0, options.size - '{"x":""}'.length));
  const item = JSON.stringify({
    queue: options.queue,
    partition: `p-${partition}`,
    payload: { x: filler },
  });
  const body = `{"items":[${Array.from({ length: options.batch }, () => item).join(',')}]}`;
  return Buffer.from(
    `POST ${options.path} HTTP/1.1\r\nHost: ${options.url.host}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

interface ConnectionOptions {
  readonly options: Options;
  readonly totals: Totals;
  readonly requests: readonly Buffer[];
  /** Position of the first request; later ones follow in turn. */
  readonly first: number;
}

/** Sends, waits for the answer, sends the next. Resolves once stopped or failed. */
async function runConnection(connection: ConnectionOptions): Promise<void> {
  const { options, totals, requests } = connection;
  const socket = connect({ host: options.url.hostname, port: Number(options.url.port) || 80 });
  socket.setNoDelay(true);
  let position = connection.first;
  let sentAtMs = 0;
  let received: Buffer | undefined;
  const sendNext = (): void => {
    if (totals.isStopping) {
      socket.destroy();
      return;
    }
    sentAtMs = performance.now();
    socket.write(requests[position % requests.length] ?? '');
    position += 1;
  };
  socket.on('connect', sendNext);
  socket.on('data', (chunk: Buffer) => {
    received = received === undefined ? chunk : Buffer.concat([received, chunk]);
    if (!isCompleteAnswer(received)) return;
    noteAnswer(totals, received, performance.now() - sentAtMs);
    received = undefined;
    sendNext();
  });
  await closed(socket, totals);
}

async function closed(socket: Socket, totals: Totals): Promise<void> {
  await new Promise<void>((resolve) => {
    socket.on('error', (error) => {
      noteFailure(totals, error.message);
    });
    socket.on('close', () => {
      if (!totals.isStopping) noteFailure(totals, 'the server closed a connection');
      resolve();
    });
  });
}

/** Whether `bytes` hold a whole answer. One request is in flight, so nothing can follow it. */
function isCompleteAnswer(bytes: Buffer): boolean {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const length = CONTENT_LENGTH.exec(bytes.toString('latin1', 0, headEnd));
  if (length !== null) return bytes.length >= headEnd + HEAD_END.length + Number(length[1]);
  return bytes.subarray(-CHUNKS_END.length).equals(CHUNKS_END);
}

function noteAnswer(totals: Totals, answer: Buffer, durationMs: number): void {
  // «HTTP/1.1 2xx»: the status class is the tenth byte.
  const isAccepted = answer[9] === 0x32 && !answer.includes(ERROR_VERDICT);
  if (!isAccepted) {
    noteFailure(totals, answer.toString('utf8', 0, 600));
    return;
  }
  if (!totals.isMeasuring) return;
  totals.requests += 1;
  totals.latenciesMs.push(durationMs);
}

function noteFailure(totals: Totals, text: string): void {
  totals.failures += 1;
  totals.firstFailure ??= text;
}

function print(options: Options, totals: Totals, elapsedSeconds: number): void {
  const sorted = Float64Array.from(totals.latenciesMs).sort();
  const percentile = (percent: number): number =>
    sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? Number.NaN;
  const perSecond = totals.requests / elapsedSeconds;
  const result = {
    connections: options.connections,
    batch: options.batch,
    sizeBytes: options.size,
    seconds: Number(elapsedSeconds.toFixed(2)),
    requestsPerSecond: Math.round(perSecond),
    messagesPerSecond: Math.round(perSecond * options.batch),
    p50Ms: Number(percentile(50).toFixed(3)),
    p99Ms: Number(percentile(99).toFixed(3)),
    failures: totals.failures,
  };
  if (options.json) console.log(JSON.stringify(result));
  else {
    console.log(
      `${result.requestsPerSecond} requests/s, ${result.messagesPerSecond} messages/s, ` +
        `p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms ` +
        `(${options.connections} connections, ${options.batch} × ${options.size} B, ${result.seconds} s)`,
    );
  }
  if (totals.failures > 0) {
    console.error(`${totals.failures} requests failed, the first with: ${totals.firstFailure}`);
  }
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:6632' },
      path: { type: 'string', default: '/api/v1/push' },
      queue: { type: 'string', default: 'push-throughput' },
      connections: { type: 'string', default: '64' },
      batch: { type: 'string', default: '1' },
      size: { type: 'string', default: '256' },
      partitions: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '5' },
      'warmup-seconds': { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
    },
  });
  const whole = (name: 'connections' | 'batch' | 'size' | 'partitions'): number => {
    const value = Number(values[name]);
    if (!Number.isSafeInteger(value) || value < 1)
      throw new Error(`--${name} needs a whole number`);
    return value;
  };
  return {
    url: new URL(values.url),
    path: values.path,
    queue: values.queue,
    connections: whole('connections'),
    batch: whole('batch'),
    size: whole('size'),
    partitions: whole('partitions'),
    seconds: Number(values.seconds),
    warmupSeconds: Number(values['warmup-seconds']),
    json: values.json,
  };
}
