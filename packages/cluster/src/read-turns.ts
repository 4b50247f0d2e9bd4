// Runs reads of the state beside everything else: a little of the oldest in every turn of the event
// loop, so that neither one long read nor many of them hold up planning.

import type { Clock } from '@queen-ts/base';
import type { Read } from '@queen-ts/engine';
import { Fifo } from './fifo.ts';
import type { BrokerLimits } from './limits.ts';
import { readLate, tooManyReads } from './refusals.ts';
import type { Scheduler } from './scheduler.ts';

/** What a read is subject to. */
export interface ReadRules {
  /** Monotonic microseconds. */
  readonly deadlineUs: number;
  /** Called before every slice; throws when the state that is read is no longer the node's. */
  readonly check: () => void;
}

/** Parts of the turns. */
export interface ReadTurnParts {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: Pick<BrokerLimits, 'readsMax' | 'readTurnUs'>;
}

interface Running {
  /** Does one slice; true when the read has ended. */
  step(): boolean;
  fail(error: Error): void;
}

/** Reads in progress, in the order of their last slices. */
export class ReadTurns {
  readonly #parts: ReadTurnParts;
  readonly #running = new Fifo<Running>();
  #isScheduled = false;
  #closed: Error | undefined;

  constructor(parts: ReadTurnParts) {
    this.#parts = parts;
  }

  /** Runs a read to its end. Rejects as the rules say, or when too many reads run. */
  async run<T>(read: Read<T>, rules: ReadRules): Promise<T> {
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#running.size >= this.#parts.limits.readsMax) throw tooManyReads();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const step = (): boolean => {
      rules.check();
      if (rules.deadlineUs <= this.#parts.clock.monotonicUs()) throw readLate();
      const slice = read.next();
      if (slice.done === true) resolve(slice.value);
      return slice.done === true;
    };
    this.#running.push({ step, fail: reject });
    this.#schedule();
    return promise;
  }

  /** Ends all reads, and those that come later. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const read of this.#running.drain()) read.fail(reason);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running.size === 0) return;
    this.#isScheduled = true;
    this.#parts.scheduler.defer(() => {
      this.#isScheduled = false;
      this.#turn();
      this.#schedule();
    });
  }

  #turn(): void {
    const { clock, limits } = this.#parts;
    const endUs = clock.monotonicUs() + limits.readTurnUs;
    do {
      const read = this.#running.shift();
      if (read === undefined) return;
      if (!this.#step(read)) this.#running.push(read);
    } while (clock.monotonicUs() < endUs);
  }

  #step(read: Running): boolean {
    try {
      return read.step();
    } catch (error) {
      read.fail(error instanceof Error ? error : new Error(String(error)));
      return true;
    }
  }
}
