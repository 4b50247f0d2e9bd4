// The log's time keeps pace with the world's (ADR 0011): it never runs ahead of where it was, whatever
// wall clocks do and whoever leads, and it never stands still for longer than a change of leaders
// allows. Judged by leases: the world knows when each was asked for and when it was seen committed.

import { EFFECT } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import type { Entry } from '@queen-ts/raft';
import { leaseText } from '../facts/ledger.ts';
import type { Facts, Invariant } from './invariant.ts';

/** What a change of leaders sets the time back by, in microseconds. */
const HANDOVER_US = 500_000;

/** Watches stamps. */
export class LogTimePace implements Invariant {
  readonly name = "the log's time keeps pace";
  readonly #facts: Facts;
  /** Log time minus world time: the most that it can have been at some lease, and the least. */
  #aheadMaxUs = Infinity;
  #aheadMinUs = -Infinity;
  #term = 0;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  effect(effect: Effect, at: { index: number; nowUs: number }, entry: Entry): string | undefined {
    if (entry.term !== this.#term) this.#changeLeader(entry.term);
    if (effect.kind !== EFFECT.CURSOR_PUT || effect.leaseToExclusive === 0) return undefined;
    const askedUs = this.#facts.askedForLeaseUs.get(leaseText(effect.leaseId));
    if (askedUs === undefined || !this.#facts.isLogTimeKnown) return undefined;
    const { nowUs, clockErrorUs } = this.#facts;
    // It was stamped between these two moments, unless it is the extension of an older lease.
    const leastUs = at.nowUs - nowUs;
    const mostUs = at.nowUs - askedUs;
    if (leastUs > this.#aheadMaxUs + clockErrorUs) {
      return `entry ${at.index}: the log's time ran ${leastUs - this.#aheadMaxUs} us ahead`;
    }
    // A leader that set the time back lets it stand still first.
    if (mostUs < this.#aheadMinUs - HANDOVER_US - clockErrorUs) {
      return `entry ${at.index}: the log's time fell ${this.#aheadMinUs - mostUs} us behind`;
    }
    this.#aheadMaxUs = Math.min(this.#aheadMaxUs, mostUs);
    this.#aheadMinUs = Math.max(this.#aheadMinUs, leastUs);
    return undefined;
  }

  /** A leader knows the time by entries that may have been on their way for long, which sets it back. */
  #changeLeader(term: number): void {
    const former = this.#term;
    this.#term = term;
    const { latenessMaxUs } = this.#facts;
    // What it knows may lie behind by another grace, while the leader before it let the time stand still.
    this.#aheadMinUs -= (term - former + 1) * HANDOVER_US + latenessMaxUs;
    const leader = this.#facts.leaders.get(term);
    // One that had only its wall clock undoes what leaders with wrong ones set back before it.
    if (leader?.knowsTime !== true) this.#aheadMaxUs = Infinity;
    // One that has not heard its predecessor does not know how late that one had heard of the time.
    else if (leader.knownTerm < former) this.#aheadMaxUs += HANDOVER_US + latenessMaxUs;
  }
}
