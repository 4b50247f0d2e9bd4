import { CodecError, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { BLOCK_FORMAT_VERSION, BLOCK_HEADER_SIZE } from './block.ts';
import {
  BLOCK_LINKS_MAX,
  BLOCK_LINKS_SIZE_MAX,
  readBlockLinks,
  readPageLinks,
  writeBlockLinks,
} from './block-links.ts';
import type { BlockLinks, BlockRecord } from './block-links.ts';
import { payloadOf } from './block-reader.ts';

const PARTITION = 4_000_000_000;

/** A block with links, as it lies in a payload, without its messages. */
function stored(block: BlockRecord, links: BlockLinks): Uint8Array {
  const section = new Uint8Array(BLOCK_LINKS_SIZE_MAX);
  const size = writeBlockLinks(section, block, links);
  const bytes = new Uint8Array(block.blockStart + block.blockSize);
  const view = new DataView(bytes.buffer, block.blockStart);
  view.setUint8(0, BLOCK_FORMAT_VERSION);
  view.setUint32(4, block.count, true);
  view.setUint32(8, PARTITION, true);
  view.setUint32(12, size, true);
  view.setFloat64(16, block.baseOffset, true);
  view.setFloat64(24, block.createdUs, true);
  bytes.set(section.subarray(0, size), block.blockStart + BLOCK_HEADER_SIZE);
  return bytes;
}

/** `count` blocks before one at the given place, newest first, with distances up to `scale`. */
function history(rng: SeededRng, count: number, scale: number): BlockRecord[] {
  const records: BlockRecord[] = [];
  let [baseOffset, entryIndex, createdUs] = [2 ** 47, 2 ** 47, 2 ** 51];
  for (let i = 0; i <= count; i += 1) {
    const size = 1 + (rng.u32() % scale);
    records.push({
      baseOffset: baseOffset - size,
      count: size,
      entryIndex,
      blockStart: i === 0 ? 7 : rng.u32() % scale,
      blockSize: i === 0 ? 4096 : BLOCK_HEADER_SIZE + (rng.u32() % scale),
      createdUs,
    });
    baseOffset -= size;
    entryIndex -= rng.u32() % scale;
    createdUs -= 1 + (rng.u32() % scale) * 1000;
  }
  return records;
}

describe('links of a block', () => {
  test.each([0, 1, 5, BLOCK_LINKS_MAX])('are read as they were written: %d listed', (count) => {
    const rng = new SeededRng(count + 1);
    for (const scale of [1, 100, 2 ** 16, 2 ** 31]) {
      const [block, ...records] = history(rng, BLOCK_LINKS_MAX, scale);
      const listed = records.slice(0, count);
      for (const page of [
        undefined,
        { depth: 0, older: undefined, jump: undefined, jumpDepth: 0 },
        { depth: 9, older: records[4], jump: undefined, jumpDepth: 8 },
        { depth: 900, older: records[4], jump: records.at(-1), jumpDepth: 3 },
      ]) {
        const links = { records: listed, page };
        const payloads = payloadOf(stored(block!, links));
        expect(readBlockLinks(payloads, PARTITION, block!)).toEqual(links);
        expect(readPageLinks(payloads, PARTITION, block!)).toEqual(page);
      }
    }
  });

  test('take some ten bytes for each block listed', () => {
    const block = { baseOffset: 900_000, entryIndex: 80_000_000, createdUs: 1_800_000_000_000_000 };
    const records = Array.from({ length: BLOCK_LINKS_MAX }, (_, i) => ({
      baseOffset: 899_999 - i,
      count: 1,
      entryIndex: 79_999_900 - i * 100,
      blockStart: 20_000,
      blockSize: 330,
      createdUs: 1_799_999_999_900_000 - i * 100_000,
    }));
    const target = new Uint8Array(BLOCK_LINKS_SIZE_MAX);
    const size = writeBlockLinks(target, block, { records, page: undefined });
    expect(size).toBe(1 + BLOCK_LINKS_MAX * 10);
  });

  test('are refused cut short, with bytes left over, or with an unknown kind', () => {
    const [block, ...records] = history(new SeededRng(5), 4, 1000);
    const page = { depth: 3, older: records[1], jump: records[3], jumpDepth: 0 };
    const bytes = stored(block!, { records, page });
    const view = new DataView(bytes.buffer, block!.blockStart);
    const size = view.getUint32(12, true);
    const read = () => readBlockLinks(payloadOf(bytes), PARTITION, block!);
    for (const wrong of [size - 1, size + 1, 1, 4096 - 47, 2 ** 32 - 1]) {
      view.setUint32(12, wrong, true);
      expect(read, `${wrong} bytes`).toThrow(CodecError);
    }
    view.setUint32(12, size, true);
    expect(read).not.toThrow();
    for (const kind of [0x80, 33, 63]) {
      view.setUint8(BLOCK_HEADER_SIZE, kind);
      expect(read, `kind ${kind}`).toThrow(CodecError);
    }
  });

  test('lead back only', () => {
    const [block, ...records] = history(new SeededRng(6), 4, 1000);
    const [newest, second, , oldest] = records;
    const page = { depth: 3, older: second, jump: oldest, jumpDepth: 0 };
    const refused: readonly BlockLinks[] = [
      { records, page: { ...page, jump: newest } },
      { records, page: { ...page, older: undefined } },
      { records, page: { ...page, jumpDepth: 3 } },
      { records: [{ ...newest!, createdUs: block!.createdUs }], page: undefined },
      { records: [{ ...newest!, blockSize: BLOCK_HEADER_SIZE - 1 }], page: undefined },
    ];
    for (const links of refused) {
      const payloads = payloadOf(stored(block!, links));
      expect(() => readBlockLinks(payloads, PARTITION, block!)).toThrow('impossible links');
    }
  });
});
