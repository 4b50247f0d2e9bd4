// Seeds of random tests: new with every commit, the same in every run of one commit, so that a red run
// can be repeated and a green one means the same everywhere.

import { execFileSync } from 'node:child_process';

/** Seed where there is no commit to name: a copy of the sources without its history. */
const NO_COMMIT_SEED = 1;

/** A number in [1, 2^28] that stands for the checked-out commit. */
export function commitSeed(): number {
  try {
    const options = { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' } as const;
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], options);
    return 1 + Number.parseInt(commit.slice(0, 7), 16);
  } catch {
    return NO_COMMIT_SEED;
  }
}
