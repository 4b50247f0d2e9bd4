// The time that a leader stamps into entries: it goes on where the log's time stands, runs with the
// monotonic clock, strictly increasing in log order, and approaches the wall clock so slowly that a
// jump of that can neither end a lease early nor freeze one. How it passes from leader to leader, and
// what that gives to leases: ADR 0011.

import { assert } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';
import { EntryHeadReader } from '@queen-ts/protocol';
import type { Entry, Message } from '@queen-ts/raft';

/** One part in this many of the time that passes goes into approaching the wall clock: 500 ppm. */
const SLEW_DIVISOR = 2000;

/** What a new leader sets the log's time back by, so that leases of earlier leaders last longer. */
export const HANDOVER_GRACE_US = 500_000;

/** A point of the log's time from which it goes on with the monotonic clock. */
interface SeenTime {
  readonly logUs: number;
  readonly monotonicUs: number;
}

/**
 * The log's time as a node that does not lead saw it pass, so that a wall clock that jumped does not
 * count when this node takes over. Never ahead of the leader's clock by more than the drift of two
 * clocks since the last entry.
 */
export class LogTime {
  readonly #clock: Clock;
  /** What the time surely goes on from. */
  #seen: SeenTime | undefined;
  /** The newest term of which a stamped entry arrived, or that this node led in. */
  #term = 0;
  /** The newest term of which a young entry arrived. */
  #heardTerm = 0;
  /** The leader of that term may let the time stand still until then, in monotonic time, … */
  #settlesAtUs = 0;
  /** … at this newest stamp of its. */
  #stampUs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This node led in `term`, and this is what its clock says ({@link LeaderClock.runningUs}). */
  know(logUs: number, term: number): void {
    this.#term = Math.max(this.#term, term);
    this.#goOnFrom(logUs);
  }

  /** A message arrived; what it tells of the time counts whether or not the core takes it. */
  arrived(message: Message): void {
    if (message.kind !== 'append' && message.kind !== 'snapshot') return;
    if (message.term < this.#term) return;
    if (message.kind === 'snapshot') return this.#enterTerm(message.snapshot.term);
    const { entries, term, commitIndex } = message;
    for (const entry of entries) {
      if (entry.type === 'command') this.#enterTerm(entry.term);
    }
    const last = entries.at(-1);
    // Its leader had not committed it yet when it sent it, so it is young: it does not come from a
    // log that this node catches up with, nor from one that a new leader found.
    const isYoung = last?.type === 'command' && last.term === term && last.index > commitIndex;
    if (isYoung) this.#observe(last);
  }

  /** The log's time now; undefined when this process has not seen it pass. */
  nowUs(): number | undefined {
    const monotonicUs = this.#clock.monotonicUs();
    const runningUs = this.#seen && this.#seen.logUs + monotonicUs - this.#seen.monotonicUs;
    if (this.#stampUs === undefined) return runningUs;
    const stampedUs = this.#stampUs + Math.max(0, monotonicUs - this.#settlesAtUs);
    return Math.max(runningUs ?? stampedUs, stampedUs);
  }

  #goOnFrom(logUs: number): void {
    this.#seen = { logUs, monotonicUs: this.#clock.monotonicUs() };
    this.#stampUs = undefined;
  }

  /**
   * The leader of a new term may have set the time back, and so may leaders in between whose entries
   * were lost: whoever follows next must not undo that.
   */
  #enterTerm(term: number): void {
    if (term <= this.#term) return;
    const expectedUs = this.nowUs();
    const setBackUs = (term - this.#term) * HANDOVER_GRACE_US;
    if (expectedUs !== undefined) this.#goOnFrom(expectedUs - setBackUs);
    this.#term = term;
    this.#settlesAtUs = this.#clock.monotonicUs() + HANDOVER_GRACE_US;
  }

  #observe({ head, term }: Entry): void {
    const { nowUs: logUs } = new EntryHeadReader(head);
    const monotonicUs = this.#clock.monotonicUs();
    if (term !== this.#heardTerm) {
      // Its leader may have known the time worse than this node did, and what it says counts.
      this.#heardTerm = term;
      this.#seen = undefined;
    }
    if (monotonicUs < this.#settlesAtUs) {
      this.#stampUs = Math.max(logUs, this.#stampUs ?? logUs);
      return;
    }
    const expectedUs = this.nowUs();
    if (expectedUs === undefined || logUs > expectedUs) return this.#goOnFrom(logUs);
    // Late by what it travelled, which may be long; only as much as clocks drift is believed.
    const sinceUs = this.#seen?.monotonicUs ?? this.#settlesAtUs;
    const driftUs = Math.floor((monotonicUs - sinceUs) / SLEW_DIVISOR);
    if (driftUs > 0) this.#goOnFrom(Math.max(logUs, expectedUs - driftUs));
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

  /**
   * The log's time at which a leadership starts: set back by the grace, but never so that it falls
   * behind the wall clock by more than that, or changes of leaders in a row would add up. Below the
   * floor, time stands still until it is reached, which takes the grace at most.
   */
  static startUs(wallUs: number, { floorUs, logUs }: LeaderClockStart): number {
    const logNowUs = logUs ?? wallUs;
    // Nothing was ever stamped: there are no leases.
    if (floorUs === 0) return logNowUs;
    const keptUs = Math.min(logNowUs, wallUs - HANDOVER_GRACE_US);
    return Math.max(logNowUs - HANDOVER_GRACE_US, keptUs, floorUs + 1 - HANDOVER_GRACE_US);
  }

  constructor(clock: Clock, { floorUs, logUs }: LeaderClockStart) {
    this.#clock = clock;
    this.#lastUs = floorUs;
    const monotonicUs = clock.monotonicUs();
    this.#slewedToUs = monotonicUs;
    this.#offsetUs = LeaderClock.startUs(clock.wallUs(), { floorUs, logUs }) - monotonicUs;
  }

  /** Time now, in microseconds since the epoch as this leadership counts it; not a stamp. */
  nowUs(): number {
    return Math.max(this.runningUs(), this.#lastUs);
  }

  /**
   * The same without the newest stamp: behind {@link nowUs} while the time stands still, and what
   * the log's time goes on with afterwards.
   */
  runningUs(): number {
    return this.#clock.monotonicUs() + this.#offsetUs;
  }

  /** A stamp for the next entry: later than every stamp before it. */
  stampUs(): number {
    this.#approachWallClock();
    const stampUs = Math.max(this.nowUs(), this.#lastUs + 1);
    assert(Number.isSafeInteger(stampUs), () => `time stamp ${stampUs}`);
    this.#lastUs = stampUs;
    return stampUs;
  }

  /** The monotonic time at which {@link nowUs} reaches `atUs`; not later than now if it did. */
  monotonicAtUs(atUs: number): number {
    const atMonotonicUs = atUs - this.#offsetUs;
    return atUs > this.#lastUs ? atMonotonicUs : Math.min(atMonotonicUs, this.#clock.monotonicUs());
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
