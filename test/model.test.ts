// The engine against a naive model of the reference, on random sequences that are new with every commit.
// Set MODEL_SEED to try others, MODEL_SEQUENCES to search longer.

import { describe, expect, it } from 'vitest';
import { searchDifference } from './model/property.ts';
import { commitSeed } from './support/commit-seed.ts';

const SEED = Number(process.env['MODEL_SEED'] ?? commitSeed());
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
