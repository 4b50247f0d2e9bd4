// Where the appends of each partition live. The log is its own index (ADR 0010): memory has the newest
// block of each partition, and a bounded number of others; what is further back is found by the links
// in the blocks. Nothing here grows with what is retained.

import { assert, CodecError } from '@queen-ts/base';
import { readBlockLinks, readPageLinks } from '@queen-ts/protocol';
import type { BlockRecord, PageLinks, PayloadReader } from '@queen-ts/protocol';
import { BlockRuns } from './block-runs.ts';
import type { ListedBlocks, RunTarget } from './block-runs.ts';
import { BlockTails } from './block-tails.ts';
import { RecentBlocks } from './recent-blocks.ts';

/** What blocks in memory may take, in bytes; the newest of each partition are not among them. */
export interface BlockCacheSizes {
  /** Newest blocks of all partitions. */
  readonly recentBytes: number;
  /** Blocks that were looked up further back. */
  readonly lookedUpBytes: number;
}

export const BLOCK_CACHE_SIZES_DEFAULT: BlockCacheSizes = {
  recentBytes: 8 * 1024 * 1024,
  lookedUpBytes: 8 * 1024 * 1024,
};

/** Steps back from the newest block that a look-up takes in memory, before it reads pages. */
const RECENT_STEPS_MAX = 64;

/** What the index needs of a partition row. */
export interface PartitionBounds {
  readonly number: { get(row: number): number };
  readonly logStart: { get(row: number): number };
  readonly tail: { get(row: number): number };
  readonly lastAppendUs: { get(row: number): number };
}

/** What is left of a partition after its oldest blocks went. */
export interface LeftBlocks {
  /** First retained offset: where a block begins, or the tail. */
  readonly offset: number;
  readonly blocks: number;
  /** Time of the oldest one; 0 without one. */
  readonly oldestUs: number;
}

/**
 * The retained blocks by partition row. Look-ups may read block headers, which {@link reads} counts, and
 * throw CodecError when a link leads to anything but its block; `append`, `dropTo` and `clear` never read.
 */
export class BlockIndex {
  readonly tails = new BlockTails();
  readonly #payloads: PayloadReader;
  readonly #partitions: PartitionBounds;
  readonly #recent: RecentBlocks;
  readonly #runs: BlockRuns;
  #reads = 0;

  constructor(payloads: PayloadReader, partitions: PartitionBounds, sizes: BlockCacheSizes) {
    this.#payloads = payloads;
    this.#partitions = partitions;
    this.#recent = new RecentBlocks(sizes.recentBytes);
    this.#runs = new BlockRuns(sizes.lookedUpBytes);
  }

  /** Block headers read so far. */
  get reads(): number {
    return this.#reads;
  }

  /** Retained blocks of all partitions. */
  get blockCount(): number {
    return this.tails.blockCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.tails.bytes + this.#recent.bytes + this.#runs.bytes;
  }

  /**
   * Adds the newest block of a partition, whose tail is its end already. The blocks before it are those
   * of the index.
   */
  append(row: number, block: BlockRecord): void {
    const older = this.#newestRecent(row);
    this.tails.append(row, block);
    this.#recent.append(row, block, older);
  }

  /** Forgets blocks; nothing is retained when none is left. The log start need not be moved yet. */
  dropTo(row: number, left: LeftBlocks): void {
    const retained = this.tails.retained(row);
    assert(left.blocks <= retained, () => `${left.blocks} blocks left of ${retained}`);
    if (left.blocks === 0) this.clear(row);
    else this.tails.dropTo(row, left);
  }

  /** Forgets all blocks of a partition; the row may then be used for another one. */
  clear(row: number): void {
    this.tails.clear(row);
    this.#recent.forget(row);
  }

  /** The newest block. Never reads. */
  newest(row: number): BlockRecord | undefined {
    const { tails } = this;
    const count = tails.count(row);
    if (count === 0) return undefined;
    return {
      baseOffset: this.#partitions.tail.get(row) - count,
      count,
      entryIndex: tails.entryIndex(row),
      blockStart: tails.blockStart(row),
      blockSize: tails.blockSize(row),
      createdUs: this.#partitions.lastAppendUs.get(row),
    };
  }

