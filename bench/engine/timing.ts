// Clocks and memory of the measured process.

import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How long the sweeper threads get to give back what a collection freed, in milliseconds. */
const SWEEP_MS = 50;

/**
 * Options of a process whose resident memory is measured. By default the young generation of the heap
 * grows to 48 MiB under any work that lasts, and that would be taken for memory of the engine.
 */
export const WEIGHED_NODE_OPTIONS: readonly string[] = ['--max-semi-space-size=1'];

/** What a piece of work took. CPU time is that of the whole process: collector and compiler count. */
export interface Spent {
  readonly wallUs: number;
  readonly cpuUs: number;
}

/** Runs something and tells what it took. */
export function spend(run: () => void): Spent {
  const cpuBefore = process.cpuUsage();
  const wallBefore = performance.now();
  run();
  const wallUs = (performance.now() - wallBefore) * 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { wallUs, cpuUs: user + system };
}

/** The sum of two pieces of work. */
export function plus(a: Spent, b: Spent): Spent {
  return { wallUs: a.wallUs + b.wallUs, cpuUs: a.cpuUs + b.cpuUs };
}

/** Nothing done yet. */
export const NOTHING_SPENT: Spent = { wallUs: 0, cpuUs: 0 };

/** The longest of many calls, in wall time and in CPU time of the process. */
export class StallMeter {
  wallMs = 0;
  cpuMs = 0;

  /** Runs one call and keeps what it took if that is the longest so far. */
  time<T>(run: () => T): T {
    // Not that of the thread: Linux brings it up to date only at its ticks, every few milliseconds.
    const cpuBefore = process.cpuUsage();
    const wallBefore = performance.now();
    const result = run();
    this.wallMs = Math.max(this.wallMs, performance.now() - wallBefore);
    const { user, system } = process.cpuUsage(cpuBefore);
    this.cpuMs = Math.max(this.cpuMs, (user + system) / 1000);
    return result;
  }
}

/** The middle value; of an even number the lower one of the middle two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1]!;
}

/** One full garbage collection, with everything else stopped. */
export const collectGarbage = exposedCollector();

/** Resident memory in bytes after forced collections. */
export function residentBytes(): number {
  // Buffers are freed by helper threads, in part only when the next collection begins.
  const flag = new Int32Array(new SharedArrayBuffer(4));
  for (let i = 0; i < 3; i += 1) {
    collectGarbage();
    Atomics.wait(flag, 0, 0, SWEEP_MS);
  }
  return process.memoryUsage.rss();
}

function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collector: unknown = runInNewContext('gc');
  if (typeof collector !== 'function') throw new Error('the garbage collector cannot be called');
  return () => {
    collector();
  };
}
