// Which parts of an old entry's payload the state still refers to. What it does not refer to now it never
// will again: log starts only move forward, numbers of partitions and dead letters are never reused. So
// a store may delete it once no state that a node could go back to is older than this one.

import { CodecError, InvariantError } from '@queen-ts/base';
import { EFFECT, EntryHeadReader } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** Bytes [from, toExclusive) of an entry's payload. */
export interface LiveRange {
  readonly from: number;
  readonly toExclusive: number;
}

/**
 * The parts of a payload that hold a retained message or the record of a dead letter, in the order of
 * the effects that made them; none if nothing refers to the entry. A block is live as long as its last
 * message is retained.
 * @param entry.head of an entry of type command that the state contains. Throws InvariantError on damage.
 */
export function liveRanges(
  state: State,
  entry: { readonly index: number; readonly head: Uint8Array },
): LiveRange[] {
  const ranges: LiveRange[] = [];
  try {
    const reader = new EntryHeadReader(entry.head);
    for (let effect = reader.next(); effect !== undefined; effect = reader.next()) {
      const range = liveRange(state, effect);
      if (range !== undefined) ranges.push(range);
    }
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    throw new InvariantError(`entry ${entry.index} cannot be decoded: ${error.message}`);
  }
  return ranges;
}

function liveRange(state: State, effect: Effect): LiveRange | undefined {
  const { partitions, deadLetters } = state;
  switch (effect.kind) {
    case EFFECT.APPEND: {
      const row = partitions.numbers.get(effect.partition);
      const isLive = row !== 0 && partitions.logStart.get(row) < effect.baseOffset + effect.count;
      const { blockStart: from, blockSize } = effect;
      return isLive ? { from, toExclusive: from + blockSize } : undefined;
    }
    case EFFECT.DEAD_LETTER_PUT: {
      if (deadLetters.numbers.get(effect.deadLetter) === 0) return undefined;
      const { recordStart: from, recordSize } = effect;
      return { from, toExclusive: from + recordSize };
    }
    default:
      return undefined;
  }
}