  /** The oldest block. */
  oldest(row: number): BlockRecord | undefined {
    return this.firstAtOrAfter(row, this.#partitions.logStart.get(row));
  }

  /** Block after this one. */
  next(row: number, block: BlockRecord): BlockRecord | undefined {
    return this.firstAtOrAfter(row, block.baseOffset + block.count);
  }

  /** First block that holds a message at or after `offset`. */
  firstAtOrAfter(row: number, offset: number): BlockRecord | undefined {
    const target = { offset: Math.max(offset, this.#partitions.logStart.get(row)), us: -Infinity };
    return this.#find(row, target);
  }

  /** First block created at or after `us`. */
  firstCreatedAtOrAfter(row: number, us: number): BlockRecord | undefined {
    const offset = this.#partitions.logStart.get(row);
    return this.#find(row, { offset, us: us <= this.tails.oldestUs(row) ? -Infinity : us });
  }

  /**
   * Where the blocks created at or after `us` begin, and when the first of them was created. Reads less
   * than {@link firstCreatedAtOrAfter} where that is the oldest one.
   */
  firstSince(
    row: number,
    us: number,
  ): { readonly baseOffset: number; readonly createdUs: number } | undefined {
    const oldestUs = this.tails.oldestUs(row);
    if (oldestUs === 0 || us > oldestUs) return this.firstCreatedAtOrAfter(row, us);
    return { baseOffset: this.#partitions.logStart.get(row), createdUs: oldestUs };
  }

  /** Time of the block that holds an offset, or of the first one after; 0 when there is none. */
  createdUs(row: number, offset: number): number {
    if (offset <= this.#partitions.logStart.get(row)) return this.tails.oldestUs(row);
    return this.firstAtOrAfter(row, offset)?.createdUs ?? 0;
  }

  /** Blocks at the end of a partition that are in memory: the newest one, and up to `max - 1` before. */
  newestBlocks(row: number, max: number): BlockRecord[] {
    const newest = this.newest(row);
    if (newest === undefined) return [];
    const logStart = this.#partitions.logStart.get(row);
    const blocks = [newest];
    let { baseOffset } = newest;
    let sequence = this.#newestRecent(row);
    while (blocks.length < max && baseOffset > logStart && sequence !== 0) {
      sequence = this.#recent.older(sequence);
      if (sequence === 0) break;
      const block = this.#recent.block(sequence, baseOffset);
      blocks.push(block);
      baseOffset = block.baseOffset;
    }
    return blocks;
  }

  /** Whether a block of a partition is still retained. */
  isRetained(row: number, block: BlockRecord): boolean {
    return block.baseOffset >= this.#partitions.logStart.get(row);
  }

  /** What a stored page links to. */
  readPage(row: number, page: BlockRecord): PageLinks {
    this.#reads += 1;
    const links = readPageLinks(this.#payloads, this.#partitions.number.get(row), page);
    if (links === undefined) throw unexpected(row, page, 'is no page');
    return links;
  }

  #newestRecent(row: number): number {
    const { tails } = this;
    if (tails.count(row) === 0) return 0;
    const place = { entryIndex: tails.entryIndex(row), blockStart: tails.blockStart(row) };
    return this.#recent.newest(row, place);
  }

  #find(row: number, target: RunTarget): BlockRecord | undefined {
    const newest = this.newest(row);
    if (newest === undefined || isBefore(newest, target)) return undefined;
    if (newest.baseOffset <= target.offset) return newest;
    const partition = this.#partitions.number.get(row);
    return (
      this.#runs.find(partition, target) ??
      this.#findRecent(row, newest, target) ??
      this.#findStored(row, newest, target)
    );
  }

  /** Looks among the newest blocks in memory; `newest` is not before the target. */
  #findRecent(row: number, newest: BlockRecord, target: RunTarget): BlockRecord | undefined {
    const walked: BlockRecord[] = [];
    let found = newest;
    let sequence = this.#newestRecent(row);
    while (found.baseOffset > target.offset) {
      if (sequence !== 0) sequence = this.#recent.older(sequence);
      if (sequence === 0 || walked.length === RECENT_STEPS_MAX) return undefined;
      const older = this.#recent.block(sequence, found.baseOffset);
      if (isBefore(older, target)) break;
      walked.push(older);
      found = older;
    }
    // Who looks here reads on from here.
    if (walked.length > 1) {
      this.#runs.add(this.#partitions.number.get(row), walked.toReversed(), undefined);
    }
    return found;
  }

  /** Looks in the log: along the pages, then back from the last one that is not before the target. */
  #findStored(row: number, newest: BlockRecord, target: RunTarget): BlockRecord {
    const page = this.tails.page(row);
    const from =
      page === undefined || isBefore(page, target) ? newest : this.#findPage(row, page, target);
    return this.#walkBack(row, from, target);
  }

  /** The oldest page that is not before the target; `newest` is one. */
  #findPage(row: number, newest: BlockRecord, target: RunTarget): BlockRecord {
    let page = newest;
    for (;;) {
      // Nothing before the page can be wanted.
      if (page.baseOffset <= target.offset) return page;
      const { page: links } = this.#linksOf(row, page);
      if (links === undefined) throw unexpected(row, page, 'is no page');
      const { jump, older } = links;
      const isJump = jump !== undefined && this.#mayFollow(row, jump, target);
      const next = isJump ? jump : older;
      if (next === undefined || !this.#mayFollow(row, next, target)) return page;
      page = next;
    }
  }

  #mayFollow(row: number, block: BlockRecord, target: RunTarget): boolean {
    return this.isRetained(row, block) && !isBefore(block, target);
  }

  /** Walks back from a block that is not before the target to the first that is not. */
  #walkBack(row: number, from: BlockRecord, target: RunTarget): BlockRecord {
    const partition = this.#partitions.number.get(row);
    let block = from;
    while (block.baseOffset > target.offset) {
      const { oldest, newest } = this.#linksOf(row, block);
      if (isBefore(newest, target)) return block;
      const found = this.#runs.find(partition, target);
      if (found !== undefined) return found;
      block = oldest;
    }
    return block;
  }

  /** What a block lists; it is a run from then on. */
  #linksOf(row: number, block: BlockRecord): ListedBlocks {
    const partition = this.#partitions.number.get(row);
    const known = this.#runs.read(partition, block.baseOffset);
    if (known !== undefined) return known;
    this.#reads += 1;
    const { records, page } = readBlockLinks(this.#payloads, partition, block);
    const newest = records[0];
    if (newest === undefined) throw unexpected(row, block, 'has no link to the block before it');
    this.#runs.add(partition, records.toReversed(), { page });
    return { oldest: records.at(-1) ?? newest, newest, page };
  }
}

function isBefore({ baseOffset, count, createdUs }: BlockRecord, target: RunTarget): boolean {
  return baseOffset + count <= target.offset || createdUs < target.us;
}

function unexpected(
  row: number,
  { baseOffset, entryIndex }: BlockRecord,
  what: string,
): CodecError {
  return new CodecError(`the block at ${baseOffset} of row ${row}, entry ${entryIndex}, ${what}`);
}
