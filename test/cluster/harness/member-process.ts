// One member of a cluster as users run it: the built entry point in a process of its own, on ports and a
// data directory that it keeps across restarts.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { makeDataDir } from '../../support/broker-process.ts';
import type { Exit } from '../../support/broker-process.ts';
import { eventually, within } from '../../support/eventually.ts';
import { HttpClient } from '../../support/http-client.ts';
import type { Meddling } from '../faults/meddle.ts';

const MAIN = fileURLToPath(new URL('../../../packages/server/dist/main.js', import.meta.url));
const MEDDLE = new URL('../faults/meddle.ts', import.meta.url).href;
const EXIT_DEADLINE_MS = 20_000;
const LIVE_DEADLINE_MS = 60_000;
const HEALTHY_DEADLINE_MS = 60_000;
const LOG_CHARACTERS_MAX = 200_000;

/** Where a member is and what it is started with. */
export interface MemberOptions {
  /** Its node id, from 1. */
  readonly id: number;
  readonly httpPort: number;
  readonly environment: Readonly<Record<string, string>>;
}

interface Run {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
}

/** A member that can be killed, suspended, meddled with and started again. */
export class MemberProcess {
  readonly id: number;
  readonly url: string;
  readonly #client: HttpClient;
  readonly #environment: Readonly<Record<string, string>>;
  #dataDirectory = '';
  #run: Run | undefined;
  #log = '';

  constructor({ id, httpPort, environment }: MemberOptions) {
    this.id = id;
    this.url = `http://127.0.0.1:${httpPort}`;
    this.#client = new HttpClient(this.url);
    this.#environment = { ...environment, PORT: String(httpPort), QUEEN_RAFT_NODE_ID: String(id) };
  }

  /** A client that is never closed before the member is disposed. */
  get client(): HttpClient {
    return this.#client;
  }

  /** The last of what all its processes printed. */
  get log(): string {
    return this.#log;
  }

  /** Empty until the first start. */
  get dataDirectory(): string {
    return this.#dataDirectory;
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  /** CPU time and memory of the process are found under this id; undefined if none runs. */
  get pid(): number | undefined {
    return this.#run?.child.pid;
  }

  /** Starts a process without waiting for anything. `overrides` are for this process only. */
  async spawn(overrides: Readonly<Record<string, string>> = {}): Promise<void> {
    if (this.#run !== undefined) throw new Error(`member ${this.id} is already running`);
    if (this.#dataDirectory === '') this.#dataDirectory = await makeDataDir();
    const child = spawn(process.execPath, ['--import', MEDDLE, MAIN], {
      env: {
        // Nothing of the developer's own configuration leaks in.
        PATH: process.env['PATH'] ?? '',
        QUEEN_BIND_ADDR: '127.0.0.1',
        QUEEN_RAFT_DIR: this.#dataDirectory,
        ...this.#environment,
        ...overrides,
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-LOG_CHARACTERS_MAX);
      });
    }
    const exited = new Promise<Exit>((resolve) => {
      // 'close' and not 'exit': by then the output is complete.
      child.once('close', (code, signal) => resolve({ code, signal }));
    });
    this.#run = { child, exited };
  }

  /** Starts a process; resolves once it answers that it lives. Rejects if it ends instead. */
  async start(overrides: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.spawn(overrides);
    const { exited } = this.#running();
    const ended = { exit: undefined as Exit | undefined };
    void exited.then((exit) => {
      ended.exit = exit;
    });
    const isLive = async (): Promise<boolean> => {
      return (
        ended.exit !== undefined ||
        (await this.#client.request('GET', '/health/live')).status === 200
      );
    };
    await eventually(`member ${this.id} to live`, isLive, LIVE_DEADLINE_MS);
    if (ended.exit === undefined) return;
    this.#run = undefined;
    const { code, signal } = ended.exit;
    throw new Error(`member ${this.id} ended with ${signal ?? code}:\n${this.#log.slice(-2000)}`);
  }

  /** Resolves once the member says that it is healthy. */
  async healthy(): Promise<void> {
    await eventually(
      `member ${this.id} to be healthy`,
      async () => (await this.#client.request('GET', '/health')).status === 200,
      HEALTHY_DEADLINE_MS,
    );
  }

  /** SIGKILL, as a crash; resolves once the process is gone. No-op if none runs. */
  async kill(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    run.child.kill('SIGKILL');
    await within(`the end of member ${this.id}`, run.exited, EXIT_DEADLINE_MS);
    this.#run = undefined;
  }

  /** SIGTERM; resolves with how the process ended. */
  async terminate(): Promise<Exit> {
    const run = this.#running();
    run.child.kill('SIGTERM');
    const exit = await within(`the exit of member ${this.id}`, run.exited, EXIT_DEADLINE_MS);
    this.#run = undefined;
    return exit;
  }

  /** Resolves with how a process ended that ends by itself. */
  async exited(): Promise<Exit> {
    const exit = await within(`member ${this.id} to end`, this.#running().exited, EXIT_DEADLINE_MS);
    this.#run = undefined;
    return exit;
  }

  /** SIGSTOP. */
  suspend(): void {
    this.#running().child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.#running().child.kill('SIGCONT');
  }

  /** Changes its clock or its disk; resolves once that is done. */
  async meddle(meddling: Meddling): Promise<void> {
    const { child } = this.#running();
    const done = new Promise<void>((resolve) => {
      child.once('message', () => resolve());
    });
    child.send(meddling);
    await within(`member ${this.id} to be meddled with`, done, EXIT_DEADLINE_MS);
  }

  /** Forgets everything on its disk, as a new machine would. It must not run. */
  async wipe(): Promise<void> {
    if (this.#run !== undefined) throw new Error(`member ${this.id} is running`);
    await rm(this.#dataDirectory, { recursive: true, force: true });
    this.#dataDirectory = '';
  }

  /** Kills what runs and removes the data directory. Idempotent. */
  async dispose(): Promise<void> {
    await this.kill();
    this.#client.close();
    if (this.#dataDirectory !== '') await this.wipe();
  }

  #running(): Run {
    if (this.#run === undefined) throw new Error(`member ${this.id} is not running`);
    return this.#run;
  }
}
