// Which cursors hold a lease id. One claim leases many partitions under one id, so an id names a
// list. Entries are pooled: a cursor without a lease costs 4 bytes, one with a lease 33 more, and an
// id about 10 bytes of slot.

import { assert } from '@queen-ts/base';
import { U32Column, U8Column } from './chunked-columns.ts';
import type { FrozenColumn } from './chunked-columns.ts';
import { mix32 } from './hash.ts';
import { RowAllocator } from './row-allocator.ts';
import { homeOf, RowTable } from './row-table.ts';

/** Hash of the four words of a lease id: any 32-bit integer. */
export type LeaseHash = (words: ArrayLike<number>, at: number) => number;

/** The lease ids of cursor rows at the moment the index was frozen. */
export interface FrozenLeases {
  /** Whether the cursor row held a lease. */
  has(row: number): boolean;
  /** A word of the lease id that the cursor row held. */
  word(row: number, position: 0 | 1 | 2 | 3): number;
}

/**
 * Lists of cursor rows by 128-bit lease id, in the order they were added. Ids are four big-endian
 * words from `at` on (an Id128 or a column of words).
 */
export class LeaseIndex {
  readonly #hash: LeaseHash;
  /** Hash of an id -> the entry at the head of its list. */
  readonly #table = new RowTable();
  readonly #entries = new RowAllocator();
  /** Entry of a cursor row, 0 = none. */
  readonly #entryOf = new U32Column();
  readonly #cursor = new U32Column();
  readonly #word0 = new U32Column();
  readonly #word1 = new U32Column();
  readonly #word2 = new U32Column();
  readonly #word3 = new U32Column();
  /** Circular links: the head's previous entry is the tail. */
  readonly #next = new U32Column();
  readonly #previous = new U32Column();
  readonly #isHead = new U8Column();
  /** Words of the last removed id, to hash it without allocating. */
  readonly #scratch = new Uint32Array(4);

  /** @param hash replaces the default hash, which is seeded with `seed`. */
  constructor(options: { readonly seed?: number; readonly hash?: LeaseHash } = {}) {
    const seed = options.seed ?? 0;
    // Lease ids are random: any word would do as a hash if nobody could choose them.
    this.#hash =
      options.hash ??
      ((words, at) => {
        let h = mix32(seed ^ (words[at] as number));
        h = mix32(h ^ (words[at + 1] as number));
        h = mix32(h ^ (words[at + 2] as number));
        return mix32(h ^ (words[at + 3] as number));
      });
  }

  /** Cursors that hold a lease. */
  get count(): number {
    return this.#entries.liveCount;
  }

  /** Lease ids that are held. */
  get leaseCount(): number {
    return this.#table.count;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const columns = this.#cursor.bytes * 7 + this.#isHead.bytes + this.#entryOf.bytes;
    return columns + this.#table.bytes + this.#entries.bytes;
  }

  /** Lets a cursor row that holds no lease hold this one. */
  add(leaseWords: ArrayLike<number>, row: number, at = 0): void {
    if (row === 0 || this.has(row)) assert(false, () => `cursor ${row} cannot take a lease`);
    const hash = this.#hash(leaseWords, at) >>> 0;
    const head = this.#headOf(hash, leaseWords, at);
    const entry = this.#allocate();
    this.#entryOf.ensure(row + 1);
    this.#entryOf.set(row, entry);
    this.#cursor.set(entry, row);
    this.#word0.set(entry, leaseWords[at] as number);
    this.#word1.set(entry, leaseWords[at + 1] as number);
    this.#word2.set(entry, leaseWords[at + 2] as number);
    this.#word3.set(entry, leaseWords[at + 3] as number);
    this.#isHead.set(entry, head === 0 ? 1 : 0);
    if (head === 0) {
      this.#next.set(entry, entry);
      this.#previous.set(entry, entry);
      this.#table.insert(hash, entry);
    } else {
      this.#link(this.#previous.get(head), entry);
      this.#link(entry, head);
    }
  }

