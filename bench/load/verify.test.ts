// The load generator must notice what it says it checks.

import { expect, it } from 'vitest';
import { isSound, verify } from './verify.ts';

const PUSHED = [{ partition: 0, count: 4, isRepeated: false }];

/** Runs of partition 0 as [first, count], received one after the other. */
function received(...runs: readonly (readonly [number, number])[]) {
  const fields = runs.flatMap(([first, count], at) => [0, first, count, at]);
  return [{ group: 0, fields: Float64Array.from(fields) }];
}

it('accepts every message once, in order', () => {
  const verification = verify(PUSHED, received([0, 1], [1, 3]), 1);
  expect(verification).toMatchObject({ expected: 4, lost: 0 });
  expect(isSound(verification)).toBe(true);
});

it.each([
  ['a lost message', received([0, 3]), { lost: 1 }],
  ['a lost message in between', received([0, 1], [2, 2]), { lost: 1, gaps: 1 }],
  ['a message twice', received([0, 4], [3, 1]), { duplicates: 1, outOfOrder: 1 }],
  ['two runs in the wrong order', received([2, 2], [0, 2]), { gaps: 1, outOfOrder: 1 }],
  ['nothing at all', received(), { lost: 4 }],
])('finds %s', (_, runs, findings) => {
  const verification = verify(PUSHED, runs, 1);
  expect(verification).toMatchObject(findings);
  expect(isSound(verification)).toBe(false);
});

it('counts for each group', () => {
  expect(verify(PUSHED, received([0, 4]), 2)).toMatchObject({ expected: 8, lost: 4 });
});

it('does not judge what was pushed again without ids', () => {
  const pushed = [{ partition: 0, count: 4, isRepeated: true }];
  expect(verify(pushed, received([0, 4], [0, 4]), 1)).toMatchObject({ expected: 0, inDoubt: 1 });
});
