import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { BlockIndex, type BlockRecord } from './block-index.ts';
import { U48_MAX } from './chunked-columns.ts';

function record(baseOffset: number, count = 1, createdUs = 1000): BlockRecord {
  return { baseOffset, count, entryIndex: 7, blockStart: 0, blockSize: 100, createdUs };
}

function read(index: BlockIndex, row: number): BlockRecord {
  return {
    baseOffset: index.baseOffset(row),
    count: index.count(row),
    entryIndex: index.entryIndex(row),
    blockStart: index.blockStart(row),
    blockSize: index.blockSize(row),
    createdUs: index.createdUs(row),
  };
}

function list(index: BlockIndex, partition: number, from = 0): number[] {
  const bases: number[] = [];
  index.forEach(partition, from, (row) => {
    bases.push(index.baseOffset(row));
    return true;
  });
  return bases;
}

test('keeps every field at its limits', () => {
  const index = new BlockIndex();
  const largest: BlockRecord = {
    baseOffset: U48_MAX,
    count: 0xffffffff,
    entryIndex: U48_MAX,
    blockStart: 0xffffffff,
    blockSize: 0xffffffff,
    createdUs: Number.MAX_SAFE_INTEGER,
  };
  expect(read(index, index.append(1, largest))).toEqual(largest);
  const smallest = { ...record(0), entryIndex: 0, blockSize: 0, createdUs: 0 };
  expect(read(index, index.append(2, smallest))).toEqual(smallest);
});

test('a partition without records answers 0 everywhere', () => {
  const index = new BlockIndex();
  for (const partition of [0, 1, 100_000]) {
    expect(index.head(partition)).toBe(0);
    expect(index.tail(partition)).toBe(0);
    expect(index.firstAtOrAfter(partition, 0)).toBe(0);
    expect(index.firstCreatedAtOrAfter(partition, 0)).toBe(0);
    expect(index.dropBefore(partition, Infinity)).toBe(0);
    expect(list(index, partition)).toEqual([]);
  }
});

test('finds the record that holds an offset, or the next one in a gap', () => {
  const index = new BlockIndex();
  const first = index.append(1, record(10, 5));
  const second = index.append(1, record(15, 1));
  const third = index.append(1, record(20, 10));
  const wanted: readonly (readonly [number, number])[] = [
    [0, first],
    [10, first],
    [14, first],
    [15, second],
    [16, third],
    [20, third],
    [29, third],
    [30, 0],
  ];
  for (const [offset, row] of wanted) expect(index.firstAtOrAfter(1, offset)).toBe(row);
  expect(index.next(1, first)).toBe(second);
  expect(index.next(1, third)).toBe(0);
  expect(index.head(1)).toBe(first);
  expect(index.tail(1)).toBe(third);
});

test('refuses an append that goes back or is empty, and changes nothing', () => {
  const index = new BlockIndex();
  index.append(1, record(10, 5, 2000));
  expect(() => index.append(1, record(14, 1, 2000))).toThrow('append at 14 before 15');
  expect(() => index.append(1, record(15, 1, 1999))).toThrow('append at 1999 us before 2000 us');
  expect(() => index.append(1, record(15, 0, 2000))).toThrow('append of 0 messages at 15');
  expect(list(index, 1)).toEqual([10]);
  expect(index.recordCount).toBe(1);
});

test('drops whole records before an offset, at most as many as allowed', () => {
  const index = new BlockIndex();
  for (let base = 0; base < 100; base += 10) index.append(1, record(base, 10));
  expect(index.dropBefore(1, 9)).toBe(0);
  expect(index.dropBefore(1, 25)).toBe(2);
  expect(list(index, 1)[0]).toBe(20);
  expect(index.dropBefore(1, 80, 3)).toBe(3);
  expect(list(index, 1)).toEqual([50, 60, 70, 80, 90]);
  expect(index.dropBefore(1, Infinity)).toBe(5);
  expect(index.head(1)).toBe(0);
  expect(index.recordCount).toBe(0);
  index.append(1, record(100, 1));
  expect(list(index, 1)).toEqual([100]);
});

test('forEach stops when it is told to', () => {
  const index = new BlockIndex();
  for (let base = 0; base < 100; base += 1) index.append(1, record(base));
  const seen: number[] = [];
  index.forEach(1, 40, (row) => {
    seen.push(index.baseOffset(row));
    return seen.length < 3;
  });
  expect(seen).toEqual([40, 41, 42]);
});

