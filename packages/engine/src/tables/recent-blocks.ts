// The newest blocks of all partitions in memory: a ring in the order of the appends, the oldest are
// overwritten. The blocks of a partition are linked newest to oldest. A cache: it is rebuilt by
// appending and never part of the state.

import type { BlockRecord } from '@queen-ts/protocol';
import { F64Column, U32Column, U48Column } from './chunked-columns.ts';

/** Bytes of one record. */
const RECORD_SIZE = 30;

const U32_RANGE = 2 ** 32;

/** Records are 2^30 at most: bit operations take the low 32 bits of a sequence number. */
const CAPACITY_BITS_MAX = 30;

/** A record is named by its sequence number, >= 1, valid until the ring has gone round; 0 = none. */
export class RecentBlocks {
  readonly #capacity: number;
  /** Of the slot in a sequence number: the capacity is a power of two. */
  readonly #mask: number;
  readonly #entryIndex = new U48Column();
  readonly #blockStart = new U32Column();
  readonly #blockSize = new U32Column();
  readonly #count = new U32Column();
  readonly #createdUs = new F64Column();
  /** How many records before this one the partition's older one is; 0 = none. */
  readonly #older = new U32Column();
  /** By partition row: number of its newest record, modulo 2^32. */
  readonly #newest = new U32Column();
  #sequence = 0;

  /** @param bytesMax what the ring may take; a power of two of records fits, one at least. */
  constructor(bytesMax: number) {
    const bits = Math.floor(Math.log2(Math.max(1, bytesMax / RECORD_SIZE)));
    this.#capacity = 2 ** Math.min(bits, CAPACITY_BITS_MAX);
    this.#mask = this.#capacity - 1;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const words = this.#blockStart.bytes * 4 + this.#newest.bytes;
    return words + this.#entryIndex.bytes + this.#createdUs.bytes;
  }

  /** Adds the newest block of a partition. @param newest the partition's newest before, or 0. */
  append(partitionRow: number, block: BlockRecord, newest: number): void {
    this.#sequence += 1;
    const slot = this.#sequence & this.#mask;
    this.#ensure(slot + 1);
    this.#entryIndex.set(slot, block.entryIndex);
    this.#blockStart.set(slot, block.blockStart);
    this.#blockSize.set(slot, block.blockSize);
    this.#count.set(slot, block.count);
    this.#createdUs.set(slot, block.createdUs);
    const distance = newest === 0 ? 0 : this.#sequence - newest;
    this.#older.set(slot, distance < U32_RANGE ? distance : 0);
    this.#newest.ensure(partitionRow + 1);
    this.#newest.set(partitionRow, this.#sequence >>> 0);
  }

  /** Forgets the records of a partition; the row may then be used for another one. */
  forget(partitionRow: number): void {
    if (partitionRow < this.#newest.rowCount) this.#newest.set(partitionRow, 0);
  }

  /** The record of a partition's newest block, which is at the given place, or 0. */
  newest(partitionRow: number, place: { entryIndex: number; blockStart: number }): number {
    if (partitionRow >= this.#newest.rowCount) return 0;
    const word = this.#newest.get(partitionRow);
    const distance = (this.#sequence - word) >>> 0;
    const sequence = this.#sequence - distance;
    if (word === 0 || !this.#holds(sequence)) return 0;
    const slot = sequence & this.#mask;
    // After 2^32 appends the number of an old record may look new.
    const isSame =
      this.#entryIndex.get(slot) === place.entryIndex &&
      this.#blockStart.get(slot) === place.blockStart;
    return isSame ? sequence : 0;
  }

  /** The record before this one in its partition, or 0. */
  older(sequence: number): number {
    const distance = this.#older.get(sequence & this.#mask);
    return distance !== 0 && this.#holds(sequence - distance) ? sequence - distance : 0;
  }

  /** The block of a record that ends at an offset. */
  block(sequence: number, endOffset: number): BlockRecord {
    const slot = sequence & this.#mask;
    const count = this.#count.get(slot);
    return {
      baseOffset: endOffset - count,
      count,
      entryIndex: this.#entryIndex.get(slot),
      blockStart: this.#blockStart.get(slot),
      blockSize: this.#blockSize.get(slot),
      createdUs: this.#createdUs.get(slot),
    };
  }

  #holds(sequence: number): boolean {
    return sequence > 0 && this.#sequence - sequence < this.#capacity;
  }

  #ensure(rowCount: number): void {
    if (rowCount <= this.#count.rowCount) return;
    const words = [this.#blockStart, this.#blockSize, this.#count, this.#older];
    for (const column of [...words, this.#entryIndex, this.#createdUs]) column.ensure(rowCount);
  }
}
