import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { mix32 } from './hash.ts';
import { homeOf, RowTable } from './row-table.ts';

/** Rows of the table under a hash, in slot order. */
function rowsOf(table: RowTable, hash: number): number[] {
  const { slots, slotCount } = table.segmentOf(hash);
  const rows: number[] = [];
  let slot = homeOf(hash, slotCount);
  while (slots[slot * 2 + 1] !== 0) {
    if (slots[slot * 2] === hash) rows.push(slots[slot * 2 + 1] as number);
    slot = slot + 1 === slotCount ? 0 : slot + 1;
  }
  return rows;
}

/** Hashes that are good, that collide in part, and that collide completely. */
const HASHES: readonly { name: string; hash: (row: number) => number; rows: number }[] = [
  { name: 'spread', hash: mix32, rows: 30_000 },
  { name: 'equal in the directory bits', hash: (row) => row & 0xffff, rows: 9000 },
  { name: 'equal in the position bits', hash: (row) => (row << 16) >>> 0, rows: 6000 },
  { name: 'one of 16', hash: (row) => mix32(row & 15), rows: 1500 },
  { name: 'always 0', hash: () => 0, rows: 800 },
  { name: 'always the largest', hash: () => 0xffffffff, rows: 800 },
];

describe.each(HASHES)('with hashes that are $name', ({ hash, rows }) => {
  test('agrees with a set while rows come and go', () => {
    const rng = new SeededRng(rows);
    const table = new RowTable();
    const live = new Set<number>();
    for (let i = 0; i < rows * 3; i += 1) {
      const row = 1 + randomBelow(rng, rows);
      if (live.has(row)) {
        table.remove(hash(row), row);
        live.delete(row);
      } else {
        table.insert(hash(row), row);
        live.add(row);
      }
    }
    expect(table.count).toBe(live.size);
    let wrong = 0;
    for (let row = 1; row <= rows; row += 1) {
      const found = rowsOf(table, hash(row)).filter((other) => other === row).length;
      if (found !== (live.has(row) ? 1 : 0)) wrong += 1;
    }
    expect(wrong).toBe(0);
  });

  test('is empty and small again after everything was removed', () => {
    const table = new RowTable();
    for (let row = 1; row <= rows; row += 1) table.insert(hash(row), row);
    const full = table.bytes;
    for (let row = 1; row <= rows; row += 1) table.remove(hash(row), row);
    expect(table.count).toBe(0);
    expect(table.bytes).toBeLessThan(full / 8);
    let left = 0;
    for (let row = 1; row <= rows; row += 1) left += rowsOf(table, hash(row)).length;
    expect(left).toBe(0);
  });
});

test('costs at most 12 bytes a row at any size beyond a few hundred rows', () => {
  const table = new RowTable();
  let most = 0;
  for (let row = 1; row <= 200_000; row += 1) {
    table.insert(mix32(row), row);
    if (row > 500) most = Math.max(most, table.bytes / row);
  }
  expect(most).toBeLessThan(12);
});

test('keeps several rows under one hash and removes the right one', () => {
  const table = new RowTable();
  for (const row of [7, 8, 9]) table.insert(0x12345678, row);
  table.remove(0x12345678, 8);
  expect(rowsOf(table, 0x12345678)).toEqual([7, 9]);
  table.replace(0x12345678, 9, 10);
  expect(rowsOf(table, 0x12345678)).toEqual([7, 10]);
  expect(table.count).toBe(2);
});

test('takes rows up to 2^32 - 1 and refuses row 0', () => {
  const table = new RowTable();
  table.insert(5, 0xffffffff);
  expect(rowsOf(table, 5)).toEqual([0xffffffff]);
  expect(() => table.insert(5, 0)).toThrow('row 0');
  expect(() => table.insert(5, 2 ** 32)).toThrow('row 4294967296');
});

test('refuses to remove or replace a row that is not there', () => {
  const table = new RowTable();
  table.insert(1, 1);
  expect(() => table.remove(1, 2)).toThrow('row 2 is not in the table');
  expect(() => table.replace(2, 2, 3)).toThrow('row 2 is not in the table');
});

test('a run that wraps around the end of a segment survives removals in its middle', () => {
  const table = new RowTable();
  // 16 slots: these hashes have their home in the last slots of the only segment.
  for (let row = 1; row <= 12; row += 1) table.insert(0xf000 | row, row);
  for (const row of [3, 1, 12, 6]) table.remove(0xf000 | row, row);
  for (let row = 1; row <= 12; row += 1) {
    const isLeft = ![3, 1, 12, 6].includes(row);
    expect(rowsOf(table, 0xf000 | row)).toEqual(isLeft ? [row] : []);
  }
});
