// A process that appends entries for ever and writes the index of each acknowledged one to its output.
// Run by tests, which kill it, with the directory and a seed as arguments.

import { randomBelow, SeededRng } from '@queen-ts/base';

import { entryOf, openBoth } from './fixtures.ts';

const path = process.argv[2] ?? '';
const seed = Number(process.argv[3]);
const rng = new SeededRng(seed);
const { directory, log } = await openBoth(path, {
  writeBufferBytes: 262_144,
  schedule: (run, delayMs) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
});
const { term, commitIndex } = directory.hardState.current;
await directory.hardState.save({ term: term + 1, votedFor: 0, commitIndex });
for (;;) {
  // Now and then a suffix is replaced, as on a follower; what stays before it was acknowledged.
  const isTruncating = log.lastIndex > 10 && randomBelow(rng, 50) === 0;
  const from = log.lastIndex + 1 - (isTruncating ? randomBelow(rng, 10) : 0);
  const count = 1 + randomBelow(rng, 3);
  const payloadBytes = randomBelow(rng, 4) === 0 ? 100_000 : 500;
  const entries = Array.from({ length: count }, (_, i) =>
    entryOf({ index: from + i, term: term + 1, payloadBytes }),
  );
  if (isTruncating) process.stdout.write(`truncating ${from}\n`);
  await log.append(entries);
  process.stdout.write(`appended ${from} ${count} ${term + 1} ${payloadBytes}\n`);
}
