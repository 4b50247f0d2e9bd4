// The real clock, randomness and timers. Only the composition root uses them.

import type { Clock, Rng } from '@queen-ts/base';
import type { Scheduler } from '@queen-ts/cluster';
import { randomFillSync } from 'node:crypto';
import { boundedWallMs } from './wall-clock.ts';

const RANDOM_WORDS = 1024;

/** Longest delay that Node's timers take; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Time of the machine. */
export const SYSTEM_CLOCK: Clock = {
  wallUs: () => boundedWallMs(Date.now()) * 1000,
  monotonicUs: () => Math.floor(performance.now() * 1000),
};

/** Randomness of the operating system, drawn in batches. */
export class SystemRng implements Rng {
  readonly #words = new Uint32Array(RANDOM_WORDS);
  #next = RANDOM_WORDS;

  u32(): number {
    if (this.#next === RANDOM_WORDS) {
      randomFillSync(this.#words);
      this.#next = 0;
    }
    const word = this.#words[this.#next]!;
    this.#next += 1;
    return word;
  }
}

/** Timers of the event loop. */
export const SYSTEM_SCHEDULER: Scheduler = {
  after: (delayUs, task) => runAfter(task, Math.ceil(delayUs / 1000)),
  defer(task) {
    setImmediate(task);
  },
};

/** Runs `run` once after `delayMs`, which may be Infinity; returns what cancels it. */
export function runAfter(run: () => void, delayMs: number): () => void {
  let timer: NodeJS.Timeout | undefined;
  const arm = (restMs: number): void => {
    const stepMs = Math.min(restMs, TIMER_MS_MAX);
    timer = setTimeout(() => {
      if (restMs > stepMs) arm(restMs - stepMs);
      else run();
    }, stepMs);
  };
  arm(delayMs);
  return () => clearTimeout(timer);
}
