// `npm run bench -- --url …`: loads a cluster, verifies every message, prints what it measured. Exit code 1
// when a message was lost, repeated or out of order, 2 for a wrong command line.

import { writeFileSync } from 'node:fs';
import { helpText, readOptions } from './options.ts';
import type { LoadOptions } from './options.ts';
import { htmlReport } from './report-html.ts';
import { formatResult, liveLine } from './report-text.ts';
import { runLoad } from './run.ts';
import { isSound } from './verify.ts';

process.exitCode = await main();

async function main(): Promise<number> {
  let options: LoadOptions | undefined;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${helpText()}\n`);
    return 2;
  }
  if (options === undefined) {
    process.stdout.write(`${helpText()}\n`);
    return 0;
  }
  const isTerminal = process.stderr.isTTY;
  const result = await runLoad(options, (second) => {
    process.stderr.write(isTerminal ? `\r${liveLine(second)}\u001B[K` : `${liveLine(second)}\n`);
  });
  process.stdout.write(`${formatResult(result)}\n`);
  if (options.jsonFile !== undefined) {
    writeFileSync(options.jsonFile, `${JSON.stringify(result, undefined, 2)}\n`);
  }
  if (options.htmlFile !== undefined) writeFileSync(options.htmlFile, htmlReport(result));
  return isSound(result.verification) ? 0 : 1;
}