  /** Ends the lease of a cursor row; false when it holds none. */
  remove(row: number): boolean {
    if (!this.has(row)) return false;
    const entry = this.#entryOf.get(row);
    const next = this.#next.get(entry);
    if (this.#isHead.get(entry) === 1) this.#replaceHead(entry, next);
    this.#link(this.#previous.get(entry), next);
    this.#entryOf.set(row, 0);
    this.#cursor.set(entry, 0);
    this.#isHead.set(entry, 0);
    this.#entries.free(entry);
    return true;
  }

  /** Whether the cursor row holds a lease. */
  has(row: number): boolean {
    return row < this.#entryOf.rowCount && this.#entryOf.get(row) !== 0;
  }

  /** First cursor row that holds the lease, or 0. */
  first(leaseWords: ArrayLike<number>, at = 0): number {
    const head = this.#headOf(this.#hash(leaseWords, at) >>> 0, leaseWords, at);
    return head === 0 ? 0 : this.#cursor.get(head);
  }

  /** Next cursor row that holds the same lease as this one, or 0 after the last. */
  next(row: number): number {
    if (!this.has(row)) assert(false, () => `cursor ${row} holds no lease`);
    const next = this.#next.get(this.#entryOf.get(row));
    return this.#isHead.get(next) === 1 ? 0 : this.#cursor.get(next);
  }

  /** Whether the cursor row holds exactly this lease. */
  holds(row: number, leaseWords: ArrayLike<number>, at = 0): boolean {
    return this.has(row) && this.#isLease(this.#entryOf.get(row), leaseWords, at);
  }

  /** Writes the four words of the lease that a cursor row holds to `target` from `at` on. */
  copyLease(row: number, target: Uint32Array, at: number): void {
    if (!this.has(row)) assert(false, () => `cursor ${row} holds no lease`);
    const entry = this.#entryOf.get(row);
    target[at] = this.#word0.get(entry);
    target[at + 1] = this.#word1.get(entry);
    target[at + 2] = this.#word2.get(entry);
    target[at + 3] = this.#word3.get(entry);
  }

  /** Returns the leases as they are now; they stay so whatever changes here. */
  freeze(): FrozenLeases {
    const entryOf = this.#entryOf.freeze();
    const words: readonly FrozenColumn[] = this.#words.map((column) => column.freeze());
    return {
      has: (row) => row < entryOf.rowCount && entryOf.get(row) !== 0,
      word: (row, position) => (words[position] as FrozenColumn).get(entryOf.get(row)),
    };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    this.#entryOf.thaw();
    for (const column of this.#words) column.thaw();
  }

  get #words(): readonly U32Column[] {
    return [this.#word0, this.#word1, this.#word2, this.#word3];
  }

  #headOf(hash: number, words: ArrayLike<number>, at: number): number {
    const { slots, slotCount } = this.#table.segmentOf(hash);
    let slot = homeOf(hash, slotCount);
    for (;;) {
      const entry = slots[slot * 2 + 1] as number;
      if (entry === 0) return 0;
      if (slots[slot * 2] === hash && this.#isLease(entry, words, at)) return entry;
      slot = slot + 1 === slotCount ? 0 : slot + 1;
    }
  }

  #isLease(entry: number, words: ArrayLike<number>, at: number): boolean {
    return (
      this.#word0.get(entry) === words[at] &&
      this.#word1.get(entry) === words[at + 1] &&
      this.#word2.get(entry) === words[at + 2] &&
      this.#word3.get(entry) === words[at + 3]
    );
  }

  #allocate(): number {
    const entry = this.#entries.allocate();
    if (entry >= this.#cursor.rowCount) this.#ensure(entry + 1);
    return entry;
  }

  #ensure(rowCount: number): void {
    this.#cursor.ensure(rowCount);
    this.#word0.ensure(rowCount);
    this.#word1.ensure(rowCount);
    this.#word2.ensure(rowCount);
    this.#word3.ensure(rowCount);
    this.#next.ensure(rowCount);
    this.#previous.ensure(rowCount);
    this.#isHead.ensure(rowCount);
  }

  #replaceHead(head: number, next: number): void {
    this.copyLease(this.#cursor.get(head), this.#scratch, 0);
    const hash = this.#hash(this.#scratch, 0) >>> 0;
    if (next === head) {
      this.#table.remove(hash, head);
    } else {
      this.#table.replace(hash, head, next);
      this.#isHead.set(next, 1);
    }
  }

  #link(before: number, after: number): void {
    this.#next.set(before, after);
    this.#previous.set(after, before);
  }
}
