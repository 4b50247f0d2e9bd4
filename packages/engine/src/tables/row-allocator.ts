// Dense row numbers for a table: freed numbers are used again, last freed first, before new ones.
// Row 0 is never handed out: it means «none» everywhere.

import { assert } from '@queen-ts/base';
import { U32Column } from './chunked-columns.ts';

/** Largest row number. */
const ROW_MAX = 2 ** 32 - 1;

/** Hands out row numbers in [1, 2^32). Costs one bit a row and 4 bytes a free row. */
export class RowAllocator {
  /** One bit a row: handed out and not freed. */
  readonly #live = new U32Column();
  /** Stack of freed rows. */
  readonly #free = new U32Column();
  #freeCount = 0;
  #highWater = 0;

  /** Highest row ever handed out, 0 when none: columns need `highWater + 1` rows. */
  get highWater(): number {
    return this.#highWater;
  }

  /** Rows handed out and not freed. */
  get liveCount(): number {
    return this.#highWater - this.#freeCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#live.bytes + this.#free.bytes;
  }

  /** Returns a row that is not live. */
  allocate(): number {
    let row: number;
    if (this.#freeCount > 0) {
      this.#freeCount -= 1;
      row = this.#free.get(this.#freeCount);
    } else {
      assert(this.#highWater < ROW_MAX, 'all row numbers are in use');
      this.#highWater += 1;
      row = this.#highWater;
      this.#live.ensure((row >>> 5) + 1);
    }
    this.#live.set(row >>> 5, (this.#live.get(row >>> 5) | (1 << (row & 31))) >>> 0);
    return row;
  }

  /** Gives a live row back. */
  free(row: number): void {
    if (!this.isLive(row)) assert(false, () => `row ${row} is freed but not live`);
    this.#live.set(row >>> 5, (this.#live.get(row >>> 5) & ~(1 << (row & 31))) >>> 0);
    this.#free.ensure(this.#freeCount + 1);
    this.#free.set(this.#freeCount, row);
    this.#freeCount += 1;
  }

  /** Whether the row is handed out. False for 0 and for rows never allocated. */
  isLive(row: number): boolean {
    if (row <= 0 || row > this.#highWater) return false;
    return (this.#live.get(row >>> 5) & (1 << (row & 31))) !== 0;
  }
}
