// A process that brings one directory up to date from another, again and again, and says what it has
// come to. Run by tests, which kill it, with both directories as arguments.

import { appendTo, checkpointAt, openAsStart, receiveFrom } from './snapshot-nodes.ts';

const source = await openAsStart(process.argv[2] ?? '');
const target = await openAsStart(process.argv[3] ?? '');
await target.directory.hardState.save({ term: 1, votedFor: 0, commitIndex: 0 });
for (;;) {
  const index = source.log.lastIndex + 20;
  await appendTo(source, index);
  await checkpointAt(source, index - 3);
  const position = await receiveFrom(source, target, (count) => {
    process.stdout.write(`piece ${count}\n`);
  });
  process.stdout.write(`finished ${position.index}\n`);
  await target.log.install?.(position);
  process.stdout.write(`installed ${position.index}\n`);
  const { lastIndex } = target.log;
  await appendTo(target, lastIndex + 2);
  process.stdout.write(`appended ${lastIndex + 2}\n`);
}
