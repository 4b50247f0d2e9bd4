// How long a node with many partitions takes from its start to /health 200, after a clean stop and after
// kill -9 with some log to replay (P9). Starts the broker itself, in a temporary directory:
//   npx node bench/start-time.ts [partitions] [MiB of log behind the last checkpoint]
// Prints times, sizes and the memory of the process.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { readdir, readFile, rm, stat, mkdtemp } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const PER_REQUEST = 1000;
const PAYLOAD = 'x'.repeat(256);
const partitions = Number(process.argv[2] ?? 1_000_000);
const replayMiB = Number(process.argv[3] ?? 60);
let running: Node | undefined;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** One broker process. */
class Node {
  readonly child: ChildProcess;
  readonly port: number;

  constructor(child: ChildProcess, port: number) {
    this.child = child;
    this.port = port;
  }

  static async start(
    directory: string,
  ): Promise<{ node: Node; healthyMs: number; firstPushMs: number }> {
    const port = await freePort();
    const startMs = performance.now();
    const env = { ...process.env, PORT: String(port), QUEEN_RAFT_DIR: directory };
    const main = new URL('../packages/server/src/main.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, ['--conditions=source', main], {
      env: { ...env, QUEEN_BIND_ADDR: '127.0.0.1' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const node = new Node(child, port);
    // From here on it is ended with this process, also when its first answers are errors.
    running = node;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the broker ended with ${child.exitCode}`);
      const { status } = await node.call('GET', '/health').catch(() => ({ status: 0 }));
      if (status === 200) break;
      await delay(5);
    }
    const healthyMs = performance.now() - startMs;
    await node.push([0]);
    return { node, healthyMs, firstPushMs: performance.now() - startMs };
  }

  async push(of: readonly number[]): Promise<void> {
    const items = of.map((i) => ({ queue: 'q', partition: `customer-${i}`, payload: PAYLOAD }));
    const { status, body } = await this.call('POST', '/api/v1/push', JSON.stringify({ items }));
    if (status !== 201) throw new Error(`push: ${status} ${body.slice(0, 200)}`);
  }

  /** Consumes up to a thousand partitions; returns how many messages came. */
  async pop(): Promise<number> {
    const query = `batch=${PER_REQUEST}&partitions=${PER_REQUEST}&autoAck=true&wait=false`;
    const { status, body } = await this.call('GET', `/api/v1/pop/queue/q?${query}`);
    if (status === 204) return 0;
    if (status !== 200) throw new Error(`pop: ${status} ${body.slice(0, 200)}`);
    return (JSON.parse(body) as { messages: unknown[] }).messages.length;
  }

  async end(signal: NodeJS.Signals): Promise<number> {
    const startMs = performance.now();
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
    return performance.now() - startMs;
  }

  async rssMiB(): Promise<number> {
    const status = await readFile(`/proc/${this.child.pid}/status`, 'utf8');
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }

  async cpuSeconds(): Promise<number> {
    const fields = (await readFile(`/proc/${this.child.pid}/stat`, 'utf8')).split(' ');
    return (Number(fields[13]) + Number(fields[14])) / 100;
  }

  call(method: string, path: string, body = ''): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      };
      const options = { host: '127.0.0.1', port: this.port, method, path, headers, agent };
      const outgoing = request(options, (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('end', () => {
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(parts).toString('utf8') });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

const directory = await mkdtemp(join(tmpdir(), 'queen-start-'));
// Cut off from outside: the broker must not outlive this process, nor its directory.
process.once('SIGTERM', () => {
  running?.child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
  process.exit(1);
});
try {
  await main();
} finally {
  running?.child.kill('SIGKILL');
  agent.destroy();
  await rm(directory, { recursive: true, force: true });
}

async function main(): Promise<void> {
  let { node, healthyMs, firstPushMs } = await Node.start(directory);
  running = node;
  say('empty', { healthyMs, firstPushMs, rssMiB: await node.rssMiB() });
  await inParallel(Math.ceil(partitions / PER_REQUEST), (i) =>
    running!.push(Array.from({ length: PER_REQUEST }, (_, k) => i * PER_REQUEST + k)),
  );
  say('pushed', { rssMiB: await node.rssMiB(), cpuSeconds: await node.cpuSeconds() });
  let popped = 0;
  for (let count = -1; count !== 0;) {
    count = await node.pop();
    popped += count;
  }
  say('loaded', { popped, rssMiB: await node.rssMiB(), ...(await sizes()) });
  const stopMs = await node.end('SIGTERM');
  say('stopped', { stopMs, ...(await sizes()) });

  for (let round = 0; round < 3; round += 1) {
    ({ node, healthyMs, firstPushMs } = await Node.start(directory));
    running = node;
    const cpuSeconds = await node.cpuSeconds();
    say('after a clean stop', { healthyMs, firstPushMs, cpuSeconds, rssMiB: await node.rssMiB() });
    if (round < 2) await node.end('SIGTERM');
  }
  await inParallel(Math.ceil((replayMiB * 1024 * 1024) / (PER_REQUEST * 420)), (i) =>
    running!.push(Array.from({ length: PER_REQUEST }, (_, k) => (i * 7919 + k * 13) % partitions)),
  );
  say('pushed more', { rssMiB: await node.rssMiB(), ...(await sizes()) });
  await node.end('SIGKILL');
  for (let round = 0; round < 3; round += 1) {
    ({ node, healthyMs, firstPushMs } = await Node.start(directory));
    running = node;
    const cpuSeconds = await node.cpuSeconds();
    say('after kill -9', { healthyMs, firstPushMs, cpuSeconds, rssMiB: await node.rssMiB() });
    await node.end('SIGKILL');
  }
}

async function sizes(): Promise<Record<string, number | string>> {
  const path = join(directory, 'checkpoints');
  const names = (await readdir(path).catch(() => [])).filter((name) => name.endsWith('.state'));
  const newest = names.toSorted().at(-1);
  if (newest === undefined) return { checkpoints: 0 };
  const { size } = await stat(join(path, newest));
  return { newest, checkpointMiB: size / 2 ** 20, bytesPerPartition: size / partitions };
}

async function inParallel(count: number, run: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await run(next - 1);
    }
  };
  await Promise.all([1, 2, 3, 4].map(worker));
}

function say(what: string, values: Record<string, number | string>): void {
  const texts = Object.entries(values).map(
    ([name, value]) => `${name} ${typeof value === 'number' ? Math.round(value * 10) / 10 : value}`,
  );
  console.log(`${what.padEnd(20)} ${texts.join('  ')}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  server.close();
  await once(server, 'close');
  return port;
}
