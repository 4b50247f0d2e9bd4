import { describe, expect, test } from 'vitest';
import { BlockTails, isPage } from './block-tails.ts';

function block(i: number) {
  const place = { entryIndex: i + 1, blockStart: 0, blockSize: 100, createdUs: 1000 + i };
  return { baseOffset: i, count: 1, ...place };
}

describe('block tails', () => {
  test('number the blocks from 0 since a partition was empty', () => {
    const tails = new BlockTails();
    for (let i = 0; i < 40; i += 1) {
      expect(tails.nextNumber(3)).toBe(i);
      tails.append(3, block(i));
    }
    expect(tails.page(3)).toEqual(block(32));
    tails.clear(3);
    expect(tails.nextNumber(3)).toBe(0);
    expect(tails.blockCount).toBe(0);
  });

  test('forget the newest page when the log start passes it', () => {
    const tails = new BlockTails();
    for (let i = 0; i < 40; i += 1) tails.append(3, block(i));
    tails.dropTo(3, { offset: 32, blocks: 8, oldestUs: 1032 });
    expect(tails.page(3)).toEqual(block(32));
    tails.dropTo(3, { offset: 33, blocks: 7, oldestUs: 1033 });
    expect(tails.page(3)).toBeUndefined();
    expect([tails.retained(3), tails.oldestUs(3), tails.blockCount]).toEqual([7, 1033, 7]);
  });

  test('never number a block with blocks before it 0', () => {
    const tails = new BlockTails();
    const { entryIndex, blockStart, blockSize, count } = block(5);
    const newest = { entryIndex, blockStart, blockSize, count };
    const number = 2 ** 32 - 1;
    tails.restore(1, { newest, number, retained: 9, oldestUs: 1, page: undefined });
    expect(tails.nextNumber(1)).toBeGreaterThan(0);
    expect(isPage(tails.nextNumber(1))).toBe(true);
    tails.append(1, block(6));
    expect(isPage(tails.nextNumber(1))).toBe(false);
  });
});
