// Finds the row of a partition by its wire number. Numbers are dense and never reused, rows are: a
// two-level array follows the live numbers and gives a page back when its last number is gone. Frozen
// like a column: pages are shared, and written only after they were copied.

import { assert } from '@queen-ts/base';

const PAGE_BITS = 10;
const PAGE_SIZE = 1 << PAGE_BITS;
const PAGE_MASK = PAGE_SIZE - 1;

interface Page {
  readonly rows: Uint32Array;
  live: number;
}

/** The rows of an index at the moment it was frozen. */
export interface FrozenNumbers {
  /** Numbers present. */
  readonly size: number;
  /** Every row, in ascending order of numbers. */
  rows(): Generator<number>;
}

/** Map from number (>= 1) to row (>= 1); row 0 means absent. */
export class NumberIndex {
  #pages: (Page | undefined)[] = [];
  /** The pages that may be written in place. */
  #writable: (Page | undefined)[] = [];
  #size = 0;

  /** Numbers present. */
  get size(): number {
    return this.#size;
  }

  /** The row of a number, or 0. Any u32 may be asked for. */
  get(number: number): number {
    const page = this.#pages[number >>> PAGE_BITS];
    return page === undefined ? 0 : page.rows[number & PAGE_MASK]!;
  }

  /** Adds a number that is not present. */
  set(number: number, row: number): void {
    assert(number >= 1 && row >= 1, () => `number ${number} row ${row}`);
    const position = number >>> PAGE_BITS;
    while (this.#pages.length <= position) {
      this.#pages.push(undefined);
      this.#writable.push(undefined);
    }
    const page = this.#writable[position] ?? this.#ownPage(position);
    assert(page.rows[number & PAGE_MASK] === 0, () => `number ${number} is present already`);
    page.rows[number & PAGE_MASK] = row;
    page.live += 1;
    this.#size += 1;
  }

  /** Removes a number that is present. */
  delete(number: number): void {
    const position = number >>> PAGE_BITS;
    assert(this.get(number) !== 0, () => `number ${number}`);
    const page = this.#writable[position] ?? this.#ownPage(position);
    page.rows[number & PAGE_MASK] = 0;
    page.live -= 1;
    this.#size -= 1;
    if (page.live > 0) return;
    this.#pages[position] = undefined;
    this.#writable[position] = undefined;
  }

  /** Returns the numbers as they are now; they stay so whatever changes here. */
  freeze(): FrozenNumbers {
    const frozen = new NumberIndex();
    frozen.#pages = this.#pages.slice();
    frozen.#size = this.#size;
    this.#writable.fill(undefined);
    return frozen;
  }

  /** Lets pages be written in place again: nobody reads what was frozen any more. */
  thaw(): void {
    this.#writable = this.#pages.slice();
  }

  /** Every row, in ascending order of numbers. The index must not change meanwhile. */
  *rows(): Generator<number> {
    for (const page of this.#pages) {
      if (page === undefined) continue;
      for (const row of page.rows) {
        if (row !== 0) yield row;
      }
    }
  }

  /** The smallest number present above `number`, or 0. */
  next(number: number): number {
    const first = number + 1;
    for (let position = first >>> PAGE_BITS; position < this.#pages.length; position += 1) {
      const page = this.#pages[position];
      if (page === undefined) continue;
      const start = position << PAGE_BITS;
      for (let i = Math.max(0, first - start); i < PAGE_SIZE; i += 1) {
        if (page.rows[i] !== 0) return start + i;
      }
    }
    return 0;
  }

  /** The largest number present below `number`, or 0. */
  previous(number: number): number {
    const last = Math.min(number, this.#pages.length << PAGE_BITS) - 1;
    for (let position = last >> PAGE_BITS; position >= 0; position -= 1) {
      const page = this.#pages[position];
      if (page === undefined) continue;
      const start = position << PAGE_BITS;
      for (let i = Math.min(PAGE_SIZE - 1, last - start); i >= 0; i -= 1) {
        if (page.rows[i] !== 0) return start + i;
      }
    }
    return 0;
  }

  /** Visits every number in ascending order. */
  forEach(visit: (number: number, row: number) => void): void {
    for (let position = 0; position < this.#pages.length; position += 1) {
      const page = this.#pages[position];
      if (page !== undefined) visitPage(page, position << PAGE_BITS, visit);
    }
  }

  /** Replaces the shared page at a position by a copy, or creates it. */
  #ownPage(position: number): Page {
    const shared = this.#pages[position];
    const page =
      shared === undefined
        ? { rows: new Uint32Array(PAGE_SIZE), live: 0 }
        : { rows: shared.rows.slice(), live: shared.live };
    this.#pages[position] = page;
    this.#writable[position] = page;
    return page;
  }
}

function visitPage(page: Page, first: number, visit: (number: number, row: number) => void): void {
  for (let i = 0; i < PAGE_SIZE; i += 1) {
    const row = page.rows[i]!;
    if (row !== 0) visit(first + i, row);
  }
}
