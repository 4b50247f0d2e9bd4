// A worker thread: runs one seed after the other and reports each. A failing seed is run again with
// the trace on, which must show the same history.

import { parentPort, workerData } from 'node:worker_threads';
import { mutantOf } from '../mutants/mutants.ts';
import { runSeed } from '../run-seed.ts';
import type { RunResult } from '../run-seed.ts';

/** What a worker is told. */
export interface WorkerTask {
  readonly seed: number;
  /** A planted bug. */
  readonly mutant: string | undefined;
}

/** What a worker answers. */
export interface WorkerReport {
  readonly task: WorkerTask;
  readonly result: RunResult;
  /** CPU time of the run, in microseconds. */
  readonly cpuUs: number;
  /** Whether a second run of a failing seed had the same history. */
  readonly isReproduced: boolean;
}

/** Runs a task in this thread. */
export async function runTask(task: WorkerTask): Promise<WorkerReport> {
  const mutant = task.mutant === undefined ? undefined : mutantOf(task.mutant);
  const { seed } = task;
  const before = process.threadCpuUsage();
  const result = await runSeed({ seed, mutant });
  const { user, system } = process.threadCpuUsage(before);
  const cpuUs = user + system;
  if (result.violation === undefined) return { task, result, cpuUs, isReproduced: true };
  const again = await runSeed({ seed, mutant, isTraced: true });
  const isReproduced =
    again.fingerprint === result.fingerprint &&
    again.violation?.message === result.violation.message;
  return { task, result: again, cpuUs, isReproduced };
}

// Only in a worker: the tests call runTask themselves.
if (parentPort !== null && workerData === 'simulation') {
  const port = parentPort;
  port.on('message', (task: WorkerTask) => {
    runTask(task).then(
      (report) => port.postMessage(report),
      (error: unknown) => {
        throw error;
      },
    );
  });
}
