// The time that a leader stamps into entries: monotonic time plus an offset fixed when the
// leadership starts, strictly increasing in log order (design §7). A jump of the wall clock can
// neither end a lease early nor freeze one.

import { assert } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';

/** The clock of one leadership. */
export class LeaderClock {
  readonly #clock: Clock;
  readonly #offsetUs: number;
  #lastUs: number;

  /**
   * @param floorUs time of the newest applied entry: this leader's stamps come after it, even when
   * its wall clock is behind the one of an earlier leader.
   */
  constructor(clock: Clock, floorUs: number) {
    this.#clock = clock;
    this.#lastUs = floorUs;
    this.#offsetUs = Math.max(clock.wallUs(), floorUs + 1) - clock.monotonicUs();
  }

  /** Time now, in microseconds since the epoch as this leadership counts it; not a stamp. */
  nowUs(): number {
    return Math.max(this.#clock.monotonicUs() + this.#offsetUs, this.#lastUs);
  }

  /** A stamp for the next entry: later than every stamp before it. */
  stampUs(): number {
    const stampUs = Math.max(this.nowUs(), this.#lastUs + 1);
    assert(Number.isSafeInteger(stampUs), () => `time stamp ${stampUs}`);
    this.#lastUs = stampUs;
    return stampUs;
  }

  /** The monotonic time at which {@link nowUs} reaches `atUs`. */
  monotonicAtUs(atUs: number): number {
    return atUs - this.#offsetUs;
  }
}
