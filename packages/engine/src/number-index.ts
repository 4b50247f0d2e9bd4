// Finds the row of a partition by its wire number. Numbers are dense and never reused, rows are: a
// two-level array follows the live numbers and gives a page back when its last number is gone.

import { assert } from '@queen-ts/base';

const PAGE_BITS = 8;
const PAGE_SIZE = 1 << PAGE_BITS;
const PAGE_MASK = PAGE_SIZE - 1;

interface Page {
  readonly rows: Uint32Array;
  live: number;
}

/** Map from number (>= 1) to row (>= 1); row 0 means absent. */
export class NumberIndex {
  readonly #pages: (Page | undefined)[] = [];
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
    while (this.#pages.length <= position) this.#pages.push(undefined);
    let page = this.#pages[position];
    if (page === undefined) {
      page = { rows: new Uint32Array(PAGE_SIZE), live: 0 };
      this.#pages[position] = page;
    }
    assert(page.rows[number & PAGE_MASK] === 0, () => `number ${number} is present already`);
    page.rows[number & PAGE_MASK] = row;
    page.live += 1;
    this.#size += 1;
  }

  /** Removes a number that is present. */
  delete(number: number): void {
    const position = number >>> PAGE_BITS;
    const page = this.#pages[position];
    assert(page !== undefined && page.rows[number & PAGE_MASK] !== 0, () => `number ${number}`);
    page.rows[number & PAGE_MASK] = 0;
    page.live -= 1;
    this.#size -= 1;
    if (page.live === 0) this.#pages[position] = undefined;
  }

  /** Visits every number in ascending order. */
  forEach(visit: (number: number, row: number) => void): void {
    for (let position = 0; position < this.#pages.length; position += 1) {
      const page = this.#pages[position];
      if (page !== undefined) visitPage(page, position << PAGE_BITS, visit);
    }
  }
}

function visitPage(page: Page, first: number, visit: (number: number, row: number) => void): void {
  for (let i = 0; i < PAGE_SIZE; i += 1) {
    const row = page.rows[i]!;
    if (row !== 0) visit(first + i, row);
  }
}
