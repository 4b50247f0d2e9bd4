// `npm run fuzz:scanner -- --documents 1000000 --seed 7`: the scanner of hot bodies against JSON.parse.

import { parseArgs } from 'node:util';
import { commitSeed } from '../support/commit-seed.ts';
import { fuzzScanner } from './scanner/run.ts';

const DOCUMENTS_DEFAULT = 1_000_000;

const { values } = parseArgs({
  options: { documents: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
});
const seed = Number(values.seed ?? commitSeed());
const from = Number(values.only ?? 0);
const count = values.only === undefined ? Number(values.documents ?? DOCUMENTS_DEFAULT) : 1;
const startMs = performance.now();
const { accepted, refused, difference } = fuzzScanner(seed, from, from + count);
const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
process.stdout.write(`seed ${seed}: ${accepted} accepted, ${refused} refused in ${seconds} s\n`);
if (difference === undefined) process.stdout.write('green: the scanner and JSON.parse agree\n');
else {
  process.stdout.write(`red: ${difference}\n`);
  process.exitCode = 1;
}
