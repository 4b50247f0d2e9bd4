// Arithmetic over a set of voters: majorities, the commit point, the outcome of an election. Knows
// nothing of members, progress or messages.

import { assert } from '@queen-ts/base';

/** How many of `voterCount` voters decide; more than half. */
export function majorityOf(voterCount: number): number {
  assert(voterCount >= 1, () => `majority of ${voterCount} voters`);
  return Math.floor(voterCount / 2) + 1;
}

/** The highest value that a majority has reached; `values` holds one number per voter. */
export function reachedByMajority(values: readonly number[]): number {
  const descending = [...values].sort((a, b) => b - a);
  const reached = descending[majorityOf(values.length) - 1];
  assert(reached !== undefined, 'a majority is at most everybody');
  return reached;
}

/**
 * The outcome of an election so far.
 * @param votes one per voter: `undefined` while it has not answered.
 * @param needed votes that win; at least a majority of `votes`.
 */
export function electionOutcome(
  votes: readonly (boolean | undefined)[],
  needed: number,
): 'won' | 'lost' | 'pending' {
  const grantedCount = votes.filter((vote) => vote === true).length;
  const openCount = votes.filter((vote) => vote === undefined).length;
  if (grantedCount >= needed) return 'won';
  return grantedCount + openCount < needed ? 'lost' : 'pending';
}
