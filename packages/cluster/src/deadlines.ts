// When waiting ends: requests whose deadline passed, parked pops whose time is over, and the one timer
// that looks at the parked pops again when the engine or a deadline says so.

import type { Clock } from '@queen-ts/base';
import type { CommandQueue } from './command-queue.ts';
import type { InFlight } from './in-flight.ts';
import type { BrokerLimits } from './limits.ts';
import type { ParkingLot } from './parking-lot.ts';
import { inDoubt, notPlanned } from './refusals.ts';
import { isEmptyPop } from './request.ts';
import type { PopRequest, Request } from './request.ts';
import type { Scheduler } from './scheduler.ts';

/** How long after its deadline a pop may still be told that nothing came, in microseconds. */
const EMPTY_ANSWER_US = 400_000;

/** Parts of the deadlines; all owned by the broker. */
export interface DeadlineParts {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: BrokerLimits;
  readonly queue: CommandQueue;
  readonly lot: ParkingLot;
  readonly inFlight: InFlight;
  /** Called when parked pops should be tried again. */
  readonly onTimer: () => void;
  /** Called, before `onTimer`, with parked pops whose time is over: they want their empty answer. */
  readonly onParkedOver: (pops: readonly PopRequest[]) => void;
}

/** Ends what has waited long enough. */
export class Deadlines {
  readonly #parts: DeadlineParts;
  #cancelTimer: () => void = () => {};

  constructor(parts: DeadlineParts) {
    this.#parts = parts;
  }

  /** Answers queued requests and those in flight whose time is over. Called once a tick. */
  expireRequests(isLeaderKnown: boolean): void {
    const { clock, queue, inFlight } = this.#parts;
    const nowUs = clock.monotonicUs();
    const isOver = (request: Request): boolean =>
      request.state === 'answered' || request.deadlineUs <= nowUs;
    for (const request of queue.expire(isOver)) {
      if (request.state !== 'answered') request.fail(notPlanned(isLeaderKnown));
    }
    // Entries commit in order: while the oldest waits, so do the others, and their turn comes.
    for (const { request, outcome } of inFlight.oldest?.settlements ?? []) {
      if (request.state === 'answered') continue;
      // A waiting pop is told at its deadline that nothing came: what it was told may take the time of
      // a commit, and nothing is in doubt.
      const isEmpty = isEmptyPop(outcome);
      const endUs = isEmpty ? request.deadlineUs + EMPTY_ANSWER_US : request.deadlineUs;
      if (endUs <= nowUs) request.fail(isEmpty ? notPlanned(isLeaderKnown) : inDoubt(request));
    }
  }

  /**
   * Sets the one timer for the parked pops: at `engineUs` (monotonic) something may become claimable,
   * and at the next deadline one of them gives up.
   */
  arm(engineUs: number): void {
    this.cancel();
    const { clock, limits, lot, scheduler, onTimer } = this.#parts;
    if (lot.size === 0) return;
    // Half the resolution late on average: one sweep answers all pops that are due by then.
    const deadlineUs = lot.nextDeadlineUs + limits.deadlineResolutionUs / 2;
    const delayUs = Math.max(0, Math.min(engineUs, deadlineUs) - clock.monotonicUs());
    this.#cancelTimer = scheduler.after(delayUs, () => {
      this.#expireParked();
      onTimer();
    });
  }

  /** Cancels the timer. */
  cancel(): void {
    this.#cancelTimer();
    this.#cancelTimer = () => {};
  }

  #expireParked(): void {
    const { clock, lot, onParkedOver } = this.#parts;
    const nowUs = clock.monotonicUs();
    if (lot.nextDeadlineUs > nowUs) return;
    onParkedOver(lot.expire((pop) => pop.state === 'answered' || pop.deadlineUs <= nowUs));
  }
}
