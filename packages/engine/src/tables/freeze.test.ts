// Freezing: what was frozen stays as it was under random changes, and the changed table is not
// disturbed by being frozen and thawed again and again.

import { encodeUtf8, randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { NumberIndex } from '../number-index.ts';
import { BlockTails } from './block-tails.ts';
import { F64Column, U32Column, U48Column } from './chunked-columns.ts';
import { DedupIndex } from './dedup-index.ts';
import { LeaseIndex } from './lease-index.ts';
import { NameIndex } from './name-index.ts';

const COLUMNS = [
  { name: 'U32Column', create: () => new U32Column(), max: 2 ** 32 - 1 },
  { name: 'F64Column', create: () => new F64Column(), max: Number.MAX_SAFE_INTEGER },
  { name: 'U48Column', create: () => new U48Column(), max: 2 ** 48 - 1 },
];

describe.each(COLUMNS)('a frozen $name', ({ create, max }) => {
  test('agrees with a copy under random writes, round after round', () => {
    const rng = new SeededRng(3);
    const column = create();
    const model: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      while (model.length < 5000 * (round + 1)) model.push(0);
      column.ensure(model.length);
      writeSome(rng, column, model, max);
      const copy = model.slice();
      const { rowCount } = column;
      const frozen = column.freeze();
      writeSome(rng, column, model, max);
      column.ensure(model.length + 9000);
      expect(copy.every((value, row) => frozen.get(row) === value)).toBe(true);
      expect(model.every((value, row) => column.get(row) === value)).toBe(true);
      expect(frozen.rowCount).toBe(rowCount);
      expect(() => frozen.get(rowCount)).toThrow('outside');
      column.thaw();
      writeSome(rng, column, model, max);
      expect(model.every((value, row) => column.get(row) === value)).toBe(true);
    }
  });

  test('shares what nobody writes: only the first write to a chunk copies', () => {
    const column = create();
    column.ensure(16_384);
    column.set(4096, 7);
    const frozen = column.freeze();
    expect(() => column.set(16_384, 1)).toThrow('outside');
    column.set(4096, 8);
    column.set(4097, 9);
    expect([frozen.get(4096), frozen.get(4097), column.get(4096)]).toEqual([7, 0, 8]);
  });
});

test('a column can be frozen again before the first one is forgotten', () => {
  const column = new U32Column();
  column.ensure(1);
  const views = [1, 2, 3].map((value) => {
    column.set(0, value);
    return column.freeze();
  });
  column.set(0, 4);
  expect(views.map((view) => view.get(0))).toEqual([1, 2, 3]);
});

test('frozen numbers keep their rows and order while numbers come and go', () => {
  const rng = new SeededRng(4);
  const index = new NumberIndex();
  const model = new Map<number, number>();
  let next = 1;
  for (let round = 0; round < 20; round += 1) {
    const change = (): void => {
      for (let i = 0; i < 700; i += 1) {
        const victim = randomBelow(rng, next) + 1;
        if (randomBelow(rng, 3) > 0) {
          model.set(next, next + 5);
          index.set(next, next + 5);
          next += 1;
        } else if (model.delete(victim)) {
          index.delete(victim);
        }
      }
    };
    change();
    const rows = [...model].toSorted(([a], [b]) => a - b).map(([, row]) => row);
    const frozen = index.freeze();
    change();
    expect([...frozen.rows()]).toEqual(rows);
    expect(frozen.size).toBe(rows.length);
    index.thaw();
    expect(index.size).toBe(model.size);
    expect([...model].every(([number, row]) => index.get(number) === row)).toBe(true);
  }
});

test('frozen names survive removals and the reuse of their space', () => {
  const rng = new SeededRng(5);
  const names = new NameIndex();
  const model = new Map<number, string>();
  let next = 1;
  const change = (): void => {
    for (let i = 0; i < 400; i += 1) {
      const victim = randomBelow(rng, next);
      if (model.has(victim) && randomBelow(rng, 2) === 0) {
        names.remove(victim);
        model.delete(victim);
      }
      const name = `${next}-${'ä'.repeat(randomBelow(rng, i === 7 ? 5000 : 12))}`;
      const bytes = encodeUtf8(name);
      names.insert(9, bytes, 0, bytes.length, next);
      model.set(next, name);
      next += 1;
    }
  };
  for (let round = 0; round < 10; round += 1) {
    change();
    const copy = new Map(model);
    const frozen = names.freeze();
    change();
    for (const [row, name] of copy) {
      const bytes = new Uint8Array(frozen.nameLength(row));
      frozen.copyName(row, bytes, 0);
      expect(new TextDecoder().decode(bytes)).toBe(name);
    }
    names.thaw();
    change();
    for (const [row, name] of model) expect(names.nameText(row)).toBe(name);
  }
  // What died while the names were frozen is used again, bit by bit.
  expect(names.bytes).toBeLessThan(2 * 1024 * 1024);
});

