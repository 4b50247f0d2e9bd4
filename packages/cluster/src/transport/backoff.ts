// How long to wait before trying a peer again: doubling, bounded, jittered, so that nodes that lost
// each other at the same moment do not come back at the same moment.

import { randomBelow } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';

/** Parameters of a {@link Backoff}. */
export interface BackoffOptions {
  readonly rng: Rng;
  /** Upper end of the first wait. */
  readonly minUs: number;
  /** Upper end of the longest wait. */
  readonly maxUs: number;
}

/** Waits of one series of failures. */
export class Backoff {
  readonly #options: BackoffOptions;
  #nextUs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#nextUs = options.minUs;
  }

  /** The next wait in microseconds, drawn from the upper half of a range that doubles each time. */
  nextDelayUs(): number {
    const { rng, maxUs } = this.#options;
    const half = Math.floor(this.#nextUs / 2);
    const delayUs = half + randomBelow(rng, Math.max(1, this.#nextUs - half));
    this.#nextUs = Math.min(maxUs, this.#nextUs * 2);
    return delayUs;
  }

  /** The series is over. */
  reset(): void {
    this.#nextUs = this.#options.minUs;
  }
}
