// The runs of terms against a plain array.

import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';

import { TermRanges } from './term-ranges.ts';

describe('TermRanges', () => {
  it('agrees with an array of terms over random pushes, truncations and compactions', () => {
    const rng = new SeededRng(3);
    let base = 100;
    const ranges = new TermRanges({ index: base, term: 2 });
    const terms = [2];
    for (let round = 0; round < 2000; round++) {
      if (randomBelow(rng, 5) === 0) {
        const keepCount = 1 + randomBelow(rng, terms.length);
        terms.length = keepCount;
        ranges.truncate(base + keepCount);
      }
      if (randomBelow(rng, 20) === 0) {
        const dropCount = randomBelow(rng, terms.length);
        terms.splice(0, dropCount);
        base += dropCount;
        ranges.compact(base);
      }
      const term = (terms.at(-1) ?? 0) + (randomBelow(rng, 4) === 0 ? randomBelow(rng, 3) : 0);
      ranges.push(base + terms.length, term);
      terms.push(term);
      const position = randomBelow(rng, terms.length);
      expect(ranges.at(base + position)).toBe(terms[position]);
    }
    terms.forEach((term, i) => expect(ranges.at(base + i)).toBe(term));
  });

  it('costs memory per term, not per entry', () => {
    const ranges = new TermRanges({ index: 0, term: 0 });
    for (let index = 1; index <= 10_000; index++) ranges.push(index, index < 5000 ? 1 : 2);
    expect(ranges.runCount).toBe(3);
  });
});
