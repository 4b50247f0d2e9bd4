// A short run of the scanner fuzzer, with other documents for every commit, and proof that it can fail.

import { JsonScanner } from '@queen-ts/protocol';
import { expect, it, vi } from 'vitest';
import { commitSeed } from '../support/commit-seed.ts';
import { Comparison } from './scanner/compare.ts';
import { fuzzScanner } from './scanner/run.ts';

const DOCUMENTS = 100_000;

it(`agrees with JSON.parse on ${DOCUMENTS} documents`, () => {
  const { accepted, refused, difference } = fuzzScanner(commitSeed(), 0, DOCUMENTS);
  expect(difference).toBeUndefined();
  expect(accepted).toBeGreaterThan(DOCUMENTS / 4);
  expect(refused).toBeGreaterThan(DOCUMENTS / 4);
});

it('sees a scanner that accepts too much, and one whose spans are wrong', () => {
  const comparison = new Comparison();
  const check = (text: string): string => comparison.check(Buffer.from(text)).kind;
  expect([check('[1,2]'), check('[1,]')]).toEqual(['accepted', 'refused']);
  const careless = vi.spyOn(JsonScanner.prototype, 'expectEnd').mockReturnValue(true);
  expect(check('1 2')).toBe('different');
  careless.mockRestore();
  const blind = vi.spyOn(JsonScanner.prototype, 'skipSpace').mockImplementation((at) => at + 1);
  expect(check(' {"a": 1}')).toBe('different');
  blind.mockRestore();
});

it('is not led astray by names that JSON.parse reads wrongly', () => {
  const comparison = new Comparison();
  for (const text of [String.raw`{"a":0,"\\":1}`, String.raw`{"a":0,"\n":1}`]) {
    expect(comparison.check(Buffer.from(text))).toEqual({ kind: 'accepted' });
  }
});
