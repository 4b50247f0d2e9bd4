// A broker in a process of its own, and what the system says about it.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** As `npm start` has it. */
const NODE_FLAGS = ['--max-semi-space-size=8'];
const START_MS_MAX = 20_000;
const POLL_MS = 250;
/** Memory is at rest when it has not reached a new low for this long. */
const REST_MS = 10_000;
const SETTLE_MS_MAX = 60_000;
const CPU_SECONDS = 20;
/** Kernel clock ticks in a second, as /proc counts. */
const TICKS_PER_SECOND = 100;

/** A running broker. Whoever starts it ends `child`. */
export class BrokerProcess {
  readonly port: number;
  readonly child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.child = child;
    this.port = port;
  }

  /** Starts the module `entry` on a data directory; resolves when it serves. */
  static async start(entry: string, directory: string): Promise<BrokerProcess> {
    const port = await freePort();
    const env = { ...process.env, PORT: String(port), QUEEN_RAFT_DIR: directory };
    const child = spawn(process.execPath, [...NODE_FLAGS, '--conditions=source', entry], {
      env: { ...env, QUEEN_BIND_ADDR: '127.0.0.1' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const node = new BrokerProcess(child, port);
    const giveUpMs = performance.now() + START_MS_MAX;
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
      await answer?.arrayBuffer();
      if (answer?.ok === true) return node;
      if (child.exitCode !== null || performance.now() > giveUpMs) {
        throw new Error('the broker did not start');
      }
      await delay(POLL_MS);
    }
  }

  /** Waits until resident memory no longer falls; returns it in bytes. */
  async settle(): Promise<number> {
    const endMs = performance.now() + SETTLE_MS_MAX;
    let lowest = Infinity;
    let lowestMs = performance.now();
    while (performance.now() - lowestMs < REST_MS && performance.now() < endMs) {
      await delay(POLL_MS);
      const rss = this.rssBytes();
      if (rss >= lowest) continue;
      lowest = rss;
      lowestMs = performance.now();
    }
    return this.rssBytes();
  }

  /** Resident memory. */
  rssBytes(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
  }

  /** CPU time of the process over some seconds, in percent of one core. */
  async cpuPercent(): Promise<number> {
    const before = this.#cpuSeconds();
    const startMs = performance.now();
    await delay(CPU_SECONDS * 1000);
    const elapsedSeconds = (performance.now() - startMs) / 1000;
    return (100 * (this.#cpuSeconds() - before)) / elapsedSeconds;
  }

  #cpuSeconds(): number {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, 'utf8');
    // The name, which may contain anything, ends with the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }

  /** Waits until so many pops are parked, by the node's own count. */
  async untilParked(count: number): Promise<void> {
    const giveUpMs = performance.now() + START_MS_MAX;
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${this.port}/metrics/prometheus`);
      const parked = Number(/^queen_parked_long_polls (\d+)$/m.exec(await answer.text())?.[1]);
      if (parked === count) return;
      if (performance.now() > giveUpMs) throw new Error(`${parked} pops are parked, not ${count}`);
      await delay(POLL_MS);
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