test('frozen block tails keep every row while blocks come and go', () => {
  const rng = new SeededRng(6);
  const tails = new BlockTails();
  const ends = new Uint32Array(41);
  const change = (): void => {
    for (let i = 0; i < 3000; i += 1) {
      const row = 1 + randomBelow(rng, 40);
      const baseOffset = ends[row]!;
      const count = 1 + randomBelow(rng, 9);
      const place = { entryIndex: i + 1, blockStart: i, blockSize: 50 + i, createdUs: baseOffset };
      tails.append(row, { baseOffset, count, ...place });
      ends[row] = baseOffset + count;
      const chance = randomBelow(rng, 400);
      if (chance === 0) tails.clear(row);
      else if (chance === 1) tails.dropTo(row, { offset: baseOffset, blocks: 1, oldestUs: i });
      else if (chance < 5 && tails.retained(row) > 1) {
        const blocks = tails.retained(row) - 1;
        tails.dropTo(row, { offset: baseOffset - 50, blocks, oldestUs: i });
      }
    }
  };
  change();
  const rows = Array.from(ends, (_, row) => row);
  for (let round = 0; round < 3; round += 1) {
    const frozen = tails.freeze();
    const before = rows.map((row) => frozen.get(row));
    expect(before.filter((tail) => tail?.page !== undefined).length).toBeGreaterThan(0);
    change();
    expect(rows.map((row) => frozen.get(row))).toEqual(before);
    tails.thaw();
    change();
    const now = tails.freeze();
    expect(rows.map((row) => now.get(row)?.retained ?? 0)).toEqual(
      rows.map((row) => tails.retained(row)),
    );
    tails.thaw();
  }
  const restored = new BlockTails();
  const frozen = tails.freeze();
  for (const row of rows) {
    const tail = frozen.get(row);
    if (tail !== undefined) restored.restore(row, tail);
  }
  expect(restored.blockCount).toBe(tails.blockCount);
  const copy = restored.freeze();
  expect(rows.map((row) => copy.get(row))).toEqual(rows.map((row) => frozen.get(row)));
});

test('frozen leases keep their ids', () => {
  const leases = new LeaseIndex();
  for (let row = 1; row < 6000; row += 1) leases.add([row, 1, 2, 3], row);
  const frozen = leases.freeze();
  for (let row = 1; row < 6000; row += 2) leases.remove(row);
  for (let row = 1; row < 6000; row += 4) leases.add([7, 7, 7, row], row);
  for (let row = 1; row < 6000; row += 1) {
    expect(frozen.has(row)).toBe(true);
    expect([frozen.word(row, 0), frozen.word(row, 3)]).toEqual([row, 3]);
  }
  expect(frozen.has(6000)).toBe(false);
  expect(frozen.has(2 ** 31)).toBe(false);
  leases.thaw();
  expect(leases.first([7, 7, 7, 5])).toBe(5);
});

describe('a frozen dedup index', () => {
  const SLICE_US = 1_000_000;

  function fill(index: DedupIndex, from: number, toExclusive: number): void {
    for (let i = from; i < toExclusive; i += 1) {
      index.insert(i % 50, [i * 7919, i, 3, 4], 0, i, i * 100);
    }
  }

  function restored(frozen: ReturnType<DedupIndex['freeze']>): DedupIndex {
    const copy = new DedupIndex({ sliceUs: SLICE_US });
    copy.restoreSlices(frozen);
    const isLive = new Set(frozen.live.map((slice) => slice.number));
    let position = 0;
    for (const segment of frozen.segments()) {
      const slots = [...segment.slices.keys()].filter((slot) => isLive.has(segment.slices[slot]!));
      position = copy.restoreSegment(position, segment.depth, slots.length);
      for (const slot of slots) {
        const offset =
          segment.halves[slot * 2 + 1]! * 2 ** 32 + (segment.words[slot * 2 + 1] as number);
        const tagTop = segment.halves[slot * 2]!;
        const tagLow = segment.words[slot * 2]!;
        copy.restoreEntry({ tagTop, tagLow, offset, slice: segment.slices[slot]! });
      }
    }
    return copy;
  }

  function found(index: DedupIndex, toExclusive: number): boolean[] {
    return Array.from({ length: toExclusive }, (_, i) => {
      const count = index.find(i % 50, [i * 7919, i, 3, 4], 0, 0);
      return count > 0 && index.candidate(0) === i;
    });
  }

  test('restores to what it was, whatever was inserted and forgotten meanwhile', () => {
    const index = new DedupIndex({ sliceUs: SLICE_US });
    fill(index, 0, 30_000);
    index.forgetBefore(1_200_000);
    const before = found(index, 60_000);
    const { count, sliceCount } = index;
    const frozen = index.freeze();
    fill(index, 30_000, 60_000);
    index.forgetBefore(2_500_000);
    const copy = restored(frozen);
    expect(copy.count).toBe(count);
    expect(copy.sliceCount).toBe(sliceCount);
    expect(found(copy, 60_000)).toEqual(before);
    index.thaw();
    // The copy goes on like the original did.
    fill(copy, 30_000, 60_000);
    copy.forgetBefore(2_500_000);
    expect(copy.count).toBe(index.count);
    expect(found(copy, 60_000)).toEqual(found(index, 60_000));
    expect(copy.bytes).toBeLessThan(index.bytes * 1.5);
  });

  test('may be empty, and refuses an entry of no slice', () => {
    const frozen = new DedupIndex({ sliceUs: SLICE_US }).freeze();
    const copy = restored(frozen);
    expect(copy.count).toBe(0);
    fill(copy, 0, 100);
    expect(copy.count).toBe(100);
    const other = new DedupIndex({ sliceUs: SLICE_US });
    other.restoreSlices(frozen);
    other.restoreSegment(0, 0, 1);
    const entry = { tagTop: 1, tagLow: 1, offset: 1, slice: 3 };
    expect(() => other.restoreEntry(entry)).toThrow('dedup entry of slice 3');
  });
});

function writeSome(
  rng: SeededRng,
  column: { set(row: number, value: number): void },
  model: number[],
  max: number,
): void {
  for (let i = 0; i < 3000; i += 1) {
    const row = randomBelow(rng, model.length);
    const value = (rng.u32() * 2 ** 21 + randomBelow(rng, 2 ** 21)) % (max + 1);
    column.set(row, value);
    model[row] = value;
  }
}
