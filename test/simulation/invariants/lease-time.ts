// Leases last (I4): once a pop has asked for a lease of so many seconds, nobody else gets the partition
// for the group before that time has really passed, unless the lease was settled or given back. Jumps
// of wall clocks, drift and changes of leaders are no excuse. A new leader gives half a second more, as
// far as the log's time was not that far behind its wall clock before (ADR 0011).

import { EFFECT } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import type { Entry } from '@queen-ts/raft';
import { leaseText } from '../facts/ledger.ts';
import { EPOCH_US } from '../nodes/node-clock.ts';
import type { Facts, Invariant } from './invariant.ts';

/** What a change of leaders gives to a lease, in microseconds. */
const HANDOVER_US = 500_000;

/** A lease as it was given out. */
interface GrantedLease {
  readonly durationUs: number;
  /** Term of the leader that granted it. */
  readonly term: number;
  /** Log time of the grant, and world time at which it was seen committed. */
  readonly stampUs: number;
  readonly seenUs: number;
  /** What {@link LeaseTime} had forgiven until then. */
  readonly forgivenUs: number;
}

/** Watches claims by the world's own time. */
export class LeaseTime implements Invariant {
  readonly name = 'I4 leases last';
  readonly #facts: Facts;
  /** By lease id as text. */
  readonly #granted = new Map<string, GrantedLease>();
  #term = 0;
  /** Log time minus world time at the newest entry, at least. */
  #aheadUs = 0;
  #stampUs = 0;
  /** Newest stamp of the leaders before this one: what had run out by then is owed nothing. */
  #floorUs = 0;
  /** By what leaders without knowledge of the time have put it forward, in all. */
  #forgivenUs = 0;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  effect(effect: Effect, at: { index: number; nowUs: number }, entry: Entry): string | undefined {
    const { ledger, nowUs: seenUs } = this.#facts;
    if (entry.term !== this.#term) this.#changeLeader(entry.term, at.nowUs);
    this.#aheadUs = at.nowUs - seenUs;
    this.#stampUs = at.nowUs;
    if (effect.kind !== EFFECT.CURSOR_PUT || effect.leaseToExclusive === 0) return undefined;
    const group = ledger.groupName(effect.group);
    const before = ledger.partition(effect.partition)?.cursors.get(group)?.latest;
    const lease = leaseText(effect.leaseId);
    if (before !== undefined && before.leaseToExclusive > 0) {
      const former = leaseText(before.leaseId);
      if (former === lease) return undefined;
      const violation = this.#tooEarly(former, entry.term);
      if (violation !== undefined)
        return `entry ${at.index}, partition ${effect.partition}: ${violation}`;
    }
    const durationUs = effect.leaseExpiresUs - at.nowUs;
    const { term } = entry;
    const forgivenUs = this.#forgivenUs;
    this.#granted.set(lease, { durationUs, term, stampUs: at.nowUs, seenUs, forgivenUs });
    return undefined;
  }

  #tooEarly(former: string, term: number): string | undefined {
    const { askedForLeaseUs, isLogTimeKnown, clockErrorUs, nowUs } = this.#facts;
    const askedUs = askedForLeaseUs.get(former);
    const granted = this.#granted.get(former);
    if (askedUs === undefined || granted === undefined || !isLogTimeKnown) return undefined;
    // It was planned after it was asked for, and this claim before it is seen committed here.
    const passedUs = nowUs - askedUs;
    const moreUs = this.#moreUs(granted, term);
    const forgivenUs = this.#forgivenUs - granted.forgivenUs;
    return passedUs >= granted.durationUs + moreUs - forgivenUs - clockErrorUs
      ? undefined
      : `a lease of ${granted.durationUs} us and ${moreUs} us more was replaced ${passedUs} us after it was asked for`;
  }

  /**
   * One that has only its wall clock cannot know how far leaders before it have set the time back, one
   * that has not heard its predecessor not how badly that one knew it.
   */
  #changeLeader(term: number, stampUs: number): void {
    const former = this.#term;
    this.#term = term;
    this.#floorUs = this.#stampUs;
    const leader = this.#facts.leaders.get(term);
    if (leader === undefined) return;
    if (!leader.knowsTime) {
      const lagUs = EPOCH_US + leader.wallAheadUs - this.#aheadUs;
      this.#forgivenUs += Math.max(0, lagUs - HANDOVER_US);
    } else if (leader.knownTerm < former) {
      const aheadUs = stampUs - this.#facts.nowUs - this.#aheadUs;
      const lateUs = HANDOVER_US + this.#facts.latenessMaxUs;
      this.#forgivenUs += Math.max(0, Math.min(aheadUs, lateUs));
    }
  }

  /** What the leader of `term` owes to a lease of an earlier one, in microseconds. */
  #moreUs(granted: GrantedLease, term: number): number {
    const leader = this.#facts.leaders.get(term);
    if (leader === undefined || term === granted.term) return 0;
    if (granted.stampUs + granted.durationUs <= this.#floorUs) return 0;
    const wallUs = EPOCH_US + leader.wallAheadUs + granted.seenUs;
    const leftUs = Math.min(HANDOVER_US, HANDOVER_US - (wallUs - granted.stampUs));
    return leader.knowsTime && leader.hasWallJumped ? 0 : Math.max(0, leftUs);
  }
}
