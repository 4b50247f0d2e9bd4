// The time that a leader stamps into entries: it goes on where the log's time stands, runs with the
// monotonic clock, strictly increasing in log order, and approaches the wall clock so slowly that a
// jump of that can neither end a lease early nor freeze one (design §7).

import { assert } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';

/** One part in this many of the time that passes goes into approaching the wall clock: 500 ppm. */
const SLEW_DIVISOR = 2000;

/** A first entry whose stamp is farther than this from the wall clock may be old: a node catches up. */
const FIRST_OFF_US_MAX = 300_000;

/**
 * The log's time as a node that does not lead saw it pass, so that a wall clock that jumped does not
 * count when this node takes over. Of a clock that was off from the start it cannot know.
 */
export class LogTime {
  readonly #clock: Clock;
  #seen: { readonly logUs: number; readonly monotonicUs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This node led until now, and this is what its clock says. */
  know(logUs: number): void {
    this.#seen = { logUs, monotonicUs: this.#clock.monotonicUs() };
  }

  /** An entry with this stamp arrived: the log's time is not behind it. */
  observe(logUs: number): void {
    const expectedUs = this.nowUs();
    if (this.#seen === undefined || expectedUs === undefined) {
      if (Math.abs(this.#clock.wallUs() - logUs) <= FIRST_OFF_US_MAX) this.know(logUs);
      return;
    }
    // Most arrive late by what they travelled, some by hours; only as much as clocks drift is believed.
    const elapsedUs = this.#clock.monotonicUs() - this.#seen.monotonicUs;
    const driftUs = Math.floor(elapsedUs / SLEW_DIVISOR);
    if (logUs > expectedUs || driftUs > 0) this.know(Math.max(logUs, expectedUs - driftUs));
  }

  /** The log's time now; undefined when this process has not seen it pass. */
  nowUs(): number | undefined {
    return this.#seen && this.#seen.logUs + this.#clock.monotonicUs() - this.#seen.monotonicUs;
  }
}

/** Where the clock of a leadership starts. */
export interface LeaderClockStart {
  /** Time of the newest applied entry: the stamps come after it, whatever the wall clock says. */
  readonly floorUs: number;
  /** The log's time now as this node saw it pass; without it, the wall clock decides. */
  readonly logUs: number | undefined;
}

/** The clock of one leadership. */
export class LeaderClock {
  readonly #clock: Clock;
  /** Log time minus monotonic time. */
  #offsetUs: number;
  #lastUs: number;
  /** Monotonic time up to which the wall clock was approached. */
  #slewedToUs: number;

  constructor(clock: Clock, { floorUs, logUs }: LeaderClockStart) {
    this.#clock = clock;
    this.#lastUs = floorUs;
    const monotonicUs = clock.monotonicUs();
    this.#slewedToUs = monotonicUs;
    this.#offsetUs = Math.max(logUs ?? clock.wallUs(), floorUs + 1) - monotonicUs;
  }

  /** Time now, in microseconds since the epoch as this leadership counts it; not a stamp. */
  nowUs(): number {
    return Math.max(this.#clock.monotonicUs() + this.#offsetUs, this.#lastUs);
  }

  /** A stamp for the next entry: later than every stamp before it. */
  stampUs(): number {
    this.#approachWallClock();
    const stampUs = Math.max(this.nowUs(), this.#lastUs + 1);
    assert(Number.isSafeInteger(stampUs), () => `time stamp ${stampUs}`);
    this.#lastUs = stampUs;
    return stampUs;
  }

  /** The monotonic time at which {@link nowUs} reaches `atUs`. */
  monotonicAtUs(atUs: number): number {
    return atUs - this.#offsetUs;
  }

  #approachWallClock(): void {
    const monotonicUs = this.#clock.monotonicUs();
    const stepMaxUs = Math.floor((monotonicUs - this.#slewedToUs) / SLEW_DIVISOR);
    if (stepMaxUs === 0) return;
    const errorUs = this.#clock.wallUs() - monotonicUs - this.#offsetUs;
    this.#offsetUs += Math.max(-stepMaxUs, Math.min(stepMaxUs, errorUs));
    this.#slewedToUs += stepMaxUs * SLEW_DIVISOR;
  }
}
