import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';
import { TopList } from './top-list.ts';
import { completed } from './view.ts';

const view = new EngineDriver().engine.view(0);
const ascending = (a: number, b: number): number => a - b;

describe('a top list', () => {
  test('keeps the first of any number of items, in order', () => {
    const rng = new SeededRng(5);
    for (let round = 0; round < 200; round += 1) {
      const size = randomBelow(rng, 12);
      const count = randomBelow(rng, 40);
      const items = Array.from({ length: count }, (_, i) => randomBelow(rng, 1000) * 64 + i);
      const list = new TopList(size, ascending);
      for (const item of items) list.offer(item);
      const sorted = items.toSorted(ascending);
      expect(list.last).toBe(count >= size ? sorted[size - 1] : undefined);
      expect(completed(list.drain(view))).toEqual(sorted.slice(0, size));
    }
  });

  test('without a bound sorts', () => {
    const list = new TopList(Infinity, ascending);
    for (const item of [3, 1, 2]) list.offer(item);
    expect(list.last).toBeUndefined();
    expect(completed(list.drain(view))).toEqual([1, 2, 3]);
  });

  test('is taken out in slices', () => {
    const list = new TopList(Infinity, ascending);
    for (let item = 0; item < 10_000; item += 1) list.offer(item);
    const draining = list.drain(view);
    let slices = 1;
    while (draining.next().done !== true) slices += 1;
    expect(slices).toBeGreaterThan(50);
  });
});
