// `npm run sim:mutants`: the simulator against planted bugs. Each must be found within a bounded number
// of seeds; one that is not means that the simulator is too weak. Exit code 1 then.

import { MUTANTS } from './mutants/mutants.ts';
import { readArguments } from './runner/arguments.ts';
import { runPool } from './runner/pool.ts';

/** Seeds that a mutant may survive. */
const SEEDS_MAX = 2000;

interface Finding {
  readonly seeds: number;
  readonly property: string;
}

async function hunt(mutant: string, base: number, workers: number): Promise<Finding | undefined> {
  let position = 0;
  let finding: Finding | undefined;
  await runPool({
    workers,
    next: () => {
      if (finding !== undefined || position >= SEEDS_MAX) return undefined;
      position += 1;
      return { seed: base + position - 1, mutant };
    },
    report: ({ task, result }) => {
      const seeds = task.seed - base + 1;
      const { violation } = result;
      if (violation === undefined || (finding?.seeds ?? Infinity) < seeds) return;
      finding = { seeds, property: violation.property };
    },
  });
  return finding;
}

const { base, workers, mutant: only } = readArguments(process.argv.slice(2));
process.stdout.write(`base seed ${base}\n`);
process.stdout.write(`| mutant | what it does | seeds | found by |\n|---|---|---|---|\n`);
for (const { name, what } of MUTANTS) {
  if (only !== undefined && only !== name) continue;
  const finding = await hunt(name, base, workers);
  const result =
    finding === undefined
      ? `> ${SEEDS_MAX} | **not found**`
      : `${finding.seeds} | ${finding.property}`;
  process.stdout.write(`| ${name} | ${what} | ${result} |\n`);
  if (finding === undefined) process.exitCode = 1;
}
