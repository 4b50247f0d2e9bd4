// What a cursor has only while something of its partition is delivered or comes back: a lease, a count
// of attempts, a count of retries. Most cursors of a large cluster have none of it at any moment, so it
// lies in rows of its own, which cursors take and give back: one without costs 4 bytes here.

import type { CursorPutEffect } from '@queen-ts/protocol';
import { F64Column, U32Column, U48Column } from './tables/chunked-columns.ts';
import type { FrozenColumn } from './tables/chunked-columns.ts';
import { LeaseIndex } from './tables/lease-index.ts';
import type { FrozenLeases } from './tables/lease-index.ts';
import { RowAllocator } from './tables/row-allocator.ts';

/** Values by cursor row; 0 for a cursor without a delivery. */
interface ByCursor {
  get(cursorRow: number): number;
}

/** The deliveries at the moment they were frozen, by cursor row. */
export interface FrozenDeliveries {
  readonly leases: FrozenLeases;
  readonly retryCount: ByCursor;
  readonly leaseExpiresUs: ByCursor;
  readonly leaseFrom: ByCursor;
  readonly leaseToExclusive: ByCursor;
  readonly attemptFrom: ByCursor;
  readonly attemptCount: ByCursor;
}

/** Deliveries by cursor row, and by lease id. */
export class Deliveries {
  readonly #rows = new RowAllocator();
  /** Delivery of a cursor row, 0 = none, and back. */
  readonly #of = new U32Column();
  readonly #cursor = new U32Column();
  /** Delivery rows by lease id. */
  readonly #leases: LeaseIndex;
  readonly #retryCount = new U32Column();
  readonly #leaseExpiresUs = new F64Column();
  readonly #leaseFrom = new U48Column();
  readonly #leaseToExclusive = new U48Column();
  readonly #attemptFrom = new U48Column();
  readonly #attemptCount = new U32Column();
  readonly retryCount = byCursor(this.#of, this.#retryCount);
  /** End of the lease, 0 without one. */
  readonly leaseExpiresUs = byCursor(this.#of, this.#leaseExpiresUs);
  readonly leaseFrom = byCursor(this.#of, this.#leaseFrom);
  readonly leaseToExclusive = byCursor(this.#of, this.#leaseToExclusive);
  readonly attemptFrom = byCursor(this.#of, this.#attemptFrom);
  readonly attemptCount = byCursor(this.#of, this.#attemptCount);

  constructor(seed: number) {
    this.#leases = new LeaseIndex({ seed });
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const words = this.#cursor.bytes + this.#retryCount.bytes + this.#attemptCount.bytes;
    const others = this.#leaseExpiresUs.bytes + this.#leaseFrom.bytes * 3;
    return this.#of.bytes + words + others + this.#leases.bytes + this.#rows.bytes;
  }

  /** Makes cursor rows [0, rowCount) usable. */
  ensure(rowCount: number): void {
    this.#of.ensure(rowCount);
  }

  /** Row of a cursor's delivery, or 0. It stays the same as long as the cursor has one. */
  rowOf(cursorRow: number): number {
    return this.#of.get(cursorRow);
  }

  /** The cursor row of a delivery. */
  cursorOf(row: number): number {
    return this.#cursor.get(row);
  }

  /** Replaces what a cursor row has; gives its delivery back when nothing is left of it. */
  put(cursorRow: number, effect: CursorPutEffect): void {
    if (!isDelivery(effect)) {
      this.remove(cursorRow);
      return;
    }
    const known = this.#of.get(cursorRow);
    const row = known === 0 ? this.#add(cursorRow) : known;
    this.#retryCount.set(row, effect.retryCount);
    this.#leaseExpiresUs.set(row, effect.leaseExpiresUs);
    this.#leaseFrom.set(row, effect.leaseFrom);
    this.#leaseToExclusive.set(row, effect.leaseToExclusive);
    this.#attemptFrom.set(row, effect.attemptFrom);
    this.#attemptCount.set(row, effect.attemptCount);
    if (this.#leases.has(row)) {
      if (this.#leases.holds(row, effect.leaseId)) return;
      this.#leases.remove(row);
    }
    if (effect.leaseToExclusive > 0) this.#leases.add(effect.leaseId, row);
  }

  /** Takes a cursor row's delivery away, if it has one. */
  remove(cursorRow: number): void {
    const row = this.#of.get(cursorRow);
    if (row === 0) return;
    this.#leases.remove(row);
    this.#of.set(cursorRow, 0);
    this.#cursor.set(row, 0);
    this.#rows.free(row);
  }

  /** First cursor row that holds a lease, or 0. */
  firstOf(leaseWords: ArrayLike<number>): number {
    const row = this.#leases.first(leaseWords);
    return row === 0 ? 0 : this.#cursor.get(row);
  }

  /** Next cursor row that holds the same lease as this one, or 0 after the last. */
  nextOf(cursorRow: number): number {
    const row = this.#leases.next(this.#of.get(cursorRow));
    return row === 0 ? 0 : this.#cursor.get(row);
  }

  /** Whether the cursor row holds exactly this lease: four words from `at` on. */
  holds(cursorRow: number, leaseWords: ArrayLike<number>, at = 0): boolean {
    return this.#leases.holds(this.#of.get(cursorRow), leaseWords, at);
  }

  /** Writes the lease id of a cursor row to `target`; false when it has none. */
  copyLease(cursorRow: number, target: Uint32Array): boolean {
    const row = this.#of.get(cursorRow);
    if (!this.#leases.has(row)) return false;
    this.#leases.copyLease(row, target, 0);
    return true;
  }

  /** Returns the deliveries as they are now; they stay so until {@link thaw}. */
  freeze(): FrozenDeliveries {
    const of = this.#of.freeze();
    const leases = this.#leases.freeze();
    return {
      leases: {
        has: (cursorRow) => leases.has(of.get(cursorRow)),
        word: (cursorRow, position) => leases.word(of.get(cursorRow), position),
      },
      retryCount: byCursor(of, this.#retryCount.freeze()),
      leaseExpiresUs: byCursor(of, this.#leaseExpiresUs.freeze()),
      leaseFrom: byCursor(of, this.#leaseFrom.freeze()),
      leaseToExclusive: byCursor(of, this.#leaseToExclusive.freeze()),
      attemptFrom: byCursor(of, this.#attemptFrom.freeze()),
      attemptCount: byCursor(of, this.#attemptCount.freeze()),
    };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    const offsets = [this.#leaseFrom, this.#leaseToExclusive, this.#attemptFrom];
    const others = [this.#of, this.#retryCount, this.#leaseExpiresUs, this.#attemptCount];
    for (const column of [...offsets, ...others]) column.thaw();
    this.#leases.thaw();
  }

  #add(cursorRow: number): number {
    const row = this.#rows.allocate();
    if (row >= this.#cursor.rowCount) this.#ensureRows(row + 1);
    this.#of.set(cursorRow, row);
    this.#cursor.set(row, cursorRow);
    return row;
  }

  #ensureRows(rowCount: number): void {
    this.#cursor.ensure(rowCount);
    this.#retryCount.ensure(rowCount);
    this.#leaseExpiresUs.ensure(rowCount);
    this.#leaseFrom.ensure(rowCount);
    this.#leaseToExclusive.ensure(rowCount);
    this.#attemptFrom.ensure(rowCount);
    this.#attemptCount.ensure(rowCount);
  }
}

/** Whether a cursor row says anything that is kept here. */
function isDelivery(effect: CursorPutEffect): boolean {
  return (
    effect.leaseToExclusive > 0 ||
    effect.attemptCount > 0 ||
    effect.retryCount > 0 ||
    effect.attemptFrom > 0 ||
    effect.leaseExpiresUs > 0 ||
    effect.leaseFrom > 0
  );
}

function byCursor(of: Pick<FrozenColumn, 'get'>, column: Pick<FrozenColumn, 'get'>): ByCursor {
  return {
    get(cursorRow) {
      const row = of.get(cursorRow);
      return row === 0 ? 0 : column.get(row);
    },
  };
}
