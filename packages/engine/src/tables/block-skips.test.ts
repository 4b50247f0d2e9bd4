import { randomBelow, SeededRng } from '@queen-ts/base';
import { expect, test } from 'vitest';
import { BlockSkips } from './block-skips.ts';

test('an empty list has no record', () => {
  const skips = new BlockSkips();
  expect(skips.recordAtOrBefore(0, 5)).toBe(0);
  expect(skips.recordBefore(0, () => true)).toBe(0);
});

test.each([
  { seed: 1, appendPercent: 60 },
  { seed: 2, appendPercent: 80 },
  { seed: 3, appendPercent: 50 },
  { seed: 4, appendPercent: 51 },
])('agrees with an array while nodes come and go, %o', ({ seed, appendPercent }) => {
  const rng = new SeededRng(seed);
  const skips = new BlockSkips();
  // Two lists share the pool, so that a freed node of one is soon a node of the other.
  const names = [0, 0];
  const models: { record: number; base: number }[][] = [[], []];
  const bases = [0, 0];
  for (let i = 1; i <= 6000; i += 1) {
    const which = randomBelow(rng, 2);
    const model = models[which] as { record: number; base: number }[];
    const name = names[which] as number;
    if (model.length === 0 || randomBelow(rng, 100) < appendPercent) {
      const base = (bases[which] as number) + 1 + randomBelow(rng, 3);
      bases[which] = base;
      model.push({ record: i, base });
      names[which] = skips.append(name, i, base);
    } else {
      expect(skips.oldestRecord(name)).toBe(model[0]?.record);
      model.shift();
      names[which] = skips.dropOldest(name);
      expect((names[which] as number) === 0).toBe(model.length === 0);
    }
    const offset = Math.max(
      0,
      (bases[which] as number) + 2 - randomBelow(rng, model.length * 3 + 5),
    );
    const wanted = model.findLast((node) => node.base <= offset);
    expect(skips.recordAtOrBefore(names[which] as number, offset)).toBe(wanted?.record ?? 0);
    const limit = 1 + randomBelow(rng, 6000);
    const before = model.findLast((node) => node.record < limit);
    const found = skips.recordBefore(names[which] as number, (record) => record < limit);
    expect(found).toBe(before?.record ?? 0);
  }
});

test('a jump to a freed node does not lead into the list that uses the node now', () => {
  const skips = new BlockSkips();
  let first = skips.append(0, 11, 1);
  first = skips.append(first, 12, 2);
  let second = skips.append(0, 21, 1000);
  first = skips.dropOldest(first);
  second = skips.append(second, 22, 2000);
  first = skips.append(first, 13, 50);
  expect(skips.recordAtOrBefore(first, 10)).toBe(12);
  expect(skips.recordAtOrBefore(first, 50)).toBe(13);
  expect(skips.recordBefore(first, (record) => record < 13)).toBe(12);
  expect(skips.recordAtOrBefore(second, 1500)).toBe(21);
});

test.each([0, 1000, 31_000])('a search takes O(log n) steps after %d drops', (drops) => {
  const skips = new BlockSkips();
  const nodes = 32_000;
  let name = 0;
  for (let i = 1; i <= nodes; i += 1) name = skips.append(name, i, i);
  for (let i = 0; i < drops; i += 1) name = skips.dropOldest(name);
  for (let i = nodes + 1; i <= nodes + 3000; i += 1) name = skips.append(name, i, i);
  let most = 0;
  for (let limit = drops + 2; limit <= nodes + 3000; limit += 101) {
    let asked = 0;
    const found = skips.recordBefore(name, (record) => {
      asked += 1;
      return record < limit;
    });
    expect(found).toBe(limit - 1);
    most = Math.max(most, asked);
  }
  expect(most).toBeLessThan(130);
});

test('nodes are pooled', () => {
  const skips = new BlockSkips();
  let name = 0;
  for (let i = 1; i <= 50_000; i += 1) {
    name = skips.append(name, i, i);
    if (i > 100) name = skips.dropOldest(name);
  }
  expect(skips.bytes).toBeLessThan(4096 * 40);
});
