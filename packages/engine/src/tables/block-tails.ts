// What memory keeps of every partition's blocks: where the newest one lies, how many are retained, and
// how old the oldest is. All else is in the log (ADR 0010). A partition without retained blocks has
// zeros only, so that equal histories leave equal rows.

import { assert } from '@queen-ts/base';
import { BLOCK_LINKS_MAX } from '@queen-ts/protocol';
import type { BlockRecord } from '@queen-ts/protocol';
import { F64Column, U32Column, U48Column } from './chunked-columns.ts';
import type { FrozenColumn } from './chunked-columns.ts';
import { RowAllocator } from './row-allocator.ts';

const NUMBER_MAX = 2 ** 32 - 1;

/** What a partition row holds. */
export interface BlockTail {
  /** Newest block, without the time: that of the partition's newest append. */
  readonly newest: Omit<BlockRecord, 'createdUs' | 'baseOffset'>;
  /** Blocks since the partition was empty, the newest included, minus one; after 2^32 - 1 comes 32. */
  readonly number: number;
  /** Retained blocks, >= 1. */
  readonly retained: number;
  /** Time of the oldest of them. */
  readonly oldestUs: number;
  /** The newest page that is retained; undefined without one. */
  readonly page: BlockRecord | undefined;
}

/** The rows at the moment they were frozen. */
export interface FrozenTails {
  /** Undefined when the partition has no retained block. */
  get(row: number): BlockTail | undefined;
}

/** Tails by partition row: 38 bytes each, and 32 more for one that has a page. */
export class BlockTails {
  readonly #entryIndex = new U48Column();
  readonly #blockStart = new U32Column();
  readonly #blockSize = new U32Column();
  /** Messages of the newest block; 0 = no block is retained. */
  readonly #count = new U32Column();
  readonly #number = new U32Column();
  readonly #retained = new U32Column();
  readonly #oldestUs = new F64Column();
  readonly #page = new U32Column();
  readonly #pages = new Pages();
  #blockCount = 0;

