import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { U48_MAX } from './chunked-columns.ts';
import { DedupIndex } from './dedup-index.ts';

function offsets(
  index: DedupIndex,
  partition: number,
  words: ArrayLike<number>,
  at: number,
  sinceUs = 0,
): number[] {
  const count = index.find(partition, words, at, sinceUs);
  return Array.from({ length: count }, (_, i) => index.candidate(i));
}

function randomIds(rng: SeededRng, count: number): Uint32Array {
  return Uint32Array.from({ length: count * 4 }, () => rng.u32());
}

interface Entry {
  readonly partition: number;
  readonly id: number;
  readonly offset: number;
  readonly createdUs: number;
}

const MIXES: readonly { name: string; mix: ((value: number) => number) | undefined }[] = [
  { name: 'the default mix', mix: undefined },
  { name: 'a mix without entropy', mix: (value) => value & 3 },
  { name: 'a mix that is always 0', mix: () => 0 },
  { name: 'a mix with the high bits only', mix: (value) => value & 0xffff0000 },
];

describe.each(MIXES)('with $name', ({ mix }) => {
  test.each([1, 2])('nominates every remembered entry, seed %d', (seed) => {
    const rng = new SeededRng(seed);
    const index = new DedupIndex({ sliceUs: 1000, ...(mix === undefined ? {} : { mix }) });
    const ids = randomIds(rng, 300);
    let entries: Entry[] = [];
    let nowUs = 10_000_000;
    let forgottenUs = 0;
    for (let i = 0; i < 3000; i += 1) {
      nowUs += randomBelow(rng, 20);
      const entry: Entry = {
        partition: 1 + randomBelow(rng, 3),
        id: randomBelow(rng, 300),
        offset: i * 2 ** 30,
        createdUs: nowUs,
      };
      index.insert(entry.partition, ids, entry.id * 4, entry.offset, nowUs);
      entries.push(entry);
      if (randomBelow(rng, 300) === 0) {
        forgottenUs = nowUs - 8000;
        index.forgetBefore(forgottenUs);
        // A slice lasts 1,000 us, so that much more is remembered at most.
        entries = entries.filter((other) => other.createdUs >= forgottenUs - 1000);
        expect(index.count).toBeLessThanOrEqual(entries.length);
      }
      if (i % 7 !== 0) continue;
      const probe = entries[randomBelow(rng, entries.length)] as Entry;
      const sinceUs = Math.max(forgottenUs, nowUs - randomBelow(rng, 9000));
      const found = offsets(index, probe.partition, ids, probe.id * 4, sinceUs);
      const wanted = entries.filter(
        (other) =>
          other.partition === probe.partition &&
          other.id === probe.id &&
          other.createdUs >= sinceUs,
      );
      for (const other of wanted) expect(found).toContain(other.offset);
      expect(found).toEqual(found.toSorted((left, right) => left - right));
    }
  });
});

test('with real hashes only the id itself is nominated', () => {
  const rng = new SeededRng(7);
  const index = new DedupIndex({ sliceUs: 1000 });
  const ids = randomIds(rng, 20_001);
  for (let id = 0; id < 20_000; id += 1) index.insert(1 + (id % 50), ids, id * 4, id, 1);
  for (let id = 0; id < 20_000; id += 1) {
    expect(offsets(index, 1 + (id % 50), ids, id * 4)).toEqual([id]);
    expect(offsets(index, 51, ids, id * 4)).toEqual([]);
  }
  expect(offsets(index, 1, ids, 80_000)).toEqual([]);
  expect(index.count).toBe(20_000);
});

test('one id in a hundred thousand partitions is found in each', () => {
  const index = new DedupIndex({ sliceUs: 1000 });
  const id = [1, 2, 3, 4];
  for (let partition = 1; partition <= 100_000; partition += 1) {
    index.insert(partition, id, 0, partition * 3, 5);
  }
  let wrong = 0;
  for (let partition = 1; partition <= 100_000; partition += 1) {
    const count = index.find(partition, id, 0, 5);
    if (count !== 1 || index.candidate(0) !== partition * 3) wrong += 1;
  }
  expect(wrong).toBe(0);
});

test('candidates come lowest offset first and those of old slices are left out', () => {
  const index = new DedupIndex({ sliceUs: 100 });
  const id = Uint32Array.of(0, 9, 8, 7, 6);
  index.insert(1, id, 1, 70, 1000);
  index.insert(1, id, 1, 50, 1200);
  index.insert(1, id, 1, 60, 1400);
  expect(offsets(index, 1, id, 1)).toEqual([50, 60, 70]);
  expect(offsets(index, 1, id, 1, 1001)).toEqual([50, 60]);
  expect(offsets(index, 1, id, 1, 1400)).toEqual([60]);
  expect(offsets(index, 1, id, 1, 1401)).toEqual([]);
  expect(() => index.candidate(0)).toThrow('candidate 0 of 0');
});

