// I2: the offsets of a partition are 0, 1, 2, …; each has one value for ever; a transaction id is stored
// once. Every value of the simulation is stored under one transaction id, so values must not repeat.

import { CONFIGURED_QUEUE_DEFAULTS, EFFECT } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import type { Entry } from '@queen-ts/raft';
import { valuesOf } from '../facts/ledger.ts';
import type { AnsweredPop, Facts, Invariant } from './invariant.ts';

const DEDUP_WINDOW_US = CONFIGURED_QUEUE_DEFAULTS.dedupWindowSeconds * 1_000_000;

/** Watches appends and deliveries. */
export class Offsets implements Invariant {
  readonly name = 'I2 offsets without gap or repeat, one value each';
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  effect(effect: Effect, at: { index: number }, entry: Entry): string | undefined {
    if (effect.kind !== EFFECT.APPEND) return undefined;
    const { ledger } = this.#facts;
    const tail = ledger.partition(effect.partition)?.values.length;
    if (effect.baseOffset !== tail) {
      return `entry ${at.index} appends at ${effect.baseOffset} in partition ${effect.partition}, after ${tail}`;
    }
    for (const value of valuesOf(effect, entry)) {
      const place = ledger.placeOf(value);
      // A leader whose wall clock is hours ahead may take the log's time beyond the window.
      if (place !== undefined && effect.createdUs - place.createdUs <= DEDUP_WINDOW_US) {
        return `entry ${at.index} stores message ${value} again, it is at offset ${place.offset}`;
      }
    }
    return undefined;
  }

  popped(pop: AnsweredPop): string | undefined {
    for (const { partitionNumber, offset, value } of pop.messages) {
      const stored = this.#facts.ledger.partition(partitionNumber)?.values[offset];
      if (stored !== value) {
        return `offset ${offset} of partition ${partitionNumber} was delivered as ${value}, it is ${stored}`;
      }
    }
    return undefined;
  }
}
