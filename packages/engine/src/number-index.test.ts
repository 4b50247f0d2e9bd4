import { InvariantError, randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { NumberIndex } from './number-index.ts';

describe('the index of numbers', () => {
  test('agrees with a map over random inserts and removals', () => {
    const rng = new SeededRng(7);
    const index = new NumberIndex();
    const map = new Map<number, number>();
    for (let next = 1; next < 3000; next += 1) {
      index.set(next, next * 7);
      map.set(next, next * 7);
      const victim = 1 + randomBelow(rng, next);
      if (!map.delete(victim)) continue;
      index.delete(victim);
    }
    expect(index.size).toBe(map.size);
    for (let number = 0; number < 4000; number += 1) {
      expect(index.get(number), `number ${number}`).toBe(map.get(number) ?? 0);
    }
    const visited: number[] = [];
    index.forEach((number, row) => visited.push(number, row));
    expect(visited).toEqual([...map].sort(([a], [b]) => a - b).flat());
  });

  test('answers 0 for any number that a client may send', () => {
    const index = new NumberIndex();
    index.set(1, 5);
    for (const number of [0, 2, 255, 256, 0xffff_ffff]) expect(index.get(number)).toBe(0);
  });

  test('refuses numbers that are present and removals of absent ones', () => {
    const index = new NumberIndex();
    index.set(300, 1);
    expect(() => index.set(300, 2)).toThrow(InvariantError);
    expect(() => index.set(0, 2)).toThrow(InvariantError);
    expect(() => index.delete(301)).toThrow(InvariantError);
    index.delete(300);
    expect(() => index.delete(300)).toThrow(InvariantError);
  });

  test('finds the next number and the one before, over pages that are gone', () => {
    const index = new NumberIndex();
    const numbers = [1, 2, 255, 256, 257, 1023, 5000];
    for (const number of [...numbers, 2000]) index.set(number, number);
    index.delete(2000);
    for (let number = 0; number < 6000; number += 1) {
      expect(index.next(number)).toBe(numbers.find((other) => other > number) ?? 0);
      expect(index.previous(number)).toBe(numbers.findLast((other) => other < number) ?? 0);
    }
    expect(index.next(0xffff_fffe)).toBe(0);
    expect(index.previous(0xffff_ffff)).toBe(5000);
    expect(new NumberIndex().previous(1)).toBe(0);
  });
});
