import { randomBelow, SeededRng } from '@queen-ts/base';
import { expect, test } from 'vitest';
import { RowAllocator } from './row-allocator.ts';

test('hands out dense rows from 1 on and never row 0', () => {
  const rows = new RowAllocator();
  expect(rows.highWater).toBe(0);
  expect([rows.allocate(), rows.allocate(), rows.allocate()]).toEqual([1, 2, 3]);
  expect(rows.highWater).toBe(3);
  expect(rows.isLive(0)).toBe(false);
  expect(rows.isLive(3)).toBe(true);
  expect(rows.isLive(4)).toBe(false);
});

test('uses the last freed row first and keeps the high water', () => {
  const rows = new RowAllocator();
  for (let i = 0; i < 5; i += 1) rows.allocate();
  rows.free(2);
  rows.free(4);
  expect(rows.liveCount).toBe(3);
  expect([rows.allocate(), rows.allocate(), rows.allocate()]).toEqual([4, 2, 6]);
  expect(rows.highWater).toBe(6);
});

test('refuses to free a row that is not live', () => {
  const rows = new RowAllocator();
  expect(() => rows.free(0)).toThrow('row 0 is freed');
  expect(() => rows.free(1)).toThrow('row 1 is freed');
  rows.free(rows.allocate());
  expect(() => rows.free(1)).toThrow('row 1 is freed');
});

test('agrees with a set on random allocations across bit-word and chunk boundaries', () => {
  const rng = new SeededRng(2);
  const rows = new RowAllocator();
  const live = new Set<number>();
  const order: number[] = [];
  for (let i = 0; i < 60_000; i += 1) {
    if (order.length === 0 || randomBelow(rng, 100) < 55) {
      const row = rows.allocate();
      if (live.has(row)) expect.fail(`row ${row} was handed out twice`);
      live.add(row);
      order.push(row);
    } else {
      const position = randomBelow(rng, order.length);
      const row = order[position] as number;
      order[position] = order.at(-1) as number;
      order.pop();
      live.delete(row);
      rows.free(row);
    }
  }
  expect(rows.liveCount).toBe(live.size);
  for (let row = 0; row <= rows.highWater + 1; row += 1) {
    if (rows.isLive(row) !== live.has(row)) expect.fail(`row ${row} is half live`);
  }
});
