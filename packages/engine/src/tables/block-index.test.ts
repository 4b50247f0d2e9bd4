import { ByteWriter, CodecError, SeededRng } from '@queen-ts/base';
import {
  BLOCK_FORMAT_VERSION,
  BLOCK_HEADER_SIZE,
  BLOCK_LINKS_MAX,
  BLOCK_LINKS_SIZE_MAX,
} from '@queen-ts/protocol';
import type { BlockRecord, PayloadReader } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { writeNextLinks } from '../plan/block-links.ts';
import { BLOCK_CACHE_SIZES_DEFAULT, BlockIndex } from './block-index.ts';
import type { BlockCacheSizes } from './block-index.ts';

/** So little that a few blocks are kept at most. */
const TINY = { recentBytes: 120, lookedUpBytes: 1 };

/** Nothing but the newest blocks is in memory. */
const NOTHING = { recentBytes: 0, lookedUpBytes: 0 };

/** A log of blocks without messages' bytes, its index, and the same in plain arrays. */
class Log implements PayloadReader {
  readonly entries = new Map<number, Uint8Array>();
  readonly model = new Map<number, BlockRecord[]>();
  readonly #logStarts = new Map<number, number>();
  readonly #tails = new Map<number, { offset: number; us: number }>();
  index: BlockIndex;
  nowUs = 1_000_000;
  entryIndex = 1;

  constructor(sizes: BlockCacheSizes) {
    this.index = this.#newIndex(sizes);
  }

  payload({ index, from, toExclusive }: Parameters<PayloadReader['payload']>[0]): Uint8Array {
    const bytes = this.entries.get(index);
    expect(bytes?.length, `entry ${index}`).toBeGreaterThanOrEqual(toExclusive);
    return bytes!.subarray(from, toExclusive);
  }

  blocks(row: number): BlockRecord[] {
    return this.model.get(row) ?? [];
  }

  /** Appends to partitions in one entry. */
  append(rows: readonly number[], count: number): void {
    this.entryIndex += 1;
    const writer = new ByteWriter({ capacity: 96 });
    this.entries.set(this.entryIndex, writer.bytes);
    for (const row of rows) {
      this.nowUs += 10;
      const { offset } = this.#tail(row);
      const block = { baseOffset: offset, createdUs: this.nowUs, entryIndex: this.entryIndex };
      const links = new Uint8Array(BLOCK_LINKS_SIZE_MAX);
      const linksSize = writeNextLinks(links, this.index, row, block);
      const blockStart = writer.length;
      writer.u8(BLOCK_FORMAT_VERSION);
      writer.u8(0);
      writer.u16(0);
      writer.u32(count);
      writer.u32(row + 1000);
      writer.u32(linksSize);
      writer.uint53(offset);
      writer.uint53(this.nowUs);
      writer.reserve(16);
      writer.raw(links.subarray(0, linksSize));
      writer.reserve(count * 8);
      this.entries.set(this.entryIndex, writer.bytes);
      const record = { ...block, count, blockStart, blockSize: writer.length - blockStart };
      this.#tails.set(row, { offset: offset + count, us: this.nowUs });
      this.index.append(row, record);
      const blocks = this.model.get(row);
      if (blocks === undefined) this.model.set(row, [record]);
      else blocks.push(record);
    }
  }

  /** Drops the oldest blocks; their entries stay readable only while others need them. */
  drop(row: number, count: number): void {
    const left = this.blocks(row).slice(count);
    const offset = left[0]?.baseOffset ?? this.#tail(row).offset;
    this.index.dropTo(row, { offset, blocks: left.length, oldestUs: left[0]?.createdUs ?? 0 });
    this.#logStarts.set(row, offset);
    this.model.set(row, left);
  }

  /** Removes what no retained block needs: reading it is an error from then on. */
  reclaim(): void {
    const live = new Set<number>();
    for (const blocks of this.model.values()) {
      for (const { entryIndex } of blocks) live.add(entryIndex);
    }
    for (const index of this.entries.keys()) if (!live.has(index)) this.entries.delete(index);
  }

  /** Goes on with an index that has what a checkpoint holds, and no more. */
  restore(sizes: BlockCacheSizes): void {
    const frozen = this.index.tails.freeze();
    const restored = this.#newIndex(sizes);
    for (const row of this.model.keys()) {
      const tail = frozen.get(row);
      if (tail !== undefined) restored.tails.restore(row, tail);
    }
    this.index.tails.thaw();
    this.index = restored;
  }

