// The newest entries of the log in memory, so that replication, applying and fresh reads never touch
// LevelDB. Bounded by bytes; entries whose append is still in flight are kept whatever they cost,
// because they can be read nowhere else.

import { assert } from '@queen-ts/base';
import type { Entry } from '@queen-ts/raft';

/** Fixed cost counted per entry beside its bytes: the object and its two views. */
const ENTRY_OVERHEAD_BYTES = 256;

/** A contiguous run of entries that ends at the last index of the log. */
export class EntryCache {
  readonly #sizeBytesMax: number;
  /** Entry at position i has index `#firstIndex + i - #start`; positions before #start are dead. */
  #entries: (Entry | undefined)[] = [];
  #start = 0;
  #firstIndex = 0;
  #sizeBytes = 0;

  /** @param sizeBytesMax bound on heads, payloads and a fixed overhead per entry. */
  constructor(sizeBytesMax: number) {
    this.#sizeBytesMax = sizeBytesMax;
  }

  /** Bytes held now. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** The entry at `index`, or `undefined` when it is not held. */
  get(index: number): Entry | undefined {
    if (index < this.#firstIndex) return undefined;
    return this.#entries[index - this.#firstIndex + this.#start];
  }

  /** Adds the entry after the last one. */
  push(entry: Entry): void {
    const count = this.#entries.length - this.#start;
    if (count === 0) this.#firstIndex = entry.index;
    assert(
      entry.index === this.#firstIndex + count,
      () => `entry ${entry.index} after ${this.#firstIndex + count - 1} in the cache`,
    );
    this.#entries.push(entry);
    this.#sizeBytes += costOf(entry);
  }

  /** Drops the entries at and after `from`. */
  truncate(from: number): void {
    while (this.#entries.length > this.#start) {
      const last = this.#entries[this.#entries.length - 1];
      if (last === undefined || last.index < from) break;
      this.#entries.pop();
      this.#sizeBytes -= costOf(last);
    }
  }

  /** Drops the oldest entries until the bound holds, but none after `durableIndex`. */
  trim(durableIndex: number): void {
    while (this.#sizeBytes > this.#sizeBytesMax && this.#firstIndex <= durableIndex) {
      if (!this.#dropOldest()) break;
    }
    this.#cutDead();
  }

  /** Drops the entries up to and including `toIndex`. */
  compact(toIndex: number): void {
    while (this.#firstIndex <= toIndex) {
      if (!this.#dropOldest()) break;
    }
    this.#cutDead();
  }

  #dropOldest(): boolean {
    const oldest = this.#entries[this.#start];
    if (oldest === undefined) return false;
    this.#entries[this.#start] = undefined;
    this.#start++;
    this.#firstIndex++;
    this.#sizeBytes -= costOf(oldest);
    return true;
  }

  /** Cuts the dead prefix off when it is half of the array: constant work per entry. */
  #cutDead(): void {
    if (this.#start <= 64 || this.#start * 2 <= this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#start);
    this.#start = 0;
  }
}

function costOf(entry: Entry): number {
  return entry.head.byteLength + entry.payload.byteLength + ENTRY_OVERHEAD_BYTES;
}
