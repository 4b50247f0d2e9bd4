// Leases last: once a pop has asked for a lease of so many seconds, nobody else gets the partition for
// the group before that time has really passed, unless the lease was settled or given back. Jumps of
// wall clocks, drift and changes of leaders are no excuse (design §7), except for a new leader that had
// only just started: it has nothing but its wall clock to go by.

import { EFFECT } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import type { Entry } from '@queen-ts/raft';
import { leaseText } from '../facts/ledger.ts';
import type { Facts, Invariant } from './invariant.ts';

/** What two drifting clocks may disagree by, as a part of the time. */
const DRIFT_MAX = 0.04;

/** What a change of leaders may cost a lease, in microseconds. */
const HANDOVER_US = 500_000;

/** Watches claims by the world's own time. */
export class LeaseTime implements Invariant {
  readonly name = 'leases last';
  readonly #facts: Facts;
  /** How long each lease was granted for, by its id as text, in microseconds. */
  readonly #durationsUs = new Map<string, number>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  effect(effect: Effect, at: { index: number; nowUs: number }, entry: Entry): string | undefined {
    if (effect.kind !== EFFECT.CURSOR_PUT || effect.leaseToExclusive === 0) return undefined;
    const { ledger } = this.#facts;
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
    this.#durationsUs.set(lease, effect.leaseExpiresUs - at.nowUs);
    return undefined;
  }

  #tooEarly(former: string, term: number): string | undefined {
    const askedUs = this.#facts.askedForLeaseUs.get(former);
    const durationUs = this.#durationsUs.get(former);
    if (askedUs === undefined || durationUs === undefined) return undefined;
    if (!this.#facts.isLogTimeKnown) return undefined;
    if ((this.#facts.leaderStartUs.get(term) ?? Infinity) > askedUs) return undefined;
    // It was planned after it was asked for, and this claim before it is seen committed here.
    const passedUs = this.#facts.nowUs - askedUs;
    return passedUs >= durationUs * (1 - DRIFT_MAX) - HANDOVER_US
      ? undefined
      : `a lease of ${durationUs} us was replaced ${passedUs} us after it was asked for`;
  }
}