describe.each([
  { name: 'few records', appendPercent: 50, partitions: 200 },
  { name: 'many records', appendPercent: 80, partitions: 3 },
  { name: 'one long list with drops at its head', appendPercent: 97, partitions: 1 },
])('partitions with $name', ({ appendPercent, partitions }) => {
  test.each([1, 2, 3])('agree with arrays, seed %d', (seed) => {
    const rng = new SeededRng(seed);
    const index = new BlockIndex();
    const models = Array.from({ length: partitions + 1 }, (): BlockRecord[] => []);
    const ends = new Float64Array(partitions + 1);
    let nowUs = 1000;
    for (let i = 0; i < 8000; i += 1) {
      const partition = 1 + randomBelow(rng, partitions);
      const model = models[partition] as BlockRecord[];
      if (randomBelow(rng, 100) < appendPercent) {
        nowUs += randomBelow(rng, 3);
        // Now and then offsets are missing: a record may have been dropped out of its turn.
        const gap = randomBelow(rng, 20) === 0 ? randomBelow(rng, 5) : 0;
        const added: BlockRecord = {
          baseOffset: (ends[partition] as number) + gap,
          count: 1 + randomBelow(rng, 4),
          entryIndex: i,
          blockStart: randomBelow(rng, 1000),
          blockSize: randomBelow(rng, 1000),
          createdUs: nowUs,
        };
        index.append(partition, added);
        model.push(added);
        ends[partition] = added.baseOffset + added.count;
      } else {
        const first = model[0]?.baseOffset ?? 0;
        const offset = first + randomBelow(rng, Math.ceil((ends[partition] as number) - first) + 2);
        const keep = randomBelow(rng, 50) === 0 ? Infinity : Math.min(offset, first + 300);
        const dropped = model.findIndex((other) => other.baseOffset + other.count > keep);
        const count = dropped < 0 ? model.length : dropped;
        model.splice(0, count);
        expect(index.dropBefore(partition, keep)).toBe(count);
      }
      checkSeek(index, partition, model, rng);
    }
    for (let partition = 1; partition <= partitions; partition += 1) {
      const rows: BlockRecord[] = [];
      index.forEach(partition, 0, (row) => rows.push(read(index, row)) > 0);
      expect(rows).toEqual(models[partition]);
    }
  });
});

function checkSeek(
  index: BlockIndex,
  partition: number,
  model: readonly BlockRecord[],
  rng: SeededRng,
): void {
  const from = model[0]?.baseOffset ?? 0;
  const last = model.at(-1);
  const span = last === undefined ? 5 : last.baseOffset + last.count - from + 4;
  const offset = Math.max(0, from - 2) + randomBelow(rng, span);
  const wanted = model.find((other) => other.baseOffset + other.count > offset);
  const found = index.firstAtOrAfter(partition, offset);
  expect(found === 0 ? undefined : read(index, found)).toEqual(wanted);
  const hint = index.firstAtOrAfter(partition, Math.max(0, offset - randomBelow(rng, 12)));
  expect(index.firstAtOrAfter(partition, offset, hint)).toBe(found);
  const us = (last?.createdUs ?? 1000) - randomBelow(rng, 2000);
  const created = index.firstCreatedAtOrAfter(partition, us);
  expect(created === 0 ? undefined : read(index, created)).toEqual(
    model.find((other) => other.createdUs >= us),
  );
}

test('a tiny partition costs 8 bytes and 37 a record', () => {
  const index = new BlockIndex();
  const partitions = 2 ** 17 - 1;
  for (let partition = 1; partition <= partitions; partition += 1) {
    index.append(partition, record(0));
  }
  expect(index.bytes / partitions).toBeLessThan(45.3);
});

test('seeking in the middle of a long list reads only a few records', () => {
  const index = new BlockIndex();
  const records = 200_000;
  for (let base = 0; base < records; base += 1) index.append(1, record(base, 1, 1000 + base));
  index.dropBefore(1, 12_345);
  let steps = 0;
  // Every step of a search reads the end of a record or the base of a skip node.
  const counting = index.endOffset.bind(index);
  index.endOffset = (row) => {
    steps += 1;
    return counting(row);
  };
  for (let offset = 12_345; offset < records; offset += 997) {
    steps = 0;
    expect(index.baseOffset(index.firstAtOrAfter(1, offset))).toBe(offset);
    expect(steps).toBeLessThan(70);
    expect(index.createdUs(index.firstCreatedAtOrAfter(1, 1000 + offset))).toBe(1000 + offset);
  }
});
