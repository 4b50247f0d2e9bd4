// Where the appends of each partition live in the log: one record an append, in a circular list per
// partition (the tail's next is the head), so that a partition costs 8 bytes and a record 37. Long
// lists have skip nodes. Records leave in offset order: by retention, or because they moved to disk.

import { assert } from '@queen-ts/base';
import { BlockSkips } from './block-skips.ts';
import { F64Column, U32Column, U48Column, U8Column } from './chunked-columns.ts';
import type { FrozenColumn } from './chunked-columns.ts';
import { RowAllocator } from './row-allocator.ts';

/** Records from one skip node to the next. */
const SKIP_RECORDS = 32;

/** One append of a partition. */
export interface BlockRecord {
  /** Offset of the first message, < 2^48. */
  readonly baseOffset: number;
  /** Messages, >= 1. */
  readonly count: number;
  /** Index of the log entry that holds the block, < 2^48. */
  readonly entryIndex: number;
  /** Span of the block in the entry's payload, in bytes. */
  readonly blockStart: number;
  readonly blockSize: number;
  /** Wall time of the append in microseconds; never goes back inside a partition. */
  readonly createdUs: number;
}

/** The records at the moment the index was frozen; columns by record row. */
export interface FrozenBlocks {
  /** Oldest record of a partition, or 0. */
  head(partitionRow: number): number;
  /** Record after this one in its partition, or 0. */
  next(partitionRow: number, record: number): number;
  readonly recordCount: number;
  readonly baseOffset: FrozenColumn;
  readonly count: FrozenColumn;
  readonly entryIndex: FrozenColumn;
  readonly blockStart: FrozenColumn;
  readonly blockSize: FrozenColumn;
  readonly createdUs: FrozenColumn;
}

/** Lists of append records by partition row. A record row is valid until it is dropped; 0 = none. */
export class BlockIndex {
  readonly #skips = new BlockSkips();
  /** By partition row: newest record, newest skip node. */
  readonly #tail = new U32Column();
  readonly #newestSkip = new U32Column();
  readonly #records = new RowAllocator();
  readonly #next = new U32Column();
  readonly #baseOffset = new U48Column();
  readonly #count = new U32Column();
  readonly #entryIndex = new U48Column();
  readonly #blockStart = new U32Column();
  readonly #blockSize = new U32Column();
  readonly #createdUs = new F64Column();
  /** Records since the last one with a skip node; only grows to SKIP_RECORDS. */
  readonly #sinceSkip = new U8Column();

  /** Records of all partitions. */
  get recordCount(): number {
    return this.#records.liveCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const partitions = this.#tail.bytes + this.#newestSkip.bytes;
    const words = this.#next.bytes * 4 + this.#baseOffset.bytes * 2;
    const records = words + this.#createdUs.bytes + this.#sinceSkip.bytes + this.#records.bytes;
    return partitions + records + this.#skips.bytes;
  }

  /** Adds the newest record of a partition and returns its row. Offsets only grow. */
  append(partitionRow: number, record: BlockRecord): number {
    this.#tail.ensure(partitionRow + 1);
    this.#newestSkip.ensure(partitionRow + 1);
    const tail = this.#tail.get(partitionRow);
    this.#check(tail, record);
    const row = this.#allocate();
    this.#baseOffset.set(row, record.baseOffset);
    this.#count.set(row, record.count);
    this.#entryIndex.set(row, record.entryIndex);
    this.#blockStart.set(row, record.blockStart);
    this.#blockSize.set(row, record.blockSize);
    this.#createdUs.set(row, record.createdUs);
    this.#next.set(row, tail === 0 ? row : this.#next.get(tail));
    if (tail !== 0) this.#next.set(tail, row);
    this.#tail.set(partitionRow, row);
    this.#addSkip(partitionRow, tail, row);
    return row;
  }

  /** Oldest record of a partition, or 0. */
  head(partitionRow: number): number {
    const tail = this.tail(partitionRow);
    return tail === 0 ? 0 : this.#next.get(tail);
  }

  /** Newest record of a partition, or 0. */
  tail(partitionRow: number): number {
    return partitionRow < this.#tail.rowCount ? this.#tail.get(partitionRow) : 0;
  }

  /** Record after this one in its partition, or 0. */
  next(partitionRow: number, record: number): number {
    return record === this.#tail.get(partitionRow) ? 0 : this.#next.get(record);
  }

