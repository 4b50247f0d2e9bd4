// The table of dead letters: where each record lies and which (partition, group, offset) it belongs
// to. Payload and error text stay in the log. Rows of one partition form a list, newest first.

import type { DeadLetterPutEffect } from '@queen-ts/protocol';
import { NumberIndex } from './number-index.ts';
import type { FrozenNumbers } from './number-index.ts';
import { F64Column, U32Column, U48Column } from './tables/chunked-columns.ts';
import type { FrozenColumn } from './tables/chunked-columns.ts';
import { RowAllocator } from './tables/row-allocator.ts';

/** The dead letters at the moment they were frozen; columns by row. */
export interface FrozenDeadLetters {
  readonly numbers: FrozenNumbers;
  readonly number: FrozenColumn;
  readonly partitionRow: FrozenColumn;
  readonly group: FrozenColumn;
  readonly offset: FrozenColumn;
  readonly retryCount: FrozenColumn;
  readonly failedUs: FrozenColumn;
  readonly entryIndex: FrozenColumn;
  readonly recordStart: FrozenColumn;
  readonly blockSize: FrozenColumn;
  readonly recordSize: FrozenColumn;
}

/** Messages of one group in a partition. */
export interface DeadLetterRange {
  readonly group: number;
  readonly from: number;
  readonly toExclusive: number;
}

/** Rows of all dead letters, by number and by partition. */
export class DeadLetters {
  readonly numbers = new NumberIndex();
  readonly number = new U32Column();
  readonly partitionRow = new U32Column();
  readonly group = new U32Column();
  readonly offset = new U48Column();
  readonly retryCount = new U32Column();
  readonly failedUs = new F64Column();
  /** Record in the log: an append block of one message, then the error text. */
  readonly entryIndex = new U48Column();
  readonly recordStart = new U32Column();
  readonly blockSize = new U32Column();
  readonly recordSize = new U32Column();
  readonly #rows = new RowAllocator();
  /** Newest row of a partition, and the next older one of a row; 0 = none. */
  readonly #newestOf = new U32Column();
  readonly #older = new U32Column();
  /** The next newer row of the same partition; 0 = none. */
  readonly #newer = new U32Column();

  /** Live dead letters. */
  get count(): number {
    return this.#rows.liveCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const columns = this.number.bytes * 8 + this.offset.bytes * 2 + this.failedUs.bytes;
    return columns + this.#newestOf.bytes + this.#rows.bytes;
  }

  /** Adds a row and returns it. */
  add(partitionRow: number, entryIndex: number, effect: DeadLetterPutEffect): number {
    const row = this.#rows.allocate();
    this.#ensure(row + 1);
    this.#newestOf.ensure(partitionRow + 1);
    this.number.set(row, effect.deadLetter);
    this.partitionRow.set(row, partitionRow);
    this.group.set(row, effect.group);
    this.offset.set(row, effect.offset);
    this.retryCount.set(row, effect.retryCount);
    this.failedUs.set(row, effect.failedUs);
    this.entryIndex.set(row, entryIndex);
    this.recordStart.set(row, effect.recordStart);
    this.blockSize.set(row, effect.blockSize);
    this.recordSize.set(row, effect.recordSize);
    const newest = this.#newestOf.get(partitionRow);
    this.#older.set(row, newest);
    this.#newer.set(row, 0);
    if (newest !== 0) this.#newer.set(newest, row);
    this.#newestOf.set(partitionRow, row);
    this.numbers.set(effect.deadLetter, row);
    return row;
  }

  /** Removes a row. */
  remove(row: number): void {
    const partitionRow = this.partitionRow.get(row);
    const newer = this.#newer.get(row);
    const older = this.#older.get(row);
    if (newer === 0) this.#newestOf.set(partitionRow, older);
    else this.#older.set(newer, older);
    if (older !== 0) this.#newer.set(older, newer);
    this.numbers.delete(this.number.get(row));
    this.#rows.free(row);
  }

  /** Newest row of a partition, or 0. */
  newestOf(partitionRow: number): number {
    return partitionRow < this.#newestOf.rowCount ? this.#newestOf.get(partitionRow) : 0;
  }

  /** The next older row of the same partition, or 0. */
  olderOf(row: number): number {
    return this.#older.get(row);
  }

  /** Whether a group has a dead letter in a range, among the `searchedMax` newest of the partition. */
  hasIn(partitionRow: number, range: DeadLetterRange, searchedMax: number): boolean {
    let left = searchedMax;
    for (let row = this.newestOf(partitionRow); row !== 0 && left > 0; left -= 1) {
      const offset = this.offset.get(row);
      const isInside = offset >= range.from && offset < range.toExclusive;
      if (isInside && this.group.get(row) === range.group) return true;
      row = this.#older.get(row);
    }
    return false;
  }

  /** Returns the rows as they are now; they stay so until {@link thaw}. */
  freeze(): FrozenDeadLetters {
    return {
      numbers: this.numbers.freeze(),
      number: this.number.freeze(),
      partitionRow: this.partitionRow.freeze(),
      group: this.group.freeze(),
      offset: this.offset.freeze(),
      retryCount: this.retryCount.freeze(),
      failedUs: this.failedUs.freeze(),
      entryIndex: this.entryIndex.freeze(),
      recordStart: this.recordStart.freeze(),
      blockSize: this.blockSize.freeze(),
      recordSize: this.recordSize.freeze(),
    };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    const keys = [this.number, this.partitionRow, this.group, this.offset, this.entryIndex];
    const values = [this.retryCount, this.failedUs, this.recordStart];
    for (const column of [...keys, ...values, this.blockSize, this.recordSize]) column.thaw();
    this.numbers.thaw();
  }

  #ensure(rowCount: number): void {
    this.number.ensure(rowCount);
    this.partitionRow.ensure(rowCount);
    this.group.ensure(rowCount);
    this.offset.ensure(rowCount);
    this.retryCount.ensure(rowCount);
    this.failedUs.ensure(rowCount);
    this.entryIndex.ensure(rowCount);
    this.recordStart.ensure(rowCount);
    this.blockSize.ensure(rowCount);
    this.recordSize.ensure(rowCount);
    this.#older.ensure(rowCount);
    this.#newer.ensure(rowCount);
  }
}
