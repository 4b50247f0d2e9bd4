// Entries that this node planned and that are not committed yet, with the answers that wait for
// them. An answer is released by (term, index), never by index alone (I14).

import { assert } from '@queen-ts/base';
import { BrokerError } from '@queen-ts/protocol';
import type { PayloadReader } from '@queen-ts/protocol';
import { Fifo } from './fifo.ts';
import type { Settlement } from './planner.ts';

/** One planned entry. */
export interface InFlightEntry {
  readonly index: number;
  readonly term: number;
  readonly payload: Uint8Array;
  readonly settlements: Settlement[];
}

/** Planned entries in log order; doubles as the reader of payloads that the log has not seen yet. */
export class InFlight implements PayloadReader {
  readonly #entries = new Fifo<InFlightEntry>();
  readonly #byIndex = new Map<number, InFlightEntry>();
  #log: PayloadReader | undefined;
  #newest: InFlightEntry | undefined;

  /** Gives the reader of the payloads that are not in flight; before that there are none. */
  attach(log: PayloadReader): void {
    this.#log = log;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The entry that everything planned so far can have observed; undefined when none is in flight. */
  get newest(): InFlightEntry | undefined {
    return this.#newest;
  }

  /** The entry that waits longest; undefined when none is in flight. */
  get oldest(): InFlightEntry | undefined {
    return this.#entries.peek();
  }

  /** Adds an entry behind the others. */
  add(entry: InFlightEntry): void {
    const last = this.#newest?.index ?? 0;
    assert(entry.index > last, () => `entry ${entry.index} planned after ${last}`);
    this.#entries.push(entry);
    this.#byIndex.set(entry.index, entry);
    this.#newest = entry;
  }

  /** Takes the oldest entry if it has this index. */
  take(index: number): InFlightEntry | undefined {
    const entry = this.#entries.peek();
    if (entry === undefined || entry.index !== index) return undefined;
    this.#entries.shift();
    this.#byIndex.delete(index);
    if (this.#newest === entry) this.#newest = undefined;
    return entry;
  }

  /** Takes everything, oldest first. */
  drain(): InFlightEntry[] {
    this.#byIndex.clear();
    this.#newest = undefined;
    return this.#entries.drain();
  }

  payload(range: { index: number; from: number; toExclusive: number }): Uint8Array {
    const entry = this.#byIndex.get(range.index);
    if (entry !== undefined) return entry.payload.subarray(range.from, range.toExclusive);
    assert(this.#log !== undefined, () => `payload of entry ${range.index} before the log is open`);
    try {
      return this.#log.payload(range);
    } catch (error) {
      if (!isGone(error)) throw error;
      const message = 'a message was removed while the answer that names it was on its way';
      throw new BrokerError('retry', message, { cause: error });
    }
  }
}

/**
 * Whether what an answer names was removed while the answer was on its way, or a snapshot is taking the
 * log's place just now: no damage. A plan or a read that starts now would not name it.
 */
function isGone(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'LOG_COMPACTED' || error.code === 'STORE_CLOSED';
}
