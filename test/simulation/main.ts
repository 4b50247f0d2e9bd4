// `npm run sim`: runs seeds and says what came of them. Exit code 1 when one violates a property.

import { readArguments } from './runner/arguments.ts';
import type { SimArguments } from './runner/arguments.ts';
import { describeFailure } from './runner/failure.ts';
import { runPool } from './runner/pool.ts';
import { Totals } from './runner/totals.ts';
import { runTask } from './runner/worker.ts';

const MS_PER_MINUTE = 60_000;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Replays one seed in this thread. */
async function replay(seed: number, mutant: string | undefined): Promise<boolean> {
  const report = await runTask({ seed, mutant });
  const totals = new Totals();
  totals.add(report);
  say(totals.text({ base: seed, elapsedMs: report.cpuUs / 1000, workers: 1 }));
  say(`fingerprint ${report.result.fingerprint.toString(16)}`);
  if (report.result.violation === undefined) return true;
  say(`\n${describeFailure(report)}`);
  return false;
}

async function runMany(options: SimArguments): Promise<boolean> {
  const { seeds, base, minutes, workers, mutant } = options;
  const failuresMax = options.failures;
  const totals = new Totals();
  const startMs = performance.now();
  const elapsedMs = (): number => performance.now() - startMs;
  let position = 0;
  let failures = 0;
  await runPool({
    workers,
    next: () => {
      const isTimeOver = elapsedMs() > minutes * MS_PER_MINUTE;
      if (position >= seeds || isTimeOver || failures >= failuresMax) return undefined;
      position += 1;
      return { seed: base + position - 1, mutant };
    },
    report: (report) => {
      totals.add(report);
      if (report.result.violation === undefined) return;
      failures += 1;
      say(`${describeFailure(report)}\n`);
    },
  });
  say(totals.text({ base, elapsedMs: elapsedMs(), workers }));
  say(failures === 0 ? 'no violation' : `${failures} failing`);
  return failures === 0;
}

const options = readArguments(process.argv.slice(2));
const isGood =
  options.seed === undefined ? await runMany(options) : await replay(options.seed, options.mutant);
process.exitCode = isGood ? 0 : 1;