  /** Retained blocks of all partitions. */
  get blockCount(): number {
    return this.#blockCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return (
      this.#entryIndex.bytes + this.#count.bytes * 6 + this.#oldestUs.bytes + this.#pages.bytes
    );
  }

  /** Makes the rows below usable. */
  ensure(rowCount: number): void {
    if (rowCount <= this.#count.rowCount) return;
    const words = [this.#blockStart, this.#blockSize, this.#count, this.#number];
    const columns = [...words, this.#retained, this.#page, this.#oldestUs, this.#entryIndex];
    for (const column of columns) column.ensure(rowCount);
  }

  /** Messages of the newest block; 0 when none is retained. */
  count(row: number): number {
    return row < this.#count.rowCount ? this.#count.get(row) : 0;
  }

  /** Index of the entry that holds the newest block. */
  entryIndex(row: number): number {
    return this.#entryIndex.get(row);
  }

  /** Start of the newest block. */
  blockStart(row: number): number {
    return this.#blockStart.get(row);
  }

  /** Size of the newest block. */
  blockSize(row: number): number {
    return this.#blockSize.get(row);
  }

  /** Retained blocks. */
  retained(row: number): number {
    return row < this.#count.rowCount ? this.#retained.get(row) : 0;
  }

  /** Time of the oldest retained block, 0 without one. */
  oldestUs(row: number): number {
    return row < this.#count.rowCount ? this.#oldestUs.get(row) : 0;
  }

  /** The newest retained page. */
  page(row: number): BlockRecord | undefined {
    const page = this.#page.get(row);
    return page === 0 ? undefined : this.#pages.get(page);
  }

  /** Number that the next block gets. */
  nextNumber(row: number): number {
    if (this.count(row) === 0) return 0;
    const number = this.#number.get(row);
    // Never 0 again: only the first block has none before it. Pages stay in step.
    return number === NUMBER_MAX ? BLOCK_LINKS_MAX : number + 1;
  }

  /** Makes a block the newest one. */
  append(row: number, block: BlockRecord): void {
    this.ensure(row + 1);
    const number = this.nextNumber(row);
    if (this.#count.get(row) === 0) this.#oldestUs.set(row, block.createdUs);
    this.#setNewest(row, block);
    this.#number.set(row, number);
    this.#retained.set(row, this.#retained.get(row) + 1);
    this.#blockCount += 1;
    if (isPage(number)) this.#setPage(row, block);
  }

  /** Moves the start of what is retained; `blocks` are left, at least one. */
  dropTo(
    row: number,
    left: { readonly offset: number; readonly blocks: number; readonly oldestUs: number },
  ): void {
    this.#blockCount -= this.#retained.get(row) - left.blocks;
    this.#retained.set(row, left.blocks);
    this.#oldestUs.set(row, left.oldestUs);
    const page = this.#page.get(row);
    if (page === 0 || this.#pages.baseOffset(page) >= left.offset) return;
    this.#pages.remove(page);
    this.#page.set(row, 0);
  }

  /** Forgets all blocks of a partition. */
  clear(row: number): void {
    if (this.count(row) === 0) return;
    this.#blockCount -= this.#retained.get(row);
    if (this.#page.get(row) !== 0) this.#pages.remove(this.#page.get(row));
    const words = [this.#blockStart, this.#blockSize, this.#count, this.#number];
    const columns = [...words, this.#retained, this.#page, this.#oldestUs, this.#entryIndex];
    for (const column of columns) column.set(row, 0);
  }

  /** Sets a row that has no block. */
  restore(row: number, tail: BlockTail): void {
    this.ensure(row + 1);
    assert(this.#count.get(row) === 0, () => `blocks of row ${row} are restored twice`);
    this.#setNewest(row, tail.newest);
    this.#number.set(row, tail.number);
    this.#retained.set(row, tail.retained);
    this.#oldestUs.set(row, tail.oldestUs);
    this.#blockCount += tail.retained;
    if (tail.page !== undefined) this.#setPage(row, tail.page);
  }

  /** Returns the rows as they are now; they stay so until {@link thaw}. */
  freeze(): FrozenTails {
    const entryIndex = this.#entryIndex.freeze();
    const blockStart = this.#blockStart.freeze();
    const blockSize = this.#blockSize.freeze();
    const count = this.#count.freeze();
    const number = this.#number.freeze();
    const retained = this.#retained.freeze();
    const oldestUs = this.#oldestUs.freeze();
    const page = this.#page.freeze();
    const pages = this.#pages.freeze();
    return {
      get: (row) => {
        if (row >= count.rowCount || count.get(row) === 0) return undefined;
        return {
          newest: {
            entryIndex: entryIndex.get(row),
            blockStart: blockStart.get(row),
            blockSize: blockSize.get(row),
            count: count.get(row),
          },
          number: number.get(row),
          retained: retained.get(row),
          oldestUs: oldestUs.get(row),
          page: page.get(row) === 0 ? undefined : pages(page.get(row)),
        };
      },
    };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    const words = [this.#blockStart, this.#blockSize, this.#count, this.#number];
    const columns = [...words, this.#retained, this.#page, this.#oldestUs, this.#entryIndex];
    for (const column of columns) column.thaw();
    this.#pages.thaw();
  }

  #setNewest(row: number, newest: BlockTail['newest']): void {
    if (newest.count < 1) assert(false, () => `a block of ${newest.count} messages`);
    this.#entryIndex.set(row, newest.entryIndex);
    this.#blockStart.set(row, newest.blockStart);
    this.#blockSize.set(row, newest.blockSize);
    this.#count.set(row, newest.count);
  }

  #setPage(row: number, block: BlockRecord): void {
    let page = this.#page.get(row);
    if (page === 0) {
      page = this.#pages.add();
      this.#page.set(row, page);
    }
    this.#pages.set(page, block);
  }
}

/** Whether the block of a number is a page. The first of a partition has nothing to list. */
export function isPage(number: number): boolean {
  return number !== 0 && number % BLOCK_LINKS_MAX === 0;
}

/** The newest page of each partition that has one. */
class Pages {
  readonly #rows = new RowAllocator();
  readonly #baseOffset = new U48Column();
  readonly #count = new U32Column();
  readonly #entryIndex = new U48Column();
  readonly #blockStart = new U32Column();
  readonly #blockSize = new U32Column();
  readonly #createdUs = new F64Column();

  get bytes(): number {
    const words = this.#count.bytes * 3;
    return words + this.#baseOffset.bytes * 2 + this.#createdUs.bytes + this.#rows.bytes;
  }

  add(): number {
    const row = this.#rows.allocate();
    for (const column of this.#columns()) column.ensure(row + 1);
    return row;
  }

  remove(row: number): void {
    this.#rows.free(row);
  }

  baseOffset(row: number): number {
    return this.#baseOffset.get(row);
  }

  set(row: number, block: BlockRecord): void {
    this.#baseOffset.set(row, block.baseOffset);
    this.#count.set(row, block.count);
    this.#entryIndex.set(row, block.entryIndex);
    this.#blockStart.set(row, block.blockStart);
    this.#blockSize.set(row, block.blockSize);
    this.#createdUs.set(row, block.createdUs);
  }

  get(row: number): BlockRecord {
    return {
      baseOffset: this.#baseOffset.get(row),
      count: this.#count.get(row),
      entryIndex: this.#entryIndex.get(row),
      blockStart: this.#blockStart.get(row),
      blockSize: this.#blockSize.get(row),
      createdUs: this.#createdUs.get(row),
    };
  }

  freeze(): (row: number) => BlockRecord {
    const [baseOffset, entryIndex, count, blockStart, blockSize, createdUs] = this.#columns().map(
      (column) => column.freeze(),
    ) as [FrozenColumn, FrozenColumn, FrozenColumn, FrozenColumn, FrozenColumn, FrozenColumn];
    return (row) => ({
      baseOffset: baseOffset.get(row),
      count: count.get(row),
      entryIndex: entryIndex.get(row),
      blockStart: blockStart.get(row),
      blockSize: blockSize.get(row),
      createdUs: createdUs.get(row),
    });
  }

  thaw(): void {
    for (const column of this.#columns()) column.thaw();
  }

  #columns(): readonly (U48Column | U32Column | F64Column)[] {
    const words = [this.#count, this.#blockStart, this.#blockSize];
    return [this.#baseOffset, this.#entryIndex, ...words, this.#createdUs];
  }
}
