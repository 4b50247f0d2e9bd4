// Long work in steps without long stalls: whenever the steps took a while, the event loop gets its turn.

import type { Clock } from '@queen-ts/base';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest time that steps take before others get their turn, in microseconds. */
export const STRETCH_US = 1000;

/** Runs the steps to their end. Without any step the result is there at once. */
export function paced<T>(clock: Clock, steps: Generator<unknown, T>): T | Promise<T> {
  const first = steps.next();
  return first.done === true ? first.value : runOn(clock, steps);
}

async function runOn<T>(clock: Clock, steps: Generator<unknown, T>): Promise<T> {
  let stretchEndUs = clock.monotonicUs() + STRETCH_US;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (clock.monotonicUs() < stretchEndUs) continue;
    await nextTurn();
    stretchEndUs = clock.monotonicUs() + STRETCH_US;
  }
}
