// Stored blocks that planning looks into, and what that costs. During a cycle those opened last stay
// open: many looks into one block read its tables once, whatever comes in between.

import { BlockReader } from '@queen-ts/protocol';
import type { BlockRecord, PayloadReader } from '@queen-ts/protocol';
import type { BlockIndex } from './tables/block-index.ts';

/** Size of what is kept of all blocks; a larger block is kept alone. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** What finding and checking a block costs besides its size. */
const OPENING_COST_BYTES = 1024;

/** What reading a block's header from the log costs, to find the blocks before it. */
const LINK_READ_COST_BYTES = 32 * 1024;

interface KeptBlock {
  readonly key: string;
  readonly record: BlockRecord;
  readonly costBytes: number;
  readonly block: BlockReader;
}

/** Opens blocks of the block index. */
export class OpenBlocks {
  readonly #payload: PayloadReader;
  readonly #index: BlockIndex;
  /** By the place of the block, in the order of use. */
  readonly #kept = new Map<string, KeptBlock>();
  #keptBytes = 0;
  /** The block that was used last. */
  #newest: KeptBlock | undefined = undefined;
  #isKeeping = false;
  #costBytes = 0;
  /** Headers that the index had read when the cycle started. */
  #readsBefore = 0;

  constructor(payload: PayloadReader, index: BlockIndex) {
    this.#payload = payload;
    this.#index = index;
  }

  /** What the cycle has looked at and copied so far, as a number of bytes: the measure of its work. */
  get costBytes(): number {
    return this.#costBytes + (this.#index.reads - this.#readsBefore) * LINK_READ_COST_BYTES;
  }

  /** Adds to the cost. */
  charge(sizeBytes: number): void {
    this.#costBytes += sizeBytes;
  }

  /** Keeps blocks open from now on. */
  startCycle(): void {
    this.#isKeeping = true;
    this.#costBytes = 0;
    this.#readsBefore = this.#index.reads;
  }

  /** Lets go of all blocks: their bytes are only lent. */
  endCycle(): void {
    this.#isKeeping = false;
    this.#kept.clear();
    this.#newest = undefined;
    this.#keptBytes = 0;
  }

  /** Reads a block, or gives the one that is open. Throws CodecError when it is damaged. */
  open(record: BlockRecord): BlockReader {
    const { entryIndex, blockStart, blockSize } = record;
    const newest = this.#newest;
    if (newest?.record.entryIndex === entryIndex && newest.record.blockStart === blockStart) {
      return newest.block;
    }
    const key = `${entryIndex}:${blockStart}`;
    const known = this.#kept.get(key);
    if (known !== undefined) {
      this.#touch(known);
      return known.block;
    }
    const block = new BlockReader(this.#payload, { entryIndex, blockStart, blockSize });
    const costBytes = block.heldSize + OPENING_COST_BYTES;
    this.charge(costBytes);
    if (this.#isKeeping) this.#keep({ key, record, costBytes, block });
    return block;
  }

  #touch(known: KeptBlock): void {
    this.#newest = known;
    this.#kept.delete(known.key);
    this.#kept.set(known.key, known);
  }

  #keep(kept: KeptBlock): void {
    this.#kept.set(kept.key, kept);
    this.#keptBytes += kept.costBytes;
    this.#newest = kept;
    for (const oldest of this.#kept.values()) {
      if (this.#keptBytes <= KEPT_BYTES_MAX || oldest === kept) return;
      this.#kept.delete(oldest.key);
      this.#keptBytes -= oldest.costBytes;
    }
  }
}
