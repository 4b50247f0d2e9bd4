// `npm run fuzz:routes -- --requests 200000 --seed 7`: requests of every kind against a fresh broker, or
// against the one that --url names; --only plays one case and shows it.

import { parseArgs } from 'node:util';
import { BrokerProcess } from '../support/broker-process.ts';
import { commitSeed } from '../support/commit-seed.ts';
import { FUZZED_BROKER } from './routes/broker.ts';
import { reportOf, verdictOf } from './routes/report.ts';
import { fuzzRoutes, playAlone } from './routes/run.ts';

const CASES_DEFAULT = 20_000;
const AT_ONCE_DEFAULT = 24;
const LOG_SHOWN_MAX = 8000;

const { values } = parseArgs({
  options: {
    requests: { type: 'string' },
    seed: { type: 'string' },
    url: { type: 'string' },
    only: { type: 'string' },
    'at-once': { type: 'string' },
  },
});

const seed = numberOf(values.seed, commitSeed());
const broker = values.url === undefined ? await BrokerProcess.launch(FUZZED_BROKER) : undefined;
try {
  const url = values.url ?? broker?.url ?? '';
  if (values.only === undefined) await runAll(url);
  else await runOne(url, numberOf(values.only, 0));
} catch (error) {
  print(`red: ${String(error)}; the broker's last words:`);
  print(broker?.log.slice(-LOG_SHOWN_MAX) ?? '');
  process.exitCode = 1;
} finally {
  await broker?.dispose();
}

async function runAll(url: string): Promise<void> {
  const result = await fuzzRoutes({
    url,
    seed,
    caseCount: numberOf(values.requests, CASES_DEFAULT),
    atOnce: numberOf(values['at-once'], AT_ONCE_DEFAULT),
  });
  const reasons = verdictOf(result, broker?.log ?? '');
  print(reportOf(result, seed));
  print(reasons.length === 0 ? 'green' : `red: ${reasons.join('; ')}`);
  if (reasons.length > 0) process.exitCode = 1;
}

async function runOne(url: string, position: number): Promise<void> {
  const { fuzzCase, reply, problems } = await playAlone(url, seed, position);
  const { wire, cuts, afterwards, expects } = fuzzCase;
  print(`sent, expecting ${expects}, then ${afterwards}, cut at [${cuts.join(', ')}]:`);
  print(JSON.stringify(wire.slice(0, 4000)));
  print(`came: ${reply.end} ${JSON.stringify(reply.rest)}`);
  for (const answer of reply.answers) print(JSON.stringify(answer));
  print(problems.length === 0 ? 'green' : `red: ${problems.join('; ')}`);
  if (problems.length > 0) process.exitCode = 1;
}

function numberOf(text: string | undefined, absent: number): number {
  if (text === undefined) return absent;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${text} is no count`);
  return number;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
