// The table of cursors: what a group has acked and leased in a partition. A row exists from the first
// delivery on. A lease stays in its row after it ran out, until the next claim or ack: running out is
// a matter of time, not an effect.

import { ZERO_ID } from '@queen-ts/protocol';
import type { CursorPutEffect, Id128 } from '@queen-ts/protocol';
import { F64Column, U32Column, U48Column } from './tables/chunked-columns.ts';
import type { FrozenColumn } from './tables/chunked-columns.ts';
import { CursorIndex } from './tables/cursor-index.ts';
import type { FrozenCursorKeys } from './tables/cursor-index.ts';
import { LeaseIndex } from './tables/lease-index.ts';
import type { FrozenLeases } from './tables/lease-index.ts';
import { RowAllocator } from './tables/row-allocator.ts';

/** The cursors at the moment they were frozen; columns by row. */
export interface FrozenCursors {
  readonly count: number;
  readonly keys: FrozenCursorKeys;
  readonly leases: FrozenLeases;
  readonly next: FrozenColumn;
  readonly retryCount: FrozenColumn;
  readonly leaseExpiresUs: FrozenColumn;
  readonly leaseFrom: FrozenColumn;
  readonly leaseToExclusive: FrozenColumn;
  readonly attemptFrom: FrozenColumn;
  readonly attemptCount: FrozenColumn;
  readonly settledFrom: FrozenColumn;
  readonly settledToExclusive: FrozenColumn;
  /** The four words of the id of the lease settled last. */
  readonly settledWords: readonly FrozenColumn[];
}

/** Rows of all cursors, by (partition row, group number) and by lease id. */
export class Cursors {
  readonly index: CursorIndex;
  readonly leases: LeaseIndex;
  /** First offset that is not acked. */
  readonly next = new U48Column();
  readonly retryCount = new U32Column();
  /** End of the lease, 0 without one. */
  readonly leaseExpiresUs = new F64Column();
  readonly leaseFrom = new U48Column();
  readonly leaseToExclusive = new U48Column();
  readonly attemptFrom = new U48Column();
  readonly attemptCount = new U32Column();
  readonly settledFrom = new U48Column();
  readonly settledToExclusive = new U48Column();
  readonly #settledWords = [new U32Column(), new U32Column(), new U32Column(), new U32Column()];
  readonly #leaseWords = new Uint32Array(4);
  readonly #rows = new RowAllocator();

  constructor(seed: number) {
    this.index = new CursorIndex({ seed });
    this.leases = new LeaseIndex({ seed });
  }

  /** Live cursors. */
  get count(): number {
    return this.#rows.liveCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const columns = this.next.bytes * 6 + this.leaseExpiresUs.bytes + this.retryCount.bytes * 6;
    return columns + this.index.bytes + this.leases.bytes + this.#rows.bytes;
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
    this.retryCount.set(row, effect.retryCount);
    this.leaseExpiresUs.set(row, effect.leaseExpiresUs);
    this.leaseFrom.set(row, effect.leaseFrom);
    this.leaseToExclusive.set(row, effect.leaseToExclusive);
    this.attemptFrom.set(row, effect.attemptFrom);
    this.attemptCount.set(row, effect.attemptCount);
    this.settledFrom.set(row, effect.settledFrom);
    this.settledToExclusive.set(row, effect.settledToExclusive);
    for (let word = 0; word < 4; word += 1) {
      this.#settledWords[word]!.set(row, effect.settledLeaseId[word]!);
    }
    if (this.leases.has(row)) {
      if (this.leases.holds(row, effect.leaseId)) return;
      this.leases.remove(row);
    }
    if (effect.leaseToExclusive > 0) this.leases.add(effect.leaseId, row);
  }

  /** Removes a row. */
  remove(row: number): void {
    this.leases.remove(row);
    this.index.remove(row);
    this.#rows.free(row);
  }

  /** Whether the row carries a lease, run out or not. */
  hasLease(row: number): boolean {
    return this.leaseToExclusive.get(row) > 0;
  }

  /** Whether the row carries a lease that ends after `nowUs`. */
  isLeased(row: number, nowUs: number): boolean {
    return this.leaseExpiresUs.get(row) > nowUs;
  }

  /** Id of the row's lease, or {@link ZERO_ID}. */
  leaseId(row: number): Id128 {
    if (!this.leases.has(row)) return ZERO_ID;
    const words = this.#leaseWords;
    this.leases.copyLease(row, words, 0);
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
      leases: this.leases.freeze(),
      next: this.next.freeze(),
      retryCount: this.retryCount.freeze(),
      leaseExpiresUs: this.leaseExpiresUs.freeze(),
      leaseFrom: this.leaseFrom.freeze(),
      leaseToExclusive: this.leaseToExclusive.freeze(),
      attemptFrom: this.attemptFrom.freeze(),
      attemptCount: this.attemptCount.freeze(),
      settledFrom: this.settledFrom.freeze(),
      settledToExclusive: this.settledToExclusive.freeze(),
      settledWords: this.#settledWords.map((column) => column.freeze()),
    };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    const offsets = [this.next, this.leaseFrom, this.leaseToExclusive, this.attemptFrom];
    const settled = [this.settledFrom, this.settledToExclusive, ...this.#settledWords];
    const others = [this.retryCount, this.leaseExpiresUs, this.attemptCount];
    for (const column of [...offsets, ...settled, ...others]) column.thaw();
    this.index.thaw();
    this.leases.thaw();
  }

  #allocate(): number {
    const row = this.#rows.allocate();
    if (row >= this.next.rowCount) this.#ensure(row + 1);
    return row;
  }

  #ensure(rowCount: number): void {
    this.next.ensure(rowCount);
    this.retryCount.ensure(rowCount);
    this.leaseExpiresUs.ensure(rowCount);
    this.leaseFrom.ensure(rowCount);
    this.leaseToExclusive.ensure(rowCount);
    this.attemptFrom.ensure(rowCount);
    this.attemptCount.ensure(rowCount);
    this.settledFrom.ensure(rowCount);
    this.settledToExclusive.ensure(rowCount);
    for (const column of this.#settledWords) column.ensure(rowCount);
  }
}
