// The property: the engine behaves like the model on every sequence. A failure shows the shortest
// sequence found, as what happened and as a literal for the regression tests.

import fc from 'fast-check';
import { sequences } from './operations.ts';
import type { Sequence } from './operations.ts';
import { SequenceRun } from './run-sequence.ts';

/** Size of a search. */
export interface Search {
  readonly sequences: number;
  readonly seed: number;
  /** Most commands of one sequence. */
  readonly maxCommands: number;
  /** When to stop searching and shrinking, in milliseconds. */
  readonly timeLimitMs: number;
}

/** Undefined when all sequences agreed, else the report of the shrunk counter-example. */
export function searchDifference(search: Search): string | undefined {
  const property = fc.property(sequences(search.maxCommands), (sequence) => {
    new SequenceRun(sequence).run();
  });
  const details = fc.check(property, {
    seed: search.seed,
    numRuns: search.sequences,
    interruptAfterTimeLimit: search.timeLimitMs,
  });
  if (!details.failed) return undefined;
  const [sequence] = details.counterexample!;
  return describeFailure(sequence, `seed ${search.seed}, sequence ${details.numRuns}`);
}

/** Runs a sequence; returns the report of its failure, or undefined. */
export function describeFailure(sequence: Sequence, title: string): string | undefined {
  const run = new SequenceRun(sequence);
  try {
    run.run();
    return undefined;
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const literal = JSON.stringify(sequence.steps);
    return [
      `engine and model differ (${title})`,
      what,
      '',
      ...run.trace,
      '',
      `drainsOften: ${sequence.drainsOften}, isTight: ${sequence.isTight}, steps: ${literal}`,
    ].join('\n');
  }
}
