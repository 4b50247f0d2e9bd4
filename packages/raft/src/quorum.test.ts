import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { electionOutcome, majorityOf, reachedByMajority } from './quorum.ts';

const VOTES = fc.array(fc.constantFrom(true, false, undefined), { minLength: 1, maxLength: 9 });

describe('majorityOf', () => {
  it('is the least count of which two always overlap', () => {
    for (let voterCount = 1; voterCount <= 64; voterCount++) {
      const majority = majorityOf(voterCount);
      expect(2 * majority).toBeGreaterThan(voterCount);
      expect(2 * (majority - 1)).toBeLessThanOrEqual(voterCount);
    }
  });
});

describe('reachedByMajority', () => {
  it('agrees with trying every value, over random voters', () => {
    const values = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(values, (indexes) => {
        const isReached = (index: number): boolean =>
          indexes.filter((value) => value >= index).length > indexes.length / 2;
        const naive = Array.from({ length: 14 }, (_, index) => index).findLast(isReached);
        expect(reachedByMajority(indexes)).toBe(naive);
      }),
      { numRuns: 5000, seed: 1 },
    );
  });

  it('does not reorder its argument', () => {
    const indexes = [1, 3, 2];
    reachedByMajority(indexes);
    expect(indexes).toEqual([1, 3, 2]);
  });
});

describe('electionOutcome', () => {
  it('agrees with trying every completion of the open votes', () => {
    fc.assert(
      fc.property(VOTES, fc.boolean(), (votes, isUnanimous) => {
        const needed = isUnanimous ? votes.length : majorityOf(votes.length);
        const wins = completionsOf(votes).map(
          (completed) => completed.filter(Boolean).length >= needed,
        );
        const naive = wins.every(Boolean) ? 'won' : wins.some(Boolean) ? 'pending' : 'lost';
        expect(electionOutcome(votes, needed)).toBe(naive);
      }),
      { numRuns: 3000, seed: 2 },
    );
  });
});

function completionsOf(votes: readonly (boolean | undefined)[]): boolean[][] {
  return votes.reduce<boolean[][]>(
    (completions, vote) =>
      completions.flatMap((completed) =>
        (vote === undefined ? [true, false] : [vote]).map((each) => [...completed, each]),
      ),
    [[]],
  );
}
