import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { type LeaseHash, LeaseIndex } from './lease-index.ts';

function rowsOf(index: LeaseIndex, words: ArrayLike<number>, at = 0): number[] {
  const rows: number[] = [];
  for (let row = index.first(words, at); row !== 0; row = index.next(row)) rows.push(row);
  return rows;
}

/** Ids that differ in one word only, at four places of a column. */
function leaseColumn(count: number): Uint32Array {
  const column = new Uint32Array(count * 4);
  for (let i = 0; i < count; i += 1) column[i * 4 + (i % 4)] = i + 1;
  return column;
}

const HASHES: readonly { name: string; hash: LeaseHash | undefined }[] = [
  { name: 'the default hash', hash: undefined },
  { name: 'a hash that is always 0', hash: () => 0 },
  { name: 'a hash of the first word', hash: (words, at) => words[at] as number },
];

describe.each(HASHES)('with $name', ({ hash }) => {
  test('agrees with arrays on random adds and removes', () => {
    const rng = new SeededRng(6);
    const index = new LeaseIndex(hash === undefined ? { seed: 1 } : { hash });
    const column = leaseColumn(60);
    const lists = Array.from({ length: 60 }, (): number[] => []);
    const leaseOf = new Map<number, number>();
    for (let i = 0; i < 6000; i += 1) {
      const row = 1 + randomBelow(rng, 200);
      const held = leaseOf.get(row);
      expect(index.has(row)).toBe(held !== undefined);
      if (held === undefined) {
        const lease = randomBelow(rng, 60);
        index.add(column, row, lease * 4);
        lists[lease]?.push(row);
        leaseOf.set(row, lease);
        expect(index.holds(row, column, lease * 4)).toBe(true);
        expect(index.holds(row, column, ((lease + 1) % 60) * 4)).toBe(false);
      } else {
        expect(index.remove(row)).toBe(true);
        lists[held] = (lists[held] as number[]).filter((other) => other !== row);
        leaseOf.delete(row);
      }
      const lease = randomBelow(rng, 60);
      expect(rowsOf(index, column, lease * 4)).toEqual(lists[lease]);
    }
    expect(index.count).toBe(leaseOf.size);
    expect(index.leaseCount).toBe(lists.filter((list) => list.length > 0).length);
  });
});

test('an id is the same in a tuple and in a column', () => {
  const index = new LeaseIndex();
  index.add([1, 0xffffffff, 0x80000000, 0], 5);
  const column = Uint32Array.of(9, 1, 0xffffffff, 0x80000000, 0);
  expect(rowsOf(index, column, 1)).toEqual([5]);
  const copy = new Uint32Array(6);
  index.copyLease(5, copy, 1);
  expect([...copy]).toEqual([0, 1, 0xffffffff, 0x80000000, 0, 0]);
});

test('the head, the middle and the tail of a list can each leave', () => {
  for (const leaving of [1, 2, 3]) {
    const index = new LeaseIndex();
    for (const row of [1, 2, 3]) index.add([1, 2, 3, 4], row);
    index.remove(leaving);
    expect(rowsOf(index, [1, 2, 3, 4])).toEqual([1, 2, 3].filter((row) => row !== leaving));
    index.add([1, 2, 3, 4], leaving);
    expect(rowsOf(index, [1, 2, 3, 4]).at(-1)).toBe(leaving);
  }
});

test('a cursor holds one lease, row 0 none, and absence is no error', () => {
  const index = new LeaseIndex();
  index.add([1, 2, 3, 4], 1);
  expect(() => index.add([5, 6, 7, 8], 1)).toThrow('cursor 1 cannot take a lease');
  expect(() => index.add([5, 6, 7, 8], 0)).toThrow('cursor 0 cannot take a lease');
  expect(() => index.next(2)).toThrow('cursor 2 holds no lease');
  expect(() => index.copyLease(70_000, new Uint32Array(4), 0)).toThrow('cursor 70000');
  expect(index.remove(2)).toBe(false);
  expect(index.remove(70_000)).toBe(false);
  expect(index.first([5, 6, 7, 8])).toBe(0);
  expect(index.remove(1)).toBe(true);
  expect(index.first([1, 2, 3, 4])).toBe(0);
  expect(index.leaseCount).toBe(0);
});

test('entries are pooled: memory follows the leases held at once', () => {
  const index = new LeaseIndex();
  const words = new Uint32Array(4);
  for (let i = 0; i < 50_000; i += 1) {
    words[0] = i;
    index.add(words, 1 + (i % 4000));
    if (i >= 99) index.remove(1 + ((i - 99) % 4000));
  }
  // One chunk of pooled columns (33 bytes), one of links by cursor row, and two small tables.
  expect(index.bytes).toBeLessThan(4096 * (33 + 4) + 64 * 1024);
});
