// Who led in each term, and what could be known of the time then.

import type { Process } from '../nodes/process.ts';

/** The leadership of one term. */
export interface LeaderFacts {
  readonly process: Process;
  /** Whether it knew the log's time when it took office, or had only its wall clock. */
  readonly knowsTime: boolean;
  /** The term of the leader whose clock it had heard last. */
  readonly knownTerm: number;
  /** What its wall clock was ahead then, in microseconds. */
  readonly wallAheadUs: number;
  /** The wall clock has jumped since. */
  hasWallJumped: boolean;
}

/** Leaderships by term. */
export class Leaders {
  readonly #byTerm = new Map<number, LeaderFacts>();

  get(term: number): LeaderFacts | undefined {
    return this.#byTerm.get(term);
  }

  /** A process was seen leading in a term for the first time. */
  add(term: number, process: Process): void {
    const { isKnown: knowsTime, knownTerm } = process.timeKnowledge;
    const { skewUs: wallAheadUs } = process.host.clock;
    this.#byTerm.set(term, {
      process,
      knowsTime,
      knownTerm,
      wallAheadUs,
      hasWallJumped: false,
    });
    process.timeKnowledge.knownTerm = term;
  }

  /** The wall clock of a process jumped. Returns whether that may have been all that it went by. */
  wallJumped(process: Process): boolean {
    let wasItsOnlyClock = false;
    for (const leader of this.#byTerm.values()) {
      if (leader.process !== process) continue;
      leader.hasWallJumped = true;
      wasItsOnlyClock ||= !leader.knowsTime;
    }
    return wasItsOnlyClock;
  }
}
