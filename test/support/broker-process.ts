// Runs the broker the way users run it: the built entry point in a process of its own, with a data
// directory of its own. Starts, waits for health, captures output, kills, terminates, restarts.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, within } from './eventually.ts';
import { HttpClient } from './http-client.ts';

const HEALTH_DEADLINE_MS = 20_000;
const EXIT_DEADLINE_MS = 15_000;
/** Somebody else may take a probed port before the broker listens on it. */
const START_ATTEMPTS_MAX = 3;

/** What a test may choose. */
export interface BrokerOptions {
  /** Environment on top of what {@link BrokerProcess} sets. */
  readonly env?: Readonly<Record<string, string>>;
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What a process printed, and how it ended. */
export interface FinishedRun extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

interface Run {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  readonly output: { stdout: string; stderr: string };
}

/**
 * A broker with a temporary data directory. One process at a time; the directory outlives it until
 * {@link dispose}, so that a test can kill and start again.
 */
export class BrokerProcess {
  readonly dataDir: string;
  readonly #env: Readonly<Record<string, string>>;
  #port = 0;
  #run: Run | undefined;
  #client: HttpClient | undefined;
  #earlierLog = '';

  private constructor(dataDir: string, env: Readonly<Record<string, string>>) {
    this.dataDir = dataDir;
    this.#env = env;
  }

  /** Makes a data directory and starts a broker on it; resolves once it is healthy. */
  static async launch(options: BrokerOptions = {}): Promise<BrokerProcess> {
    const broker = new BrokerProcess(await makeDataDir(), options.env ?? {});
    try {
      await broker.start();
    } catch (error) {
      await broker.dispose();
      throw error;
    }
    return broker;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A client for the current process; every start makes a new one. */
  get client(): HttpClient {
    if (this.#client === undefined) throw new Error('the broker is not running');
    return this.#client;
  }

  /** Everything that all processes of this broker printed, in order of their lives. */
  get log(): string {
    const output = this.#run?.output;
    return this.#earlierLog + (output === undefined ? '' : output.stdout + output.stderr);
  }

  /** Starts a process on the data directory, with more environment if given; resolves once it is healthy. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      if (attempt > 1 || this.#port === 0) this.#port = await probeFreePort();
      const run = this.#spawn(env);
      try {
        await waitForHealth(run, this.url);
        return;
      } catch (error) {
        await this.kill();
        const isPortTaken = run.output.stderr.includes('EADDRINUSE');
        if (!isPortTaken || attempt === START_ATTEMPTS_MAX) throw error;
      }
    }
  }

  /** Starts a process without waiting for anything: for killing it while it recovers. */
  startUnawaited(): void {
    this.#spawn();
  }

  /** Ends the process with SIGKILL, as a crash would. Resolves once it is gone. */
  async kill(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    run.child.kill('SIGKILL');
    await within('the end of a killed broker', run.exited, EXIT_DEADLINE_MS);
    this.#forget(run);
  }

  /** Asks the process to end and returns how it ended. */
  async terminate(
    deadlineMs = EXIT_DEADLINE_MS,
    signal: NodeJS.Signals = 'SIGTERM',
  ): Promise<Exit> {
    const run = this.#run;
    if (run === undefined) throw new Error('the broker is not running');
    run.child.kill(signal);
    const exit = await within('the exit of a terminated broker', run.exited, deadlineMs);
    this.#forget(run);
    return exit;
  }

  /** Kills what runs and removes the data directory. Idempotent. */
  async dispose(): Promise<void> {
    await this.kill();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  #spawn(env: Readonly<Record<string, string>> = {}): Run {
    if (this.#run !== undefined) throw new Error('the broker is already running');
    this.#client = new HttpClient(this.url);
    this.#run = spawnBroker({
      ...this.#env,
      ...env,
      PORT: String(this.#port),
      QUEEN_RAFT_DIR: this.dataDir,
    });
    return this.#run;
  }

  #forget(run: Run): void {
    if (this.#run !== run) return;
    this.#earlierLog += run.output.stdout + run.output.stderr;
    this.#run = undefined;
    this.#client?.close();
    this.#client = undefined;
  }
}

/**
 * Runs a broker that is expected to end by itself, and returns what it printed. Throws, and kills
 * it, if it does not end in time.
 */
export async function runToExit(env: Readonly<Record<string, string>>): Promise<FinishedRun> {
  const run = spawnBroker({ PORT: String(await probeFreePort()), ...env });
  try {
    const exit = await within('the exit of the broker', run.exited, EXIT_DEADLINE_MS);
    return { ...exit, ...run.output };
  } catch (error) {
    run.child.kill('SIGKILL');
    await run.exited;
    throw error;
  }
}

/** Makes an empty temporary directory. The caller removes it. */
export async function makeDataDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'queen-ts-test-'));
}

/** Returns a TCP port of 127.0.0.1 that was free a moment ago. */
export async function probeFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was assigned');
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  return address.port;
}

/**
 * Path of the built entry point, or of the one that QUEEN_TEST_MAIN names (to test another build).
 */
function brokerMain(): string {
  const main =
    process.env['QUEEN_TEST_MAIN'] ??
    fileURLToPath(new URL('../../packages/server/dist/main.js', import.meta.url));
  if (!existsSync(main)) {
    throw new Error(`${main} is missing: these tests run the built broker, so run "npm run build"`);
  }
  return main;
}

function spawnBroker(env: Readonly<Record<string, string>>): Run {
  const child = spawn(process.execPath, [brokerMain()], {
    // Nothing of the developer's own configuration leaks in.
    env: { PATH: process.env['PATH'] ?? '', QUEEN_BIND_ADDR: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  const exited = new Promise<Exit>((resolve) => {
    // 'close' and not 'exit': by then the output is complete.
    child.once('close', (code, signal) => {
      resolve({ code, signal });
    });
  });
  return { child, exited, output };
}

async function waitForHealth(run: Run, url: string): Promise<void> {
  const client = new HttpClient(url);
  const ended: { exit: Exit | undefined } = { exit: undefined };
  void run.exited.then((exit) => {
    ended.exit = exit;
  });
  try {
    await eventually(
      `a healthy broker at ${url}`,
      async () => ended.exit !== undefined || (await isHealthy(client)),
      HEALTH_DEADLINE_MS,
    );
  } catch (error) {
    throw new Error(`the broker did not become healthy:\n${run.output.stderr}`, { cause: error });
  } finally {
    client.close();
  }
  if (ended.exit !== undefined) {
    const { code, signal } = ended.exit;
    throw new Error(`the broker ended with ${signal ?? code}:\n${run.output.stderr}`);
  }
}

async function isHealthy(client: HttpClient): Promise<boolean> {
  return (await client.request('GET', '/health')).status === 200;
}
