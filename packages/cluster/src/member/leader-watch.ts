// Waiting for a leader: whoever could not reach one tries again when something about it changed, and
// after a short while in any case, since the leader may only have been busy starting.

import type { Clock } from '@queen-ts/base';
import type { Scheduler } from '../scheduler.ts';

/** Time until the next attempt when nothing changed, in microseconds. */
const RETRY_US = 50_000;

/** Changes of the leader, counted. */
export class LeaderWatch {
  readonly #clock: Clock;
  readonly #scheduler: Scheduler;
  readonly #waiting = new Set<() => void>();
  #changes = 0;

  constructor(clock: Clock, scheduler: Scheduler) {
    this.#clock = clock;
    this.#scheduler = scheduler;
  }

  /** Number of changes so far: given to {@link next}, none in between is missed. */
  get changes(): number {
    return this.#changes;
  }

  /** Something about the leader changed. */
  changed(): void {
    this.#changes += 1;
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the first change after `seen`, after a while, or at `deadlineUs` (monotonic). */
  next(seen: number, deadlineUs: number): Promise<void> {
    if (seen !== this.#changes) return Promise.resolve();
    const waitUs = Math.max(0, Math.min(RETRY_US, deadlineUs - this.#clock.monotonicUs()));
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => {
      cancel();
      this.#waiting.delete(wake);
      resolve();
    };
    const cancel = this.#scheduler.after(waitUs, wake);
    this.#waiting.add(wake);
    return promise;
  }
}
