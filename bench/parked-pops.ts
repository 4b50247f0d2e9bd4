// What pops that wait cost an idle node (P12), how soon a push wakes one (P13), and whether clients
// that leave are forgotten. Starts the broker itself, in a temporary directory, and the clients in
// processes of their own.
//
//   npm run bench:parked -- --pops 10000 --queues 100 --json figures.json
//
// Memory is the node's resident memory (RSS) with all pops parked, beyond the same node before the
// first of them. Nothing is done to the node but what its users do: wait until its memory is at rest.

import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BrokerProcess } from './broker-process.ts';
import type { ClientOrder, ClientReport } from './parked-clients.ts';

/** Bars of design §9. */
const BYTES_A_POP_MAX = 12 * 1024;
const CPU_PERCENT_MAX = 3;
const WAKE_RATIO_MAX = 2;

/** File descriptors bound what one process can hold. */
const POPS_A_CLIENT_MAX = 8000;

interface Options {
  readonly pops: number;
  readonly queues: number;
  readonly samples: number;
  readonly entry: string;
  readonly json: string | undefined;
}

interface Figures {
  readonly pops: number;
  readonly rssIdleBytes: number;
  readonly rssParkedBytes: number;
  readonly bytesPerPop: number;
  readonly cpuPercentIdle: number;
  readonly cpuPercentParked: number;
  readonly pushP50Ms: number;
  readonly wakingPushP50Ms: number;
  readonly wakeP50Ms: number;
  readonly wakeP99Ms: number;
  readonly wakeRatio: number;
  readonly forgottenMs: number;
  readonly rssLeftBytes: number;
}

const children: ChildProcess[] = [];
const directory = mkdtempSync(join(tmpdir(), 'queen-parked-'));
process.once('SIGTERM', () => process.exit(1));
process.once('SIGINT', () => process.exit(1));
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});
const options = readOptions();
const figures = await measure(options);
print(figures);
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(figures)}\n`);
process.exit(isWithinBars(figures) ? 0 : 1);

async function measure({ pops, queues, samples, entry }: Options): Promise<Figures> {
  const node = await BrokerProcess.start(entry, directory);
  children.push(node.child);
  const rssIdleBytes = await node.settle();
  const cpuPercentIdle = await node.cpuPercent();
  const clients = startClients(Math.ceil(pops / POPS_A_CLIENT_MAX));
  const perClient = Math.ceil(pops / clients.length);
  await askAll(clients, (i) => ({
    kind: 'park',
    port: node.port,
    from: i * perClient,
    toExclusive: Math.min(pops, (i + 1) * perClient),
    queues,
  }));
  await node.untilParked(pops);
  const rssParkedBytes = await node.settle();
  const cpuPercentParked = await node.cpuPercent();
  const woken = await ask(clients[0]!, { kind: 'wake', samples });
  if (woken.kind !== 'woken') throw new Error(`a client answered with ${woken.kind}`);
  const pushP50Ms = percentile(woken.pushMs, 50);
  const wakeP50Ms = percentile(woken.wakeMs, 50);
  const leftMs = performance.now();
  await askAll(clients, () => ({ kind: 'leave' }));
  await node.untilParked(0);
  const forgottenMs = performance.now() - leftMs;
  return {
    pops,
    rssIdleBytes,
    rssParkedBytes,
    bytesPerPop: (rssParkedBytes - rssIdleBytes) / pops,
    cpuPercentIdle,
    cpuPercentParked,
    pushP50Ms,
    wakingPushP50Ms: percentile(woken.wakingPushMs, 50),
    wakeP50Ms,
    wakeP99Ms: percentile(woken.wakeMs, 99),
    wakeRatio: wakeP50Ms / pushP50Ms,
    forgottenMs,
    rssLeftBytes: await node.settle(),
  };
}

function startClients(count: number): readonly ChildProcess[] {
  const module = new URL('parked-clients.ts', import.meta.url);
  const clients = Array.from({ length: count }, () => fork(module));
  children.push(...clients);
  return clients;
}

async function ask(client: ChildProcess, order: ClientOrder): Promise<ClientReport> {
  const ended = once(client, 'exit').then(() => {
    throw new Error('a client gave up');
  });
  client.send(order);
  const [report] = (await Promise.race([once(client, 'message'), ended])) as [ClientReport];
  ended.catch(() => {});
  return report;
}

async function askAll(
  clients: readonly ChildProcess[],
  order: (i: number) => ClientOrder,
): Promise<void> {
  await Promise.all(clients.map((client, i) => ask(client, order(i))));
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? Number.NaN;
}

function isWithinBars(it: Figures): boolean {
  return (
    it.bytesPerPop <= BYTES_A_POP_MAX &&
    it.cpuPercentParked <= CPU_PERCENT_MAX &&
    it.wakeRatio <= WAKE_RATIO_MAX
  );
}

function print(it: Figures): void {
  const rows: readonly (readonly [what: string, value: string, bar: string])[] = [
    ['parked pops', String(it.pops), ''],
    ['RSS before', mebibytes(it.rssIdleBytes), ''],
    ['RSS with them', mebibytes(it.rssParkedBytes), ''],
    ['RSS a pop', `${(it.bytesPerPop / 1024).toFixed(2)} KiB`, '≤ 12 KiB'],
    ['CPU before', `${it.cpuPercentIdle.toFixed(2)} %`, ''],
    ['CPU with them', `${it.cpuPercentParked.toFixed(2)} %`, '≤ 3 %'],
    ['push p50', milliseconds(it.pushP50Ms), ''],
    ['push p50, one wakes', milliseconds(it.wakingPushP50Ms), ''],
    ['wake-up p50', milliseconds(it.wakeP50Ms), ''],
    ['wake-up p99', milliseconds(it.wakeP99Ms), ''],
    ['wake-up ÷ push', it.wakeRatio.toFixed(2), '≤ 2'],
    ['all forgotten after', milliseconds(it.forgottenMs), ''],
    ['RSS without them', mebibytes(it.rssLeftBytes), ''],
  ];
  for (const [what, value, bar] of rows) {
    console.log(`${what.padEnd(22)}${value.padStart(12)}  ${bar}`.trimEnd());
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(3)} ms`;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      pops: { type: 'string', default: '10000' },
      queues: { type: 'string', default: '100' },
      samples: { type: 'string', default: '400' },
      entry: { type: 'string', default: 'packages/server/src/main.ts' },
      json: { type: 'string' },
    },
  });
  const whole = (name: 'pops' | 'queues' | 'samples'): number => {
    const value = Number(values[name]);
    if (Number.isSafeInteger(value) && value > 0) return value;
    throw new Error(`--${name} needs a whole number`);
  };
  return {
    pops: whole('pops'),
    queues: whole('queues'),
    samples: whole('samples'),
    entry: values.entry,
    json: values.json,
  };
}
