// The demo as users run it: it verifies against a real broker, generation after generation, and it
// fails when what comes back is not what was sent.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { probeFreePort } from '../support/broker-process.ts';
import { within } from '../support/eventually.ts';
import { TamperingProxy } from '../support/tampering-proxy.ts';
import type { Tamper } from '../support/tampering-proxy.ts';
import { useBroker } from '../support/use-broker.ts';
import type { Batch, Message } from '../support/wire.ts';

const DEMO = fileURLToPath(new URL('../../bench/demo/main.ts', import.meta.url));
const DEADLINE_MS = 60_000;

const broker = useBroker();
const proxies: TamperingProxy[] = [];

afterEach(() => {
  for (const proxy of proxies.splice(0)) proxy.close();
});

interface DemoRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function runDemo(url: string, args: readonly string[] = []): Promise<DemoRun> {
  const child = spawn(process.execPath, [DEMO, ...args], {
    env: { PATH: process.env['PATH'] ?? '', QUEEN_URL: url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  try {
    return { code: await within('the end of the demo', ended, DEADLINE_MS), ...output };
  } finally {
    child.kill('SIGKILL');
  }
}

/** Runs the demo behind a proxy that changes the messages of the tenth batch. */
async function runTampered(
  queue: string,
  change: (messages: readonly Message[]) => readonly Message[],
): Promise<DemoRun> {
  let batches = 0;
  const tamper: Tamper = (path, text) => {
    if (!path.startsWith('/api/v1/pop/')) return text;
    batches += 1;
    if (batches !== 10) return text;
    const batch = JSON.parse(text) as Batch;
    return JSON.stringify({ ...batch, messages: change(batch.messages) });
  };
  const proxy = await TamperingProxy.start(broker.client.url, tamper);
  proxies.push(proxy);
  return runDemo(proxy.url, ['--queue', queue, '--stall-seconds', '2']);
}

/** The cells of a row of the table. */
function row(run: DemoRun, name: string): string[] {
  const line = run.stdout.split('\n').find((text) => text.startsWith(`${name}  `));
  return (
    line
      ?.slice(name.length)
      .trim()
      .split(/\s{2,}/) ?? []
  );
}

describe('the demo', () => {
  it('verifies 20,000 messages for two groups, and the next generation after them', async () => {
    const first = await runDemo(broker.client.url);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout).toContain('queue flights, generation 1');
    const second = await runDemo(broker.client.url);
    expect(second.code, second.stderr).toBe(0);
    expect(second.stdout).toContain('queue flights, generation 2');
    for (const run of [first, second]) {
      expect(row(run, 'messages')).toEqual(['20,000', '20,000', '20,000']);
      expect(row(run, 'partitions')).toEqual(['220', '220', '220']);
      expect(row(run, 'order violations').slice(1)).toEqual(['0', '0']);
      expect(row(run, 'duplicates')).toEqual(['0', '0', '0']);
      expect(row(run, 'gaps')).toEqual(['0', '0', '0']);
      expect(run.stderr).toBe(
        [20, 40, 60, 80, 100]
          .map((share) => `${share} % of 60,000 messages pushed and received\n`)
          .join(''),
      );
    }
    expect(await broker.client.queueRow('flights')).toMatchObject({
      partitions: 220,
      messages: { total: 40_000, pending: 0, processing: 0, completed: 40_000, deadLetter: 0 },
    });
  });

  it('fails when a payload was altered', async () => {
    const run = await runTampered(broker.queueName(), ([first, ...rest]) => [
      { ...(first as Message), data: { changed: true } },
      ...rest,
    ]);
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/FAILED: 1 messages reached [\w-]+ altered/);
  });

  it('fails when a message comes twice', async () => {
    const run = await runTampered(broker.queueName(), (messages) => [
      ...messages,
      ...messages.slice(-1),
    ]);
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/FAILED: 1 messages reached [\w-]+ again/);
  });

  it('fails when the order is another', async () => {
    const run = await runTampered(broker.queueName(), (messages) => messages.toReversed());
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/FAILED: \d+ messages reached [\w-]+ out of order/);
  });

  it('fails when a message never comes', async () => {
    const run = await runTampered(broker.queueName(), (messages) => messages.slice(0, -1));
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/FAILED: \d+ of 20,000 messages never reached [\w-]+/);
  });

  it('says so when no broker answers', async () => {
    const url = `http://127.0.0.1:${await probeFreePort()}`;
    const run = await runDemo(url);
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toBe(
      `no broker answers at ${url}: start one with "npm start", or name another with QUEEN_URL\n`,
    );
  });

  it('says so when an option makes no sense', async () => {
    const run = await runDemo(broker.client.url, ['--que', 'flights']);
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toContain('--que');
  });
});
