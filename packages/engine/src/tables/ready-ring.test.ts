import { randomBelow, SeededRng } from '@queen-ts/base';
import { expect, test } from 'vitest';
import { ReadyRing } from './ready-ring.ts';

test('returns ordinals in the order they were pushed, each once', () => {
  const ring = new ReadyRing();
  expect(ring.shift()).toBe(-1);
  expect([5, 0, 5, 9].map((ordinal) => ring.push(ordinal))).toEqual([true, true, false, true]);
  expect(ring.size).toBe(3);
  expect([ring.shift(), ring.shift(), ring.shift(), ring.shift()]).toEqual([5, 0, 9, -1]);
  expect(ring.has(5)).toBe(false);
  expect(ring.push(5)).toBe(true);
});

test('an ordinal pushed again after its turn goes to the tail', () => {
  const ring = new ReadyRing();
  for (const ordinal of [1, 2, 3]) ring.push(ordinal);
  const turns: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    const ordinal = ring.shift();
    turns.push(ordinal);
    ring.push(ordinal);
  }
  expect(turns).toEqual([1, 2, 3, 1, 2, 3, 1]);
});

test.each([10, 300, 70_000, 2 ** 32])('agrees with an array on ordinals below %d', (bound) => {
  const rng = new SeededRng(bound % 1000);
  const ring = new ReadyRing();
  let queue: number[] = [];
  const members = new Set<number>();
  const candidates = Array.from({ length: 400 }, () => randomBelow(rng, bound));
  let shiftPercent = 30;
  let wrong = 0;
  for (let i = 0; i < 20_000; i += 1) {
    if (i % 2000 === 0) shiftPercent = shiftPercent === 30 ? 70 : 30;
    if (randomBelow(rng, 100) < shiftPercent) {
      const expected = queue.length === 0 ? -1 : (queue[0] as number);
      queue = queue.slice(1);
      members.delete(expected);
      if (ring.shift() !== expected) wrong += 1;
    } else {
      const ordinal = candidates[randomBelow(rng, candidates.length)] as number;
      if (ring.push(ordinal) === members.has(ordinal)) wrong += 1;
      if (!members.has(ordinal)) queue.push(ordinal);
      members.add(ordinal);
    }
    const probe = candidates[i % candidates.length] as number;
    if (ring.has(probe) !== members.has(probe)) wrong += 1;
    if (ring.size !== queue.length) wrong += 1;
  }
  expect(wrong).toBe(0);
});

test('an empty ring costs nothing, a small one a few bytes, and a drained one shrinks', () => {
  const ring = new ReadyRing();
  expect(ring.bytes).toBe(0);
  for (let ordinal = 0; ordinal < 4; ordinal += 1) ring.push(ordinal);
  expect(ring.bytes).toBeLessThanOrEqual(36);
  for (let ordinal = 4; ordinal < 200_000; ordinal += 1) ring.push(ordinal);
  expect(ring.bytes).toBeLessThan(200_000 * 4.2);
  let next = 0;
  while (next < 150_000 && ring.shift() === next) next += 1;
  expect(next).toBe(150_000);
  expect(ring.bytes).toBeLessThan(50_000 * 4 + 200_000 / 8 + 32 * 1024);
  while (ring.shift() >= 0);
  expect(ring.bytes).toBeLessThanOrEqual(200_000 / 8 + 8192);
  ring.push(7);
  ring.clear();
  expect([ring.size, ring.bytes, ring.shift(), ring.has(7)]).toEqual([0, 0, -1, false]);
});

test('ordinals stay members while larger ones make the ring grow', () => {
  const ring = new ReadyRing();
  const ordinals = [3, 40, 70, 5000, 32_767, 32_768, 2 ** 32 - 1];
  for (const ordinal of ordinals) ring.push(ordinal);
  for (const ordinal of ordinals) {
    expect(ring.has(ordinal)).toBe(true);
    expect(ring.push(ordinal)).toBe(false);
  }
  expect(ordinals.map(() => ring.shift())).toEqual(ordinals);
  for (const ordinal of ordinals) expect(ring.has(ordinal)).toBe(false);
});

test('a rotating ring of constant size does not grow', () => {
  const ring = new ReadyRing();
  for (let ordinal = 0; ordinal < 3000; ordinal += 1) ring.push(ordinal);
  let turns = 0;
  while (turns < 100_000 && ring.push(ring.shift())) turns += 1;
  expect(turns).toBe(100_000);
  expect(ring.size).toBe(3000);
  expect(ring.bytes).toBeLessThan(3000 * 4 + 3 * 4096);
});

test('refuses an ordinal that is no u32', () => {
  const ring = new ReadyRing();
  for (const ordinal of [-1, 0.5, 2 ** 32]) {
    expect(() => ring.push(ordinal)).toThrow(`ordinal ${ordinal}`);
  }
});
