// The table of partitions: one row of columns each, no object. Rows are reused, wire numbers never.

import { NumberIndex } from './number-index.ts';
import type { FrozenNumbers } from './number-index.ts';
import { F64Column, U32Column, U48Column } from './tables/chunked-columns.ts';
import type { FrozenColumn } from './tables/chunked-columns.ts';
import { NameIndex } from './tables/name-index.ts';
import type { FrozenNames } from './tables/name-index.ts';
import { RowAllocator } from './tables/row-allocator.ts';

/** What a partition row starts with. */
export interface NewPartition {
  readonly number: number;
  readonly queue: number;
  /** Name in UTF-8; copied. */
  readonly name: Uint8Array;
  /** Position among the queue's partitions. */
  readonly ordinal: number;
  readonly createdUs: number;
}

/** The partitions at the moment they were frozen; columns by row. */
export interface FrozenPartitions {
  readonly names: FrozenNames;
  readonly numbers: FrozenNumbers;
  readonly number: FrozenColumn;
  readonly queue: FrozenColumn;
  readonly ordinal: FrozenColumn;
  readonly tail: FrozenColumn;
  readonly logStart: FrozenColumn;
  readonly retainedBytes: FrozenColumn;
  readonly lastAppendUs: FrozenColumn;
  readonly createdUs: FrozenColumn;
  readonly activeUs: FrozenColumn;
}

/** Rows of all partitions, by name inside their queue and by wire number. */
export class Partitions {
  readonly names: NameIndex;
  readonly numbers = new NumberIndex();
  /** Wire number of a row. */
  readonly number = new U32Column();
  /** Number of the row's queue. */
  readonly queue = new U32Column();
  /** Position among the queue's partitions; may be used again after a removal. */
  readonly ordinal = new U32Column();
  /** Offset of the next message. */
  readonly tail = new U48Column();
  /** First retained offset; equals the tail when nothing is retained. */
  readonly logStart = new U48Column();
  /** Size of the retained blocks in bytes. */
  readonly retainedBytes = new U48Column();
  /** Time of the newest append, 0 before the first. */
  readonly lastAppendUs = new F64Column();
  readonly createdUs = new F64Column();
  /** Last write, claim or ack, for the cleanup of idle partitions. */
  readonly activeUs = new F64Column();
  readonly #rows = new RowAllocator();

  constructor(seed: number) {
    this.names = new NameIndex({ seed });
  }

  /** Live partitions. */
  get count(): number {
    return this.#rows.liveCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const columns = this.number.bytes * 3 + this.tail.bytes * 3 + this.createdUs.bytes * 3;
    return columns + this.names.bytes + this.#rows.bytes + this.numbers.size * 4;
  }

  /** Adds a row and returns it. */
  add(partition: NewPartition): number {
    const row = this.#allocate();
    this.#put(row, partition);
    this.names.insert(partition.queue, partition.name, 0, partition.name.length, row);
    return row;
  }

  /**
   * Adds a row whose name is `nameLength` bytes of `bytes` from `nameStart` on. It cannot be found by
   * name before {@link NameIndex.indexRestored}.
   */
  restore(
    partition: Omit<NewPartition, 'name'> & {
      readonly bytes: Uint8Array;
      readonly nameStart: number;
      readonly nameLength: number;
    },
  ): number {
    const row = this.#allocate();
    this.#put(row, partition);
    const { queue, bytes, nameStart, nameLength } = partition;
    this.names.restore(queue, bytes, nameStart, nameLength, row);
    return row;
  }

  /** Removes a row. */
  remove(row: number): void {
    this.names.remove(row);
    this.numbers.delete(this.number.get(row));
    this.number.set(row, 0);
    this.#rows.free(row);
  }

  /** Returns the rows as they are now; they stay so until {@link thaw}. */
  freeze(): FrozenPartitions {
    return {
      names: this.names.freeze(),
      numbers: this.numbers.freeze(),
      number: this.number.freeze(),
      queue: this.queue.freeze(),
      ordinal: this.ordinal.freeze(),
      tail: this.tail.freeze(),
      logStart: this.logStart.freeze(),
      retainedBytes: this.retainedBytes.freeze(),
      lastAppendUs: this.lastAppendUs.freeze(),
      createdUs: this.createdUs.freeze(),
      activeUs: this.activeUs.freeze(),
    };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    const words = [this.number, this.queue, this.ordinal];
    const offsets = [this.tail, this.logStart, this.retainedBytes];
    const times = [this.lastAppendUs, this.createdUs, this.activeUs];
    for (const column of [...words, ...offsets, ...times]) column.thaw();
    this.names.thaw();
    this.numbers.thaw();
  }

  #put(row: number, partition: Omit<NewPartition, 'name'>): void {
    this.number.set(row, partition.number);
    this.queue.set(row, partition.queue);
    this.ordinal.set(row, partition.ordinal);
    this.tail.set(row, 0);
    this.logStart.set(row, 0);
    this.retainedBytes.set(row, 0);
    this.lastAppendUs.set(row, 0);
    this.createdUs.set(row, partition.createdUs);
    this.activeUs.set(row, partition.createdUs);
    this.numbers.set(partition.number, row);
  }

  #allocate(): number {
    const row = this.#rows.allocate();
    if (row >= this.number.rowCount) this.#ensure(row + 1);
    return row;
  }

  #ensure(rowCount: number): void {
    this.number.ensure(rowCount);
    this.queue.ensure(rowCount);
    this.ordinal.ensure(rowCount);
    this.tail.ensure(rowCount);
    this.logStart.ensure(rowCount);
    this.retainedBytes.ensure(rowCount);
    this.lastAppendUs.ensure(rowCount);
    this.createdUs.ensure(rowCount);
    this.activeUs.ensure(rowCount);
  }
}
