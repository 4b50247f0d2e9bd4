// Worker threads that share a list of seeds.

import { Worker } from 'node:worker_threads';
import type { WorkerReport, WorkerTask } from './worker.ts';

/**
 * Runs tasks on several threads until there are none or `isOver` says so.
 * @param next the next task; undefined when there is none.
 * @param report called for each result, in the order in which they come.
 */
export async function runPool(options: {
  readonly workers: number;
  readonly next: () => WorkerTask | undefined;
  readonly report: (report: WorkerReport) => void;
}): Promise<void> {
  const threads = Array.from({ length: options.workers }, () => runWorker(options));
  await Promise.all(threads);
}

function runWorker(options: {
  readonly next: () => WorkerTask | undefined;
  readonly report: (report: WorkerReport) => void;
}): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: 'simulation' });
  const feed = (): void => {
    const task = options.next();
    if (task === undefined) worker.terminate().then(() => resolve(), reject);
    else worker.postMessage(task);
  };
  worker.on('error', reject);
  worker.on('message', (report: WorkerReport) => {
    options.report(report);
    feed();
  });
  feed();
  return promise;
}
