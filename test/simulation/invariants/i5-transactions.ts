// I5: the acks and pushes of a transaction apply all or nothing, in one entry: where its messages are
// stored, all of them are, and its acks have moved the cursor.

import { EFFECT } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import type { Entry } from '@queen-ts/raft';
import type { Tie } from '../facts/history.ts';
import { valuesOf } from '../facts/ledger.ts';
import type { Facts, Invariant } from './invariant.ts';

/** Watches what is stored for transactions. */
export class Transactions implements Invariant {
  readonly name = 'I5 transactions apply all or nothing';
  readonly #facts: Facts;
  /** Messages of each transaction that the current entry stores. */
  readonly #stored = new Map<Tie, number>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  effect(effect: Effect, _at: { index: number }, entry: Entry): undefined {
    if (effect.kind !== EFFECT.APPEND || this.#facts.ties.size === 0) return;
    for (const value of valuesOf(effect, entry)) {
      const tie = this.#facts.ties.get(value);
      if (tie !== undefined) this.#stored.set(tie, (this.#stored.get(tie) ?? 0) + 1);
    }
  }

  taken(entry: Entry): string | undefined {
    for (const [{ values, group, partitionNumber, end }, count] of this.#stored) {
      const cursor = this.#facts.ledger.partition(partitionNumber)?.cursors.get(group);
      const next = cursor?.latest.next ?? 0;
      if (count !== values.length || next < end) {
        return (
          `entry ${entry.index} stores ${count} of ${values.length} messages of a transaction, ` +
          `group ${group} is at ${next} of ${end} in partition ${partitionNumber}`
        );
      }
    }
    this.#stored.clear();
    return undefined;
  }
}
