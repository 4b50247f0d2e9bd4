// Old tables that were not verified when the log was opened. LevelDB does not check blocks when it
// reads them, and a damaged one may end the process without a word; so before a record of such a table
// is read, the one block that LevelDB will look at is verified here, once. In the background all of
// them are verified, slowly, so that damage at rest is found soon after a start and not years later.

import { hasSystemCode } from './errors.ts';
import { logKey } from './keys.ts';
import type { FailureLatch } from './failure-latch.ts';
import type { Schedule } from './durable-bound.ts';
import {
  findDataBlock,
  type DataBlock,
  type TablePlace,
  verifyDataBlock,
  verifyTable,
  verifyTableFrame,
} from './leveldb-table.ts';

/** Pause after each read of about 1 MiB of the background check: some 40 MiB a second. */
const PACE_MS = 25;

/** Most tables whose indexes are kept for single reads; about 30 KiB each. */
const INDEXES_MAX = 64;

/** A table of which only size, index and filter are verified. */
export interface UncheckedTable extends TablePlace {
  /** Log indexes of its first and last key. */
  readonly firstIndex: number;
  readonly lastIndex: number;
}

interface OpenIndex {
  readonly blocks: readonly DataBlock[];
  readonly checked: Set<number>;
}

/** Stands before every read of the log database. */
export class TableGuard {
  readonly #latch: FailureLatch;
  readonly #schedule: Schedule;
  /** In the order of the log. */
  #tables: readonly UncheckedTable[];
  /** In the order of use, oldest first. */
  readonly #indexes = new Map<UncheckedTable, OpenIndex>();
  #wake: () => void = () => undefined;
  #isClosing = false;
  #scrub: Promise<void> = Promise.resolve();

  constructor(options: {
    readonly tables: readonly UncheckedTable[];
    readonly latch: FailureLatch;
    readonly schedule: Schedule;
  }) {
    this.#tables = options.tables.toSorted((a, b) => a.firstIndex - b.firstIndex);
    this.#latch = options.latch;
    this.#schedule = options.schedule;
  }

  /** Tables that are not verified yet. */
  get uncheckedCount(): number {
    return this.#tables.length;
  }

  /** Resolves when no table is unverified any more, or the guard is closed. */
  async settled(): Promise<void> {
    await this.#scrub;
  }

  /** Verifies what LevelDB will read to find a chunk. Throws CORRUPTION. */
  check(index: number, chunk: number): void {
    for (const table of this.#tables) {
      if (table.firstIndex > index) return;
      if (index <= table.lastIndex) this.#checkBlock(table, logKey(index, chunk));
    }
  }

  /** Starts to verify all tables in the background, newest first; damage trips the latch. */
  start(): void {
    if (this.#tables.length > 0) this.#scrub = this.#verifyAll();
  }

  /** Ends the background check. Idempotent. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#wake();
    await this.#scrub;
  }

  #checkBlock(table: UncheckedTable, key: Uint8Array): void {
    try {
      const index = this.#indexes.get(table) ?? {
        blocks: verifyTableFrame(table),
        checked: new Set(),
      };
      this.#keep(table, index);
      const position = findDataBlock(index.blocks, key);
      const block = position === undefined ? undefined : index.blocks[position];
      if (position === undefined || block === undefined || index.checked.has(position)) return;
      verifyDataBlock(table.path, block);
      index.checked.add(position);
    } catch (error) {
      if (!hasSystemCode(error, 'ENOENT')) throw error;
      this.#forget(table);
    }
  }

  #keep(table: UncheckedTable, index: OpenIndex): void {
    this.#indexes.delete(table);
    this.#indexes.set(table, index);
    if (this.#indexes.size <= INDEXES_MAX) return;
    const oldest = this.#indexes.keys().next();
    if (oldest.done !== true) this.#indexes.delete(oldest.value);
  }

  async #verifyAll(): Promise<void> {
    try {
      await this.#pace();
      for (const table of this.#tables.toReversed()) {
        if (this.#isClosing) return;
        await this.#verifyOne(table);
      }
    } catch (error) {
      if (!this.#isClosing) this.#latch.trip('verifying old tables', error);
    }
  }

  async #verifyOne(table: UncheckedTable): Promise<void> {
    try {
      await verifyTable(table, () => this.#pace());
    } catch (error) {
      // LevelDB has rewritten it meanwhile, which needs it read: the records prove themselves.
      if (!hasSystemCode(error, 'ENOENT')) throw error;
    }
    if (!this.#isClosing) this.#forget(table);
  }

  #forget(table: UncheckedTable): void {
    this.#tables = this.#tables.filter((other) => other !== table);
    this.#indexes.delete(table);
  }

  /** Resolves after a pause; at once when the guard is closing, so that the check runs out. */
  #pace(): Promise<void> {
    if (this.#isClosing) throw new Error('closing');
    return new Promise((resolve) => {
      const cancel = this.#schedule(resolve, PACE_MS);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}
