// One thread of the generator: its share of the producers and consumers, and a sample every second.

import { parentPort, workerData } from 'node:worker_threads';
import { consume } from './consumer.ts';
import type { ReceivedRuns } from './consumer.ts';
import type { LoadOptions } from './options.ts';
import { produce } from './producer.ts';
import type { PushedPartition } from './producer.ts';
import { Recorder } from './recorder.ts';
import type { IntervalSample } from './recorder.ts';

/** What a thread is given. */
export interface WorkerOptions {
  readonly load: LoadOptions;
  readonly queue: string;
  readonly producers: readonly number[];
  readonly consumers: readonly { readonly group: number; readonly position: number }[];
}

/** What a thread says. */
export type WorkerMessage =
  | { readonly kind: 'sample'; readonly sample: IntervalSample; readonly utilization: number }
  | { readonly kind: 'pushed'; readonly partitions: readonly PushedPartition[] }
  | { readonly kind: 'received'; readonly runs: readonly ReceivedRuns[] };

/** What a thread is told: to hand over a sample, to end its producers, that all producers have ended. */
export type WorkerCommand = 'sample' | 'stop producers' | 'producers ended';

const port = parentPort;
if (port === null) throw new Error('this module is a worker');
const say = (message: WorkerMessage): void => port.postMessage(message);

const { load, queue, producers, consumers } = workerData as WorkerOptions;
const recorder = new Recorder();
const stop = new AbortController();
const producersEnded = new AbortController();
let utilization = performance.eventLoopUtilization();

port.on('message', (command: WorkerCommand) => {
  if (command === 'stop producers') stop.abort();
  if (command === 'producers ended') producersEnded.abort();
  if (command !== 'sample') return;
  const now = performance.eventLoopUtilization();
  const passed = performance.eventLoopUtilization(now, utilization);
  utilization = now;
  say({ kind: 'sample', sample: recorder.take(), utilization: passed.utilization });
});

const urlOf = (position: number): string => load.urls[position % load.urls.length]!;
const consuming = Promise.all(
  consumers.map(({ group, position }) => {
    const options = { load, queue, group, recorder, producersEnded: producersEnded.signal };
    return consume({ ...options, url: urlOf(position) });
  }),
);
const pushed = await Promise.all(
  producers.map((position) => {
    return produce({ load, queue, position, recorder, signal: stop.signal, url: urlOf(position) });
  }),
);
say({ kind: 'pushed', partitions: pushed.flat() });
say({ kind: 'received', runs: await consuming });
