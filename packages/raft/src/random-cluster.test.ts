// Random histories of small clusters: what Raft promises holds on every seed.

import { describe, expect, it } from 'vitest';
import { runRandomCluster } from './testing/random-cluster.ts';
import type { RandomRunOptions, RandomRunResult } from './testing/random-cluster.ts';

const SEED_COUNT = 70;

describe('a cluster under random faults', () => {
  it.each([
    { nodeCount: 3, changesMembers: false, wipesVoter: false },
    { nodeCount: 5, changesMembers: false, wipesVoter: false },
    { nodeCount: 3, changesMembers: true, wipesVoter: false },
    { nodeCount: 5, changesMembers: true, wipesVoter: false },
    { nodeCount: 3, changesMembers: false, wipesVoter: true },
    { nodeCount: 5, changesMembers: false, wipesVoter: true },
  ])(
    'stays safe and recovers: $nodeCount nodes, changes $changesMembers, wipe $wipesVoter',
    (shape) => {
      const results: RandomRunResult[] = [];
      for (let seed = 1; seed <= SEED_COUNT; seed++) {
        results.push(runSeed({ ...shape, seed, stepCount: 600 }));
      }
      // The faults must leave something to be wrong about.
      expect(averageOf(results, ({ appliedCount }) => appliedCount)).toBeGreaterThan(20);
      expect(averageOf(results, ({ readCount }) => readCount)).toBeGreaterThan(5);
      expect(averageOf(results, ({ termReached }) => termReached)).toBeGreaterThan(3);
      expect(averageOf(results, ({ snapshotCount }) => snapshotCount)).toBeGreaterThan(0.1);
      const changeCount = averageOf(results, (result) => result.changeCount);
      expect(changeCount).toBeGreaterThanOrEqual(shape.changesMembers ? 1 : 0);
    },
    60_000,
  );
});

function runSeed(options: RandomRunOptions): RandomRunResult {
  try {
    return runRandomCluster(options);
  } catch (cause) {
    throw new Error(`seed ${options.seed}`, { cause });
  }
}

function averageOf(
  results: readonly RandomRunResult[],
  valueOf: (result: RandomRunResult) => number,
): number {
  return results.reduce((sum, result) => sum + valueOf(result), 0) / results.length;
}
