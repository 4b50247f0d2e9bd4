// The table of cursors: what a group has acked and leased in a partition. A row exists from the first
// delivery on. A lease stays in its row after it ran out, until the next claim or ack: running out is
// a matter of time, not an effect. What only some rows have at a time is kept apart (`deliveries.ts`).

import { ZERO_ID } from '@queen-ts/protocol';
import type { CursorPutEffect, Id128 } from '@queen-ts/protocol';
import { Deliveries } from './deliveries.ts';
import type { FrozenDeliveries } from './deliveries.ts';
import { U32Column, U48Column } from './tables/chunked-columns.ts';
import type { FrozenColumn } from './tables/chunked-columns.ts';
import { CursorIndex } from './tables/cursor-index.ts';
import type { FrozenCursorKeys } from './tables/cursor-index.ts';
import { RowAllocator } from './tables/row-allocator.ts';

/** The cursors at the moment they were frozen; columns by row. */
export interface FrozenCursors {
  readonly count: number;
  readonly keys: FrozenCursorKeys;
  readonly deliveries: FrozenDeliveries;
  readonly next: FrozenColumn;
  readonly settledFrom: FrozenColumn;
  readonly settledToExclusive: FrozenColumn;
  /** The four words of the id of the lease settled last. */
  readonly settledWords: readonly FrozenColumn[];
}

/** Rows of all cursors, by (partition row, group number) and by lease id. */
export class Cursors {
  readonly index: CursorIndex;
  /** Lease, attempts and retries. */
  readonly deliveries: Deliveries;
  /** First offset that is not acked. */
  readonly next = new U48Column();
  readonly settledFrom = new U48Column();
  readonly settledToExclusive = new U48Column();
  readonly #settledWords = [new U32Column(), new U32Column(), new U32Column(), new U32Column()];
  readonly #leaseWords = new Uint32Array(4);
  readonly #rows = new RowAllocator();

  constructor(seed: number) {
    this.index = new CursorIndex({ seed });
    this.deliveries = new Deliveries(seed);
  }

  /** Live cursors. */
  get count(): number {
    return this.#rows.liveCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const words = this.#settledWords.reduce((sum, column) => sum + column.bytes, 0);
    const columns = this.next.bytes * 3 + words;
    return columns + this.index.bytes + this.deliveries.bytes + this.#rows.bytes;
  }

  /** The row of a cursor, or 0. */
  find(partitionRow: number, group: number): number {
    return this.index.find(partitionRow, group);
  }

  /** Adds an empty row and returns it. */
  add(partitionRow: number, group: number): number {
    const row = this.#allocate();
    this.index.insert(partitionRow, group, row);
    return row;
  }

  /** Adds an empty row that cannot be found before {@link CursorIndex.indexRestored}; returns it. */
  restore(partitionRow: number, group: number): number {
    const row = this.#allocate();
    this.index.restore(partitionRow, group, row);
    return row;
  }

  /** Replaces all columns of a row. */
  put(row: number, effect: CursorPutEffect): void {
    this.next.set(row, effect.next);
    this.settledFrom.set(row, effect.settledFrom);
    this.settledToExclusive.set(row, effect.settledToExclusive);
    for (let word = 0; word < 4; word += 1) {
      this.#settledWords[word]!.set(row, effect.settledLeaseId[word]!);
    }
    this.deliveries.put(row, effect);
  }

  /** Removes a row. */
  remove(row: number): void {
    this.deliveries.remove(row);
    this.index.remove(row);
    this.#rows.free(row);
  }

  /** Whether the row carries a lease, run out or not. */
  hasLease(row: number): boolean {
    return this.deliveries.leaseToExclusive.get(row) > 0;
  }

  /** Whether the row carries a lease that ends after `nowUs`. */
  isLeased(row: number, nowUs: number): boolean {
    return this.deliveries.leaseExpiresUs.get(row) > nowUs;
  }

  /** Id of the row's lease, or {@link ZERO_ID}. */
  leaseId(row: number): Id128 {
    const words = this.#leaseWords;
    if (!this.deliveries.copyLease(row, words)) return ZERO_ID;
    return [words[0]!, words[1]!, words[2]!, words[3]!];
  }

  /** Id of the lease settled last, or {@link ZERO_ID}. */
  settledLeaseId(row: number): Id128 {
    const [a, b, c, d] = this.#settledWords;
    return [a!.get(row), b!.get(row), c!.get(row), d!.get(row)];
  }

  /** Returns the rows as they are now; they stay so until {@link thaw}. */
  freeze(): FrozenCursors {
    return {
      count: this.count,
      keys: this.index.freeze(),
      deliveries: this.deliveries.freeze(),
      next: this.next.freeze(),
      settledFrom: this.settledFrom.freeze(),
      settledToExclusive: this.settledToExclusive.freeze(),
      settledWords: this.#settledWords.map((column) => column.freeze()),
    };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    const offsets = [this.next, this.settledFrom, this.settledToExclusive];
    for (const column of [...offsets, ...this.#settledWords]) column.thaw();
    this.index.thaw();
    this.deliveries.thaw();
  }

  #allocate(): number {
    const row = this.#rows.allocate();
    if (row >= this.next.rowCount) this.#ensure(row + 1);
    return row;
  }

  #ensure(rowCount: number): void {
    this.next.ensure(rowCount);
    this.settledFrom.ensure(rowCount);
    this.settledToExclusive.ensure(rowCount);
    for (const column of this.#settledWords) column.ensure(rowCount);
    this.deliveries.ensure(rowCount);
  }
}
