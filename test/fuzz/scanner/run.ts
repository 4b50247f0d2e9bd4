// Runs the comparison over the documents of one seed.

import { Random } from '../random.ts';
import { Comparison } from './compare.ts';
import { document } from './documents.ts';

/** What a run came to. */
export interface ScannerResult {
  readonly accepted: number;
  readonly refused: number;
  /** The first difference: the number of its document, the document, and what is different. */
  readonly difference: string | undefined;
}

/** Compares documents [from, toExclusive) of a seed; stops at the first difference. */
export function fuzzScanner(seed: number, from: number, toExclusive: number): ScannerResult {
  const comparison = new Comparison();
  const counts = { accepted: 0, refused: 0 };
  for (let position = from; position < toExclusive; position++) {
    const bytes = document(new Random(seed, position));
    const outcome = comparison.check(bytes);
    if (outcome.kind === 'different') {
      const shown = JSON.stringify(Buffer.from(bytes).toString('latin1'));
      const difference = `document ${position} of seed ${seed}, ${shown}: ${outcome.what}`;
      return { ...counts, difference };
    }
    counts[outcome.kind] += 1;
  }
  return { ...counts, difference: undefined };
}
