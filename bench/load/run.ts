// Runs the threads, samples them every second, and adds up what they say.

import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { HttpConnection } from './http-connection.ts';
import type { ReceivedRuns } from './consumer.ts';
import type { LoadOptions } from './options.ts';
import { processUse } from './process-use.ts';
import type { PushedPartition } from './producer.ts';
import { Tally } from './result.ts';
import type { LoadResult, Second } from './result.ts';
import { verify } from './verify.ts';
import type { WorkerCommand, WorkerMessage, WorkerOptions } from './worker.ts';

const SETUP_TIMEOUT_MS = 10_000;
const BYTES_PER_MEGABYTE = 1e6;

/** Loads the cluster. `onSecond` sees each second as it ends. Throws when the cluster does not answer. */
export async function runLoad(
  load: LoadOptions,
  onSecond: (second: Second) => void,
): Promise<LoadResult> {
  const startedAt = new Date().toISOString();
  const queue = `${load.queue}-${Date.now().toString(36)}`;
  await configure(load, queue);
  const threads = startThreads(load, queue);
  const timeline = new Timeline(threads, onSecond);
  await timeline.follow(load.warmupSeconds, false);
  const before = use(load.pids);
  const generatorBefore = process.cpuUsage();
  const measuredFromMs = performance.now();
  await timeline.follow(load.seconds, true);
  const seconds = (performance.now() - measuredFromMs) / 1000;
  const generator = process.cpuUsage(generatorBefore);
  const after = use(load.pids);
  for (const thread of threads) thread.tell('stop producers');
  const pushed = await Promise.all(threads.map((thread) => thread.pushed));
  for (const thread of threads) thread.tell('producers ended');
  const draining = timeline.untilDone(Promise.all(threads.map((thread) => thread.received)));
  const received = await draining;
  await Promise.all(threads.map((thread) => thread.end()));
  const { measured } = timeline;
  const cpuSeconds = (after?.cpuSeconds ?? 0) - (before?.cpuSeconds ?? 0);
  const handled = load.consumers === 0 ? measured.pushed : measured.acked;
  return {
    startedAt,
    options: load,
    seconds,
    pushedPerSecond: measured.pushed / seconds,
    poppedPerSecond: measured.popped / seconds,
    ackedPerSecond: measured.acked / seconds,
    pushedMegabytesPerSecond: (measured.pushed * load.size) / seconds / BYTES_PER_MEGABYTE,
    latencies: measured.summaries(),
    errors: measured.errors,
    timeline: timeline.seconds,
    generator: {
      cores: (generator.user + generator.system) / 1e6 / seconds,
      busiestThread: timeline.busiestThread,
    },
    cluster:
      after === undefined
        ? undefined
        : {
            cpuSeconds,
            cpuSecondsPerMillion: (cpuSeconds / Math.max(1, handled)) * 1e6,
            rssBytes: after.rssBytes,
          },
    verification: verify(pushed.flat(), received.flat(), load.consumers === 0 ? 0 : load.groups),
  };
}

function use(pids: readonly number[]): ReturnType<typeof processUse> | undefined {
  return pids.length === 0 ? undefined : processUse(pids);
}

async function configure(load: LoadOptions, queue: string): Promise<void> {
  const [url = ''] = load.urls;
  const connection = new HttpConnection(url, SETUP_TIMEOUT_MS);
  const options = load.dedup ? {} : { dedupWindowSeconds: 0 };
  const body = JSON.stringify({ queue, options });
  const { status, body: answer } = await connection.send(
    connection.head('POST', '/api/v1/configure'),
    body,
  );
  connection.close();
  if (status === 200) return;
  const why = status === 0 ? 'no answer' : `${status} ${answer.toString()}`;
  throw new Error(`${url} does not configure the queue ${queue}: ${why}`);
}

interface Thread {
  readonly pushed: Promise<readonly PushedPartition[]>;
  readonly received: Promise<readonly ReceivedRuns[]>;
  tell(command: WorkerCommand): void;
  sample(): Promise<Extract<WorkerMessage, { readonly kind: 'sample' }>>;
  end(): Promise<unknown>;
}

/** Spreads producers and consumers evenly. */
function startThreads(load: LoadOptions, queue: string): readonly Thread[] {
  const shares = Array.from({ length: load.threads }, () => {
    return { producers: [] as number[], consumers: [] as WorkerOptions['consumers'][number][] };
  });
  let next = 0;
  const share = () => shares[next++ % shares.length]!;
  for (let position = 0; position < load.producers; position += 1) share().producers.push(position);
  for (let group = 0; group < load.groups; group += 1) {
    for (let i = 0; i < load.consumers; i += 1) {
      share().consumers.push({ group, position: group * load.consumers + i });
    }
  }
  return shares.map((parts) => startThread({ load, queue, ...parts }));
}

function startThread(workerData: WorkerOptions): Thread {
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData });
  const pushed = Promise.withResolvers<readonly PushedPartition[]>();
  const received = Promise.withResolvers<readonly ReceivedRuns[]>();
  let sampled = Promise.withResolvers<Extract<WorkerMessage, { readonly kind: 'sample' }>>();
  worker.on('message', (message: WorkerMessage) => {
    if (message.kind === 'pushed') pushed.resolve(message.partitions);
    else if (message.kind === 'received') received.resolve(message.runs);
    else sampled.resolve(message);
  });
  worker.on('error', (error) => {
    for (const waiting of [pushed, received, sampled]) waiting.reject(error);
  });
  return {
    pushed: pushed.promise,
    received: received.promise,
    tell: (command) => worker.postMessage(command),
    sample: () => {
      sampled = Promise.withResolvers();
      worker.postMessage('sample' satisfies WorkerCommand);
      return sampled.promise;
    },
    end: () => worker.terminate(),
  };
}

/** One second after the other. */
class Timeline {
  readonly seconds: Second[] = [];
  readonly measured = new Tally();
  busiestThread = 0;
  readonly #threads: readonly Thread[];
  readonly #onSecond: (second: Second) => void;
  readonly #startMs = performance.now();

  constructor(threads: readonly Thread[], onSecond: (second: Second) => void) {
    this.#threads = threads;
    this.#onSecond = onSecond;
  }

  async follow(seconds: number, isMeasured: boolean): Promise<void> {
    const fromMs = performance.now();
    for (let i = 1; i <= seconds; i += 1) {
      await delay(Math.max(0, fromMs + i * 1000 - performance.now()));
      await this.#sample(isMeasured);
    }
  }

  /** Follows the drain after the measurement. */
  async untilDone<T>(done: Promise<T>): Promise<T> {
    const drain = { isDone: false };
    const finished = done.finally(() => {
      drain.isDone = true;
    });
    while (!drain.isDone) {
      await Promise.race([finished, delay(1000)]);
      await this.#sample(false);
    }
    return finished;
  }

  async #sample(isMeasured: boolean): Promise<void> {
    const tally = new Tally();
    for (const { sample, utilization } of await Promise.all(
      this.#threads.map((it) => it.sample()),
    )) {
      tally.add(sample);
      if (!isMeasured) continue;
      this.measured.add(sample);
      this.busiestThread = Math.max(this.busiestThread, utilization);
    }
    const second: Second = {
      at: (performance.now() - this.#startMs) / 1000,
      isMeasured,
      pushed: tally.pushed,
      popped: tally.popped,
      acked: tally.acked,
      errors: tally.errorCount,
      latencies: tally.summaries(),
    };
    this.seconds.push(second);
    this.#onSecond(second);
  }
}
