// A process that opens a data directory, says how it went and holds it until its input ends. Run by
// tests with the directory as argument.

import { openBoth } from './fixtures.ts';

const path = process.argv[2] ?? '';
try {
  const { directory } = await openBoth(path);
  process.stdout.write('opened\n');
  for await (const chunk of process.stdin) void chunk;
  await directory.close();
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
