import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { type CursorHash, CursorIndex } from './cursor-index.ts';

const HASHES: readonly { name: string; hash: CursorHash | undefined; rows: number }[] = [
  { name: 'the default hash', hash: undefined, rows: 9000 },
  { name: 'a hash that is always 0', hash: () => 0, rows: 400 },
  { name: 'a hash of the group only', hash: (_partition, group) => group, rows: 400 },
];

describe.each(HASHES)('with $name', ({ hash, rows }) => {
  test('agrees with a map on random keys', () => {
    const rng = new SeededRng(5);
    const index = new CursorIndex(hash === undefined ? { seed: 3 } : { hash });
    const model = new Map<string, number>();
    const keys = new Map<number, readonly [number, number]>();
    for (let i = 0; i < rows * 4; i += 1) {
      const partition = 1 + randomBelow(rng, rows);
      const group = 1 + randomBelow(rng, 2);
      const row = 1 + randomBelow(rng, rows);
      const wanted = model.get(`${partition}/${group}`) ?? 0;
      if (index.find(partition, group) !== wanted)
        expect.fail(`${partition}/${group} is not ${wanted}`);
      const key = keys.get(row);
      if (key !== undefined) {
        expect([index.partitionOf(row), index.groupOf(row)]).toEqual(key);
        index.remove(row);
        keys.delete(row);
        model.delete(`${key[0]}/${key[1]}`);
      } else if (!model.has(`${partition}/${group}`)) {
        index.insert(partition, group, row);
        keys.set(row, [partition, group]);
        model.set(`${partition}/${group}`, row);
      }
      if (index.has(row) !== keys.has(row)) expect.fail(`row ${row} is half there`);
    }
    expect(index.count).toBe(model.size);
  });
});

test('keys reach the largest row numbers', () => {
  const index = new CursorIndex();
  index.insert(0xffffffff, 0xffffffff, 1);
  index.insert(0xffffffff, 1, 2);
  expect(index.find(0xffffffff, 0xffffffff)).toBe(1);
  expect(index.find(0xffffffff, 1)).toBe(2);
  expect(index.find(1, 0xffffffff)).toBe(0);
});

test('refuses a key with a missing part, a second key of a row, and removing none', () => {
  const index = new CursorIndex();
  expect(() => index.insert(0, 1, 1)).toThrow('cursor 1 of partition 0, group 1');
  expect(() => index.insert(1, 0, 1)).toThrow('cursor 1 of partition 1, group 0');
  index.insert(1, 1, 1);
  expect(() => index.insert(1, 2, 1)).toThrow('cursor 1 has a key already');
  index.remove(1);
  expect(() => index.remove(1)).toThrow('cursor 1 has no key');
  expect(index.partitionOf(1)).toBe(0);
  expect(index.groupOf(999_999)).toBe(0);
});
