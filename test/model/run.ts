// Searches for differences between engine and model from the command line:
//   node --conditions=source test/model/run.ts --sequences 20000 --seed 1 --max-commands 200

import { parseArgs } from 'node:util';
import { searchDifference } from './property.ts';

/** Sequences between two lines of progress; each batch has a seed of its own. */
const BATCH = 250;

/** Longest time of one batch, shrinking included. */
const BATCH_MS = 300_000;

const { values } = parseArgs({
  options: {
    sequences: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    'max-commands': { type: 'string', default: '200' },
  },
});
const total = Number(values.sequences);
const firstSeed = Number(values.seed);
const maxCommands = Number(values['max-commands']);

for (let done = 0; done < total; done += BATCH) {
  const seed = firstSeed + done / BATCH;
  const sequences = Math.min(BATCH, total - done);
  const report = searchDifference({ sequences, seed, maxCommands, timeLimitMs: BATCH_MS });
  if (report !== undefined) {
    process.stderr.write(`${report}\n`);
    process.exitCode = 1;
    break;
  }
  process.stdout.write(`${done + sequences} of ${total} sequences agree, last seed ${seed}\n`);
}
