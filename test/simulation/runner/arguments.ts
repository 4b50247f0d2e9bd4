// The command line of the simulator.

import { parseArgs } from 'node:util';

/** What to run. */
export interface SimArguments {
  /** Run exactly this seed. */
  readonly seed: number | undefined;
  readonly seeds: number;
  /** The first of them. */
  readonly base: number;
  /** Stop after this time, however many seeds are left. */
  readonly minutes: number;
  readonly workers: number;
  /** Stop after this many failing seeds. */
  readonly failures: number;
  /** A planted bug to run with; only for replays. */
  readonly mutant: string | undefined;
}

const SEEDS_DEFAULT = 1000;
const SEED_MAX = 2 ** 31;

/** Reads `process.argv.slice(2)`. Throws with a readable message. */
export function readArguments(argv: readonly string[]): SimArguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      base: { type: 'string' },
      minutes: { type: 'string' },
      workers: { type: 'string' },
      failures: { type: 'string' },
      mutant: { type: 'string' },
    },
  });
  return {
    seed: values.seed === undefined ? undefined : whole('seed', values.seed),
    seeds: whole('seeds', values.seeds ?? String(SEEDS_DEFAULT)),
    base: values.base === undefined ? freshBase() : whole('base', values.base),
    minutes: Number(values.minutes ?? Infinity),
    workers: Math.max(1, whole('workers', values.workers ?? '1')),
    failures: Math.max(1, whole('failures', values.failures ?? '1')),
    mutant: values.mutant,
  };
}

/** A base seed that nobody has used yet. */
function freshBase(): number {
  return 1 + Math.floor(Math.random() * SEED_MAX);
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${name} wants a whole number, not ${text}`);
}
