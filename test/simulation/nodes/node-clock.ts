// The clocks of one node: a monotonic one that drifts and a wall clock that jumps. Drift and jumps
// belong to the machine, so they survive its processes.

import type { Clock } from '@queen-ts/base';
import type { VirtualTime } from '../world/virtual-time.ts';

const MILLION = 1_000_000;

/** Wall time at the start of every run, in microseconds since the epoch. */
export const EPOCH_US = 1_800_000_000_000_000;

/** One machine's clocks. */
export class NodeClock implements Clock {
  readonly #time: VirtualTime;
  readonly #rate: number;
  /** What the wall clock is ahead, in microseconds. */
  skewUs: number;

  constructor(options: {
    readonly time: VirtualTime;
    readonly driftPpm: number;
    readonly skewUs: number;
  }) {
    this.#time = options.time;
    this.#rate = 1 + options.driftPpm / MILLION;
    this.skewUs = options.skewUs;
  }

  wallUs(): number {
    return EPOCH_US + this.skewUs + this.#time.nowUs;
  }

  monotonicUs(): number {
    return Math.floor(this.#time.nowUs * this.#rate);
  }

  /** How long this machine's `delayUs` really takes. */
  toWorldUs(delayUs: number): number {
    return Math.ceil(delayUs / this.#rate) + 1;
  }
}