  /** Compares every look-up of a partition with the arrays. */
  check(rng: SeededRng, row: number): void {
    const { index } = this;
    const blocks = this.blocks(row);
    expect(index.tails.retained(row)).toBe(blocks.length);
    expect(index.tails.oldestUs(row)).toBe(blocks[0]?.createdUs ?? 0);
    expect(index.newest(row)).toEqual(blocks.at(-1));
    expect(index.oldest(row)).toEqual(blocks[0]);
    const tail = this.#tail(row).offset;
    for (let i = 0; i < 6; i += 1) {
      const offset = rng.u32() % (tail + 2);
      const found = blocks.find((block) => block.baseOffset + block.count > offset);
      expect(index.firstAtOrAfter(row, offset), `offset ${offset}`).toEqual(found);
      expect(index.createdUs(row, offset)).toBe(found?.createdUs ?? 0);
      if (found !== undefined) {
        expect(index.next(row, found)).toEqual(blocks[blocks.indexOf(found) + 1]);
      }
      const us = 1_000_000 + (rng.u32() % (this.nowUs - 999_990));
      const created = blocks.find(({ createdUs }) => createdUs >= us);
      expect(index.firstCreatedAtOrAfter(row, us), `${us} us`).toEqual(created);
      expect(index.firstSince(row, us)?.baseOffset).toBe(created?.baseOffset);
      expect(index.firstSince(row, us)?.createdUs).toBe(created?.createdUs);
    }
  }

