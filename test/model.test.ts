// The engine against a naive model of the reference, on fresh random sequences in every run. Set
// MODEL_SEED to repeat one, MODEL_SEQUENCES to search longer.

import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { searchDifference } from './model/property.ts';

const SEED = Number(process.env['MODEL_SEED'] ?? randomInt(2 ** 31));
const SEQUENCES = Number(process.env['MODEL_SEQUENCES'] ?? 500);
const TIME_LIMIT_MS = 90_000 + SEQUENCES * 100;

describe('the engine', () => {
  it(
    `answers, stores and wakes like the naive model (MODEL_SEED=${SEED})`,
    () => {
      const search = { sequences: SEQUENCES, seed: SEED, maxCommands: 80 };
      const report = searchDifference({ ...search, timeLimitMs: TIME_LIMIT_MS });
      expect(report, report).toBeUndefined();
    },
    TIME_LIMIT_MS + 30_000,
  );
});
