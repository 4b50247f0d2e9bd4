// Cursors by (partition row, group row). The index owns the two key columns by cursor row, so the
// cursor table needs none of its own: 8 bytes of keys and about 10 of slot a cursor.

import { assert } from '@queen-ts/base';
import { U32Column } from './chunked-columns.ts';
import type { FrozenColumn } from './chunked-columns.ts';
import { hashPair } from './hash.ts';
import { homeOf, RowTable } from './row-table.ts';

/** Rows that one step of {@link CursorIndex.indexRestored} hashes. */
const INDEX_STEP_ROWS = 8192;

/** Hash of a key: any 32-bit integer. */
export type CursorHash = (partitionRow: number, groupRow: number) => number;

/** Keys by cursor row at the moment the index was frozen; 0 = no cursor. */
export interface FrozenCursorKeys {
  readonly partitions: FrozenColumn;
  readonly groups: FrozenColumn;
}

/** Unique (partition, group) keys of cursor rows. Row 0 is none in all three columns. */
export class CursorIndex {
  readonly #hash: CursorHash;
  readonly #table = new RowTable();
  readonly #partitions = new U32Column();
  readonly #groups = new U32Column();

  /** @param hash replaces the default hash, which is seeded with `seed`. */
  constructor(options: { readonly seed?: number; readonly hash?: CursorHash } = {}) {
    const seed = options.seed ?? 0;
    this.#hash = options.hash ?? ((partition, group) => hashPair(seed, partition, group));
  }

  /** Cursors in the index. */
  get count(): number {
    return this.#table.count;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#table.bytes + this.#partitions.bytes + this.#groups.bytes;
  }

  /** Cursor row of a key, or 0. */
  find(partitionRow: number, groupRow: number): number {
    const hash = this.#hash(partitionRow, groupRow) >>> 0;
    const segment = this.#table.segmentOf(hash);
    const { slots, slotCount } = segment;
    let slot = homeOf(hash, slotCount);
    for (;;) {
      const row = slots[slot * 2 + 1] as number;
      if (row === 0) return 0;
      if (
        slots[slot * 2] === hash &&
        this.#partitions.get(row) === partitionRow &&
        this.#groups.get(row) === groupRow
      ) {
        return row;
      }
      slot = slot + 1 === slotCount ? 0 : slot + 1;
    }
  }

  /** Adds a cursor row under a key that is not in the index. */
  insert(partitionRow: number, groupRow: number, cursorRow: number): void {
    this.restore(partitionRow, groupRow, cursorRow);
    this.#table.insert(this.#hash(partitionRow, groupRow) >>> 0, cursorRow);
  }

  /** As {@link insert}, but the cursor cannot be found before {@link indexRestored}. */
  restore(partitionRow: number, groupRow: number, cursorRow: number): void {
    if (partitionRow === 0 || groupRow === 0) {
      assert(false, () => `cursor ${cursorRow} of partition ${partitionRow}, group ${groupRow}`);
    }
    if (this.has(cursorRow)) assert(false, () => `cursor ${cursorRow} has a key already`);
    this.#partitions.ensure(cursorRow + 1);
    this.#groups.ensure(cursorRow + 1);
    this.#partitions.set(cursorRow, partitionRow);
    this.#groups.set(cursorRow, groupRow);
  }

  /**
   * Makes the restored cursors findable, in steps of bounded work. They are rows 1 to `count` and the
   * only ones.
   */
  *indexRestored(count: number): Generator<void> {
    const hashes = new Uint32Array(count);
    const rows = new Uint32Array(count);
    for (let row = 1; row <= count; row += 1) {
      rows[row - 1] = row;
      hashes[row - 1] = this.#hash(this.#partitions.get(row), this.#groups.get(row)) >>> 0;
      if (row % INDEX_STEP_ROWS === 0) yield;
    }
    yield* this.#table.fill(hashes, rows);
  }

  /** Removes a cursor row that is in the index. */
  remove(cursorRow: number): void {
    if (!this.has(cursorRow)) assert(false, () => `cursor ${cursorRow} has no key`);
    const hash = this.#hash(this.#partitions.get(cursorRow), this.#groups.get(cursorRow)) >>> 0;
    this.#table.remove(hash, cursorRow);
    this.#partitions.set(cursorRow, 0);
    this.#groups.set(cursorRow, 0);
  }

  /** Whether the cursor row is in the index. */
  has(cursorRow: number): boolean {
    return cursorRow < this.#partitions.rowCount && this.#partitions.get(cursorRow) !== 0;
  }

  /** Partition row of a cursor, 0 when it is not in the index. */
  partitionOf(cursorRow: number): number {
    return this.has(cursorRow) ? this.#partitions.get(cursorRow) : 0;
  }

  /** Group row of a cursor, 0 when it is not in the index. */
  groupOf(cursorRow: number): number {
    return this.has(cursorRow) ? this.#groups.get(cursorRow) : 0;
  }

  /** Returns the keys as they are now; they stay so whatever changes here. */
  freeze(): FrozenCursorKeys {
    return { partitions: this.#partitions.freeze(), groups: this.#groups.freeze() };
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    this.#partitions.thaw();
    this.#groups.thaw();
  }
}