  /**
   * First record that holds a message at or after `offset`, or 0. O(1) at both ends of the list and
   * after a good hint, O(log n) elsewhere.
   * @param hint a record of this partition that is not dropped, or 0; it helps when it is shortly
   *   before the result.
   */
  firstAtOrAfter(partitionRow: number, offset: number, hint = 0): number {
    const tail = this.tail(partitionRow);
    if (tail === 0 || this.endOffset(tail) <= offset) return 0;
    if (this.#baseOffset.get(tail) <= offset) return tail;
    const head = this.#next.get(tail);
    if (this.endOffset(head) > offset) return head;
    let record = hint;
    if (record === 0 || this.#baseOffset.get(record) > offset) record = 0;
    for (let step = 0; record !== 0 && step < 2; step += 1) {
      if (this.endOffset(record) > offset) return record;
      record = this.#next.get(record);
    }
    record = this.#skips.recordAtOrBefore(this.#newestSkip.get(partitionRow), offset);
    if (record === 0) record = head;
    while (this.endOffset(record) <= offset) record = this.#next.get(record);
    return record;
  }

  /** First record created at or after `us`, or 0. */
  firstCreatedAtOrAfter(partitionRow: number, us: number): number {
    const tail = this.tail(partitionRow);
    if (tail === 0 || this.#createdUs.get(tail) < us) return 0;
    const isBefore = (record: number): boolean => this.#createdUs.get(record) < us;
    let record = this.#skips.recordBefore(this.#newestSkip.get(partitionRow), isBefore);
    if (record === 0) record = this.#next.get(tail);
    while (isBefore(record)) record = this.#next.get(record);
    return record;
  }

  /**
   * Drops records whose messages are all before `offset` (Infinity: all), oldest first.
   * @param recordsMax most records to drop in this call.
   * @returns the number of dropped records: `recordsMax` means that there may be more.
   */
  dropBefore(partitionRow: number, offset: number, recordsMax = Infinity): number {
    let dropped = 0;
    let head = this.head(partitionRow);
    while (head !== 0 && dropped < recordsMax && this.endOffset(head) <= offset) {
      head = this.#dropHead(partitionRow, head);
      dropped += 1;
    }
    return dropped;
  }

  /**
   * Visits the records that hold messages at or after `fromOffset`, oldest first, until `visit`
   * returns false. `visit` must not append to or drop from the partition.
   */
  forEach(partitionRow: number, fromOffset: number, visit: (record: number) => boolean): void {
    let record = this.firstAtOrAfter(partitionRow, fromOffset);
    while (record !== 0 && visit(record)) record = this.next(partitionRow, record);
  }

  /** Offset of a record's first message. */
  baseOffset(record: number): number {
    return this.#baseOffset.get(record);
  }

  /** Messages of a record. */
  count(record: number): number {
    return this.#count.get(record);
  }

  /** Offset after a record's last message. */
  endOffset(record: number): number {
    return this.#baseOffset.get(record) + this.#count.get(record);
  }

  /** Index of the log entry that holds a record's block. */
  entryIndex(record: number): number {
    return this.#entryIndex.get(record);
  }

  /** Start of a record's block in its entry's payload, in bytes. */
  blockStart(record: number): number {
    return this.#blockStart.get(record);
  }

  /** Size of a record's block in bytes. */
  blockSize(record: number): number {
    return this.#blockSize.get(record);
  }

  /** Wall time of a record's append in microseconds. */
  createdUs(record: number): number {
    return this.#createdUs.get(record);
  }

  /** Returns the records as they are now; they stay so whatever changes here. */
  freeze(): FrozenBlocks {
    const tail = this.#tail.freeze();
    const next = this.#next.freeze();
    const tailOf = (row: number): number => (row < tail.rowCount ? tail.get(row) : 0);
    return {
      head: (row) => (tailOf(row) === 0 ? 0 : next.get(tailOf(row))),
      next: (row, record) => (record === tail.get(row) ? 0 : next.get(record)),
      recordCount: this.recordCount,
      baseOffset: this.#baseOffset.freeze(),
      count: this.#count.freeze(),
      entryIndex: this.#entryIndex.freeze(),
      blockStart: this.#blockStart.freeze(),
      blockSize: this.#blockSize.freeze(),
      createdUs: this.#createdUs.freeze(),
    };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    const offsets = [this.#baseOffset, this.#entryIndex, this.#createdUs];
    const words = [this.#tail, this.#next, this.#count, this.#blockStart, this.#blockSize];
    for (const column of [...offsets, ...words]) column.thaw();
  }

  #check(tail: number, record: BlockRecord): void {
    const { baseOffset, count, createdUs } = record;
    if (count < 1) assert(false, () => `append of ${count} messages at ${baseOffset}`);
    if (tail === 0) return;
    if (baseOffset < this.endOffset(tail)) {
      assert(false, () => `append at ${baseOffset} before ${this.endOffset(tail)}`);
    }
    if (createdUs < this.#createdUs.get(tail)) {
      assert(false, () => `append at ${createdUs} us before ${this.#createdUs.get(tail)} us`);
    }
  }

  #allocate(): number {
    const row = this.#records.allocate();
    if (row >= this.#next.rowCount) this.#ensure(row + 1);
    return row;
  }

  #ensure(rowCount: number): void {
    this.#next.ensure(rowCount);
    this.#baseOffset.ensure(rowCount);
    this.#count.ensure(rowCount);
    this.#entryIndex.ensure(rowCount);
    this.#blockStart.ensure(rowCount);
    this.#blockSize.ensure(rowCount);
    this.#createdUs.ensure(rowCount);
    this.#sinceSkip.ensure(rowCount);
  }

  #addSkip(partitionRow: number, tail: number, row: number): void {
    const sinceSkip = tail === 0 ? 1 : this.#sinceSkip.get(tail) + 1;
    this.#sinceSkip.set(row, sinceSkip === SKIP_RECORDS ? 0 : sinceSkip);
    if (sinceSkip !== SKIP_RECORDS) return;
    const newest = this.#newestSkip.get(partitionRow);
    const node = this.#skips.append(newest, row, this.#baseOffset.get(row));
    this.#newestSkip.set(partitionRow, node);
  }

  /** Frees the head and returns the next one, or 0. */
  #dropHead(partitionRow: number, head: number): number {
    const tail = this.#tail.get(partitionRow);
    const newest = this.#newestSkip.get(partitionRow);
    if (newest !== 0 && this.#skips.oldestRecord(newest) === head) {
      this.#newestSkip.set(partitionRow, this.#skips.dropOldest(newest));
    }
    const next = this.#next.get(head);
    this.#records.free(head);
    if (head === tail) {
      this.#tail.set(partitionRow, 0);
      return 0;
    }
    this.#next.set(tail, next);
    return next;
  }
}
