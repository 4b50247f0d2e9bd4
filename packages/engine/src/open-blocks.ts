// Stored blocks that planning looks into, and what that costs. During a cycle those opened last stay
// open: many looks into one block read its tables once, whatever comes in between.

import { BlockReader } from '@queen-ts/protocol';
import type { PayloadReader } from '@queen-ts/protocol';
import type { BlockIndex } from './tables/block-index.ts';

/** Size of what is kept of all blocks; a larger block is kept alone. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** What finding and checking a block costs besides its size. */
const OPENING_COST_BYTES = 1024;

interface KeptBlock {
  readonly entryIndex: number;
  readonly blockStart: number;
  readonly costBytes: number;
  readonly block: BlockReader;
}

/** Opens blocks by the records of the block index. */
export class OpenBlocks {
  readonly #payload: PayloadReader;
  readonly #index: BlockIndex;
  /** By record, in the order of use. */
  readonly #kept = new Map<number, KeptBlock>();
  #keptBytes = 0;
  /** The record that was used last. */
  #newest = 0;
  #isKeeping = false;
  #costBytes = 0;

  constructor(payload: PayloadReader, index: BlockIndex) {
    this.#payload = payload;
    this.#index = index;
  }

  /** What the cycle has looked at and copied so far, as a number of bytes: the measure of its work. */
  get costBytes(): number {
    return this.#costBytes;
  }

  /** Adds to the cost. */
  charge(sizeBytes: number): void {
    this.#costBytes += sizeBytes;
  }

  /** Keeps blocks open from now on. */
  startCycle(): void {
    this.#isKeeping = true;
    this.#costBytes = 0;
  }

  /** Lets go of all blocks: their bytes are only lent. */
  endCycle(): void {
    this.#isKeeping = false;
    this.#kept.clear();
    this.#keptBytes = 0;
  }

  /** The block of a record. Throws CodecError when it is damaged. */
  open(record: number): BlockReader {
    const entryIndex = this.#index.entryIndex(record);
    const blockStart = this.#index.blockStart(record);
    const known = this.#kept.get(record);
    // A record that retention freed may have been given to another block since.
    if (known?.entryIndex === entryIndex && known.blockStart === blockStart) {
      this.#touch(record, known);
      return known.block;
    }
    const blockSize = this.#index.blockSize(record);
    const block = new BlockReader(this.#payload, { entryIndex, blockStart, blockSize });
    const costBytes = block.heldSize + OPENING_COST_BYTES;
    this.charge(costBytes);
    if (this.#isKeeping) this.#keep(record, { entryIndex, blockStart, costBytes, block });
    return block;
  }

  #touch(record: number, known: KeptBlock): void {
    if (record === this.#newest) return;
    this.#newest = record;
    this.#kept.delete(record);
    this.#kept.set(record, known);
  }

  #keep(record: number, kept: KeptBlock): void {
    this.#drop(record);
    this.#kept.set(record, kept);
    this.#keptBytes += kept.costBytes;
    this.#newest = record;
    for (const oldest of this.#kept.keys()) {
      if (this.#keptBytes <= KEPT_BYTES_MAX || oldest === record) return;
      this.#drop(oldest);
    }
  }

  #drop(record: number): void {
    const kept = this.#kept.get(record);
    if (kept === undefined) return;
    this.#kept.delete(record);
    this.#keptBytes -= kept.costBytes;
  }
}
