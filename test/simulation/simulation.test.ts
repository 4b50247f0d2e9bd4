// The simulator in every test run: a time-boxed batch of seeds that are new with every commit, equal seeds with equal
// histories, and planted bugs that must not survive.

import { describe, expect, it } from 'vitest';
import { mutantOf } from './mutants/mutants.ts';
import { runSeed } from './run-seed.ts';
import { describeFailure } from './runner/failure.ts';
import { runTask } from './runner/worker.ts';
import { commitSeed } from '../support/commit-seed.ts';

const SECONDS_DEFAULT = 60;
const SECONDS_MAX = 180;

/** Time for new seeds; `SIM_SECONDS` chooses it. */
const SECONDS = Math.min(SECONDS_MAX, Number(process.env.SIM_SECONDS ?? SECONDS_DEFAULT));

/** Seeds that a mutant of the self-check may survive; the others are `npm run sim:mutants`. */
const MUTANT_SEEDS_MAX = 300;

describe('the simulator', () => {
  it('plays the same history for the same seed, bit for bit', async () => {
    for (const seed of [3, 58, 177]) {
      const [first, second] = [await runSeed({ seed }), await runSeed({ seed, isTraced: true })];
      expect(second.fingerprint).toBe(first.fingerprint);
      expect(second.events).toEqual(first.events);
      expect(second.faults).toEqual(first.faults);
      expect(second.committedCount).toBe(first.committedCount);
    }
  });

  it('plays different histories for different seeds', async () => {
    const runs = [await runSeed({ seed: 1 }), await runSeed({ seed: 2 })];
    expect(runs[0]?.fingerprint).not.toBe(runs[1]?.fingerprint);
  });

  it.each(['ack-before-fsync', 'answer-by-index', 'forget-dedup', 'truncate-always'])(
    'finds the planted bug %s',
    async (name) => {
      const mutant = mutantOf(name);
      for (let seed = 1; seed <= MUTANT_SEEDS_MAX; seed += 1) {
        const { violation } = await runSeed({ seed, mutant });
        if (violation !== undefined) return;
      }
      expect.fail(`${name} survived ${MUTANT_SEEDS_MAX} seeds`);
    },
  );

  it('shows a failing seed with its last events and the command that replays it', async () => {
    const report = await runTask({ seed: 1, mutant: 'ack-before-fsync' });
    const text = describeFailure(report);
    expect(report.isReproduced).toBe(true);
    expect(text).toContain('seed 1 violates: I1');
    expect(text).toContain('npm run sim -- --seed 1 --mutant ack-before-fsync');
    expect(text).toMatch(/\d+\.\d{6}s {2}1->\d append/);
  });
});

describe('whole clusters under faults', () => {
  const base = commitSeed();

  it(
    `violate nothing in ${SECONDS} s of seeds from ${base} on`,
    { timeout: (SECONDS + 60) * 1000 },
    async () => {
      const endMs = performance.now() + SECONDS * 1000;
      let seed = base;
      for (; performance.now() < endMs; seed += 1) {
        const report = await runTask({ seed, mutant: undefined });
        if (report.result.violation !== undefined) expect.fail(describeFailure(report));
      }
      process.stdout.write(`simulation: seeds ${base} to ${seed - 1} without a violation\n`);
    },
  );
});