test('slices end by time and by count, and are forgotten whole', () => {
  const rng = new SeededRng(1);
  const index = new DedupIndex({ sliceUs: 100, sliceEntriesMax: 10 });
  const ids = randomIds(rng, 40);
  for (let id = 0; id < 25; id += 1) index.insert(1, ids, id * 4, id, 1000 + id);
  expect(index.sliceCount).toBe(3);
  index.insert(1, ids, 100, 25, 1099);
  expect(index.sliceCount).toBe(3);
  index.insert(1, ids, 104, 26, 1120);
  expect(index.sliceCount).toBe(4);
  index.forgetBefore(1009);
  expect(index.sliceCount).toBe(4);
  index.forgetBefore(1010);
  expect(index.sliceCount).toBe(3);
  expect(index.count).toBe(17);
  expect(offsets(index, 1, ids, 9 * 4)).toEqual([]);
  expect(offsets(index, 1, ids, 10 * 4)).toEqual([10]);
  index.forgetBefore(Infinity);
  expect([index.count, index.sliceCount]).toEqual([0, 0]);
  index.insert(1, ids, 0, 5, 2000);
  expect(offsets(index, 1, ids, 0)).toEqual([5]);
});

test('a created time that goes back is remembered with the current slice', () => {
  const index = new DedupIndex({ sliceUs: 100 });
  index.insert(1, [1, 1, 1, 1], 0, 1, 1000);
  index.insert(1, [2, 2, 2, 2], 0, 2, 900);
  index.forgetBefore(950);
  expect(offsets(index, 1, [2, 2, 2, 2], 0)).toEqual([2]);
});

test('offsets reach 2^48 - 1 and no further', () => {
  const index = new DedupIndex({ sliceUs: 100 });
  index.insert(1, [1, 2, 3, 4], 0, U48_MAX, 0);
  index.insert(0xffffffff, [0xffffffff, 0xffffffff, 3, 4], 0, 0, 0);
  expect(offsets(index, 1, [1, 2, 3, 4], 0)).toEqual([U48_MAX]);
  expect(offsets(index, 0xffffffff, [0xffffffff, 0xffffffff, 3, 4], 0)).toEqual([0]);
  for (const offset of [-1, 2 ** 48, Number.NaN]) {
    expect(() => index.insert(1, [1, 2, 3, 4], 0, offset, 0)).toThrow('in dedup');
  }
});

test('when slice numbers run out the current slice goes on and nothing is forgotten', () => {
  const rng = new SeededRng(3);
  const index = new DedupIndex({ sliceUs: 1 });
  const ids = randomIds(rng, 1000);
  for (let id = 0; id < 1000; id += 1) index.insert(1, ids, id * 4, id, id * 10);
  expect(index.sliceCount).toBe(255);
  expect(index.count).toBe(1000);
  for (let id = 0; id < 1000; id += 1) expect(offsets(index, 1, ids, id * 4)).toEqual([id]);
  index.forgetBefore(100);
  expect(index.count).toBe(990);
  index.forgetBefore(1e9);
  expect(index.count).toBe(0);
});

test('costs at most 18.5 bytes an id while it grows, and shrinks when ids are forgotten', () => {
  const rng = new SeededRng(5);
  const index = new DedupIndex({ sliceUs: 100_000 });
  const words = new Uint32Array(4);
  let most = 0;
  for (let id = 1; id <= 400_000; id += 1) {
    words[0] = rng.u32();
    words[1] = rng.u32();
    index.insert(1, words, 0, id, id);
    if (id > 1000) most = Math.max(most, index.bytes / id);
  }
  expect(most).toBeLessThan(18.5);
  expect(index.bytes / 400_000).toBeLessThan(18);
  for (let i = 0; i < 40; i += 1) index.forgetBefore(399_999);
  expect(index.count).toBe(100_001 - 1);
  expect(index.bytes).toBeLessThan(100_000 * 18);
});

test('in a steady state the forgotten part stays small without calls to forgetBefore', () => {
  const rng = new SeededRng(6);
  const index = new DedupIndex({ sliceUs: 12_500 });
  const words = new Uint32Array(4);
  let largest = 0;
  for (let id = 1; id <= 500_000; id += 1) {
    words[0] = rng.u32();
    words[1] = rng.u32();
    index.insert(1, words, 0, id, id);
    if (id % 12_500 === 0) index.forgetBefore(id - 100_000);
    if (id > 200_000) largest = Math.max(largest, index.bytes);
  }
  expect(index.count).toBeLessThanOrEqual(112_501);
  expect(largest).toBeLessThan(112_500 * 22);
});

test('refuses a slice without extent', () => {
  expect(() => new DedupIndex({ sliceUs: 0 })).toThrow('slice of 0 us');
  expect(() => new DedupIndex({ sliceUs: 1, sliceEntriesMax: 0 })).toThrow('slice of 0 entries');
});