  #tail(row: number): { offset: number; us: number } {
    return this.#tails.get(row) ?? { offset: 0, us: 0 };
  }

  #newIndex(sizes: BlockCacheSizes): BlockIndex {
    const bounds = {
      number: { get: (row: number) => row + 1000 },
      logStart: { get: (row: number) => this.#logStarts.get(row) ?? 0 },
      tail: { get: (row: number) => this.#tail(row).offset },
      lastAppendUs: { get: (row: number) => this.#tail(row).us },
    };
    return new BlockIndex(this, bounds, sizes);
  }
}

function filled(sizes: BlockCacheSizes, blocks: number): Log {
  const log = new Log(sizes);
  for (let i = 0; i < blocks; i += 1) log.append([1], 1);
  return log;
}

/** Reads of a call. */
function readsOf(log: Log, call: () => void): number {
  const before = log.index.reads;
  call();
  return log.index.reads - before;
}

describe.each([
  ['nothing', NOTHING],
  ['a few blocks', TINY],
  ['some hundred blocks', { recentBytes: 8000, lookedUpBytes: 4000 }],
  ['all blocks', BLOCK_CACHE_SIZES_DEFAULT],
])('with %s in memory', (name, sizes) => {
  test('finds what plain arrays find, through appends, drops, reclaiming and restores', () => {
    for (let seed = 1; seed <= 12; seed += 1) {
      const rng = new SeededRng(seed * 100 + name.length);
      const log = new Log(sizes);
      const rows = [1, 2, 3, 900];
      for (let step = 0; step < 500; step += 1) {
        const row = rows[rng.u32() % rows.length]!;
        const dice = rng.u32() % 100;
        if (dice < 80) {
          const others = rng.u32() % 4 === 0 ? rows : [row, row, row];
          log.append(others, 1 + (rng.u32() % 5));
        } else if (dice < 90) {
          const { length } = log.blocks(row);
          log.drop(row, rng.u32() % 30 === 0 ? length : rng.u32() % Math.min(length + 1, 40));
          log.reclaim();
        } else if (dice < 92) log.restore(sizes);
        else log.check(rng, row);
      }
      for (const row of rows) log.check(rng, row);
    }
  }, 60_000);

  test('a partition row that is used again has none of the blocks before', () => {
    const log = filled(sizes, 100);
    log.drop(1, 100);
    expect(log.index.blockCount).toBe(0);
    expect(log.index.newest(1)).toBeUndefined();
    expect(log.index.firstAtOrAfter(1, 0)).toBeUndefined();
    log.entries.clear();
    for (let i = 0; i < 70; i += 1) log.append([1], 1);
    log.check(new SeededRng(1), 1);
  });
});

test('a look-up in a long history reads O(log n) headers', () => {
  const log = filled(BLOCK_CACHE_SIZES_DEFAULT, 20_000);
  const rng = new SeededRng(3);
  let most = 0;
  for (let i = 0; i < 300; i += 1) {
    log.restore(NOTHING);
    const offset = rng.u32() % 20_000;
    const reads = readsOf(log, () => log.index.firstAtOrAfter(1, offset));
    most = Math.max(most, reads);
  }
  // 625 pages: 2 log2 of them.
  expect(most).toBeLessThanOrEqual(20);
  log.restore(NOTHING);
  expect(readsOf(log, () => log.index.oldest(1))).toBeLessThanOrEqual(20);
  expect(readsOf(log, () => log.index.newest(1))).toBe(0);
});

test('the blocks since the last page are found in few reads', () => {
  for (let blocks = 1; blocks <= 3 * BLOCK_LINKS_MAX; blocks += 1) {
    const log = filled(BLOCK_CACHE_SIZES_DEFAULT, blocks);
    for (let offset = 0; offset < blocks; offset += 1) {
      log.restore(NOTHING);
      const reads = readsOf(log, () => log.index.firstAtOrAfter(1, offset));
      expect(reads, `${offset} of ${blocks}`).toBeLessThanOrEqual(5);
    }
  }
});

test('reading a history from its start costs a read for every 32 blocks', () => {
  const log = filled(BLOCK_CACHE_SIZES_DEFAULT, 10_000);
  log.restore({ recentBytes: 0, lookedUpBytes: 256 * 1024 });
  const reads = readsOf(log, () => {
    let block = log.index.oldest(1);
    let count = 0;
    for (; block !== undefined; block = log.index.next(1, block)) count += 1;
    expect(count).toBe(10_000);
  });
  expect(reads).toBeLessThan(10_000 / 16);
});

test('a partition whose blocks are long apart is still read with one read a block at most', () => {
  const log = new Log(TINY);
  // The others push its blocks out of memory between its appends.
  for (let i = 0; i < 400; i += 1) log.append([1, 2, 3, 4, 5, 6, 7], 1);
  log.restore({ recentBytes: 0, lookedUpBytes: 256 * 1024 });
  const reads = readsOf(log, () => {
    let block = log.index.oldest(1);
    for (; block !== undefined; block = log.index.next(1, block));
  });
  expect(reads).toBeLessThanOrEqual(420);
});

test('appending reads for pages only, and dropping never', () => {
  const log = new Log(NOTHING);
  const reads = readsOf(log, () => {
    for (let i = 0; i < 3200; i += 1) log.append([1], 1);
  });
  expect(reads).toBeLessThanOrEqual(2 * 100);
  expect(readsOf(log, () => log.drop(1, 3000))).toBe(0);
  expect(readsOf(log, () => log.index.clear(1))).toBe(0);
});

test('memory does not grow with what is retained', () => {
  const sizes = { recentBytes: 64 * 1024, lookedUpBytes: 64 * 1024 };
  const log = filled(sizes, 5000);
  const { bytes } = log.index;
  for (let i = 0; i < 10_000; i += 1) log.append([1], 1);
  for (let offset = 0; offset < 15_000; offset += 100) log.index.firstAtOrAfter(1, offset);
  expect(log.index.bytes).toBeLessThanOrEqual(bytes + 64 * 1024);
  expect(log.index.blockCount).toBe(15_000);
});

describe('a link that leads to anything but its block is corruption', () => {
  const FIELDS = { version: 0, count: 4, partition: 8, links: 12, base: 16, created: 24 };

  test.each(Object.entries(FIELDS))('%s', (_, at) => {
    const log = filled(BLOCK_CACHE_SIZES_DEFAULT, 10);
    const newest = log.index.newest(1)!;
    const bytes = log.entries.get(newest.entryIndex)!;
    log.restore(NOTHING);
    bytes[newest.blockStart + at]! ^= 1;
    expect(() => log.index.oldest(1)).toThrow(CodecError);
  });

  test('no links where blocks are retained before', () => {
    const log = filled(BLOCK_CACHE_SIZES_DEFAULT, 10);
    const newest = log.index.newest(1)!;
    log.restore(NOTHING);
    const bytes = log.entries.get(newest.entryIndex)!;
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(newest.blockStart + 12, 0, true);
    expect(() => log.index.oldest(1)).toThrow(/no link/u);
  });

  test('links that lead forward', () => {
    const log = filled(BLOCK_CACHE_SIZES_DEFAULT, 10);
    const newest = log.index.newest(1)!;
    log.restore(NOTHING);
    // The count of the block before: its base offset would be below zero.
    log.entries.get(newest.entryIndex)![newest.blockStart + BLOCK_HEADER_SIZE + 4] = 60;
    expect(() => log.index.oldest(1)).toThrow(CodecError);
  });
});
