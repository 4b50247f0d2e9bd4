// Skip nodes of long block lists: one for every 32 records of a partition, linked newest to oldest
// with jump pointers of skew-binary lengths (1, 3, 7, …), so that a node near any offset is found
// from the newest one in O(log n) steps. Old nodes are freed in order; a jump may point to a freed
// one, so each jump carries its target's base offset and is only followed to a live base.

import { U32Column, U48Column, U8Column } from './chunked-columns.ts';
import { RowAllocator } from './row-allocator.ts';

/** Pooled skip nodes. A list is named by its newest node; 0 is the empty list. */
export class BlockSkips {
  readonly #nodes = new RowAllocator();
  /** First record that the node covers, and its base offset. */
  readonly #record = new U32Column();
  readonly #base = new U48Column();
  /** Newer node; the newest one's is the oldest one. */
  readonly #newer = new U32Column();
  readonly #older = new U32Column();
  readonly #jump = new U32Column();
  readonly #jumpBase = new U48Column();
  /** Length of the jump is 2^rank - 1 nodes; rank 0 = no jump. */
  readonly #jumpRank = new U8Column();

  /** Allocated size in bytes. */
  get bytes(): number {
    const words = this.#record.bytes + this.#newer.bytes + this.#older.bytes + this.#jump.bytes;
    const bases = this.#base.bytes + this.#jumpBase.bytes;
    return words + bases + this.#jumpRank.bytes + this.#nodes.bytes;
  }

  /** Adds a node for a record newer than all and returns the list's new name. */
  append(newest: number, record: number, base: number): number {
    const node = this.#allocate();
    this.#record.set(node, record);
    this.#base.set(node, base);
    this.#older.set(node, newest);
    this.#newer.set(node, newest === 0 ? node : this.#newer.get(newest));
    this.#setJump(node, newest);
    if (newest !== 0) this.#newer.set(newest, node);
    return node;
  }

  /** First record of the oldest node. The list is not empty. */
  oldestRecord(newest: number): number {
    return this.#record.get(this.#newer.get(newest));
  }

  /** Frees the oldest node and returns the list's name. The list is not empty. */
  dropOldest(newest: number): number {
    const oldest = this.#newer.get(newest);
    this.#nodes.free(oldest);
    if (oldest === newest) return 0;
    this.#newer.set(newest, this.#newer.get(oldest));
    return newest;
  }

  /** First record of the newest node whose base is at most `offset`, or 0. */
  recordAtOrBefore(newest: number, offset: number): number {
    if (newest === 0) return 0;
    const oldest = this.#newer.get(newest);
    if (this.#base.get(oldest) > offset) return 0;
    let node = newest;
    while (this.#base.get(node) > offset) {
      const canJump = this.#jumpRank.get(node) > 0 && this.#jumpBase.get(node) >= offset;
      node = canJump ? this.#jump.get(node) : this.#older.get(node);
    }
    return this.#record.get(node);
  }

  /**
   * First record of the newest node whose first record `isBefore` holds for, or 0. `isBefore` must
   * hold for a prefix of the list.
   */
  recordBefore(newest: number, isBefore: (record: number) => boolean): number {
    if (newest === 0) return 0;
    const oldest = this.#newer.get(newest);
    if (!isBefore(this.#record.get(oldest))) return 0;
    const liveBase = this.#base.get(oldest);
    let node = newest;
    while (!isBefore(this.#record.get(node))) {
      const isLive = this.#jumpRank.get(node) > 0 && this.#jumpBase.get(node) >= liveBase;
      const target = isLive ? this.#jump.get(node) : 0;
      const canJump = target !== 0 && !isBefore(this.#record.get(target));
      node = canJump ? target : this.#older.get(node);
    }
    return this.#record.get(node);
  }

  #allocate(): number {
    const node = this.#nodes.allocate();
    this.#record.ensure(node + 1);
    this.#base.ensure(node + 1);
    this.#newer.ensure(node + 1);
    this.#older.ensure(node + 1);
    this.#jump.ensure(node + 1);
    this.#jumpBase.ensure(node + 1);
    this.#jumpRank.ensure(node + 1);
    return node;
  }

  /** A jump of the same length twice in a row becomes one of both and the node itself. */
  #setJump(node: number, older: number): void {
    this.#jumpRank.set(node, older === 0 ? 0 : 1);
    this.#jump.set(node, older);
    if (older === 0) return;
    this.#jumpBase.set(node, this.#base.get(older));
    const rank = this.#jumpRank.get(older);
    const oldestBase = this.#base.get(this.#newer.get(node));
    if (rank === 0 || this.#jumpBase.get(older) < oldestBase) return;
    const target = this.#jump.get(older);
    if (this.#jumpRank.get(target) !== rank) return;
    this.#jumpRank.set(node, rank + 1);
    this.#jump.set(node, this.#jump.get(target));
    this.#jumpBase.set(node, this.#jumpBase.get(target));
  }
}
