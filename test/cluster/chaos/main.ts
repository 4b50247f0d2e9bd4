// `npm run chaos -- --minutes 10 --faults all`: real processes, real sockets, real faults, and the tables of
// what was done and what was found. Exit code 1 unless everything was judged and nothing is wrong.

import { SeededRng } from '@queen-ts/base';
import { parseArgs } from 'node:util';
import { MemberCluster } from '../harness/member-cluster.ts';
import { FAULTS } from './faults.ts';
import type { Fault } from './faults.ts';
import { formatReport } from './report.ts';
import { isGreen, runChaos } from './run.ts';

const SIZE = 3;
const MS_PER_MINUTE = 60_000;
const SEED_MAX = 2 ** 31;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function chooseFaults(text: string): readonly Fault[] {
  if (text === 'all') return FAULTS;
  return text.split(',').map((name) => {
    const fault = FAULTS.find((it) => it.name === name.trim());
    if (fault !== undefined) return fault;
    const names = FAULTS.map((it) => it.name).join(', ');
    throw new Error(`no fault ${JSON.stringify(name.trim())}; there are: ${names}`);
  });
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    faults: { type: 'string', default: 'all' },
    seed: { type: 'string', default: String(1 + Math.floor(Math.random() * SEED_MAX)) },
  },
});
const faults = chooseFaults(values.faults);
const rng = new SeededRng(Number(values.seed));
say(`seed ${values.seed}: the choices repeat, the timing does not`);
const cluster = await MemberCluster.found({ size: SIZE });
const startMs = performance.now();
const elapsed = (): string => `${((performance.now() - startMs) / 1000).toFixed(1).padStart(7)} s`;
try {
  const report = await runChaos({
    cluster,
    faults,
    durationMs: Number(values.minutes) * MS_PER_MINUTE,
    rng,
    fork: () => new SeededRng(rng.u32()),
    onFault: (name, happened) => {
      say(`${elapsed()}  ${name}${happened ? '' : ': did not happen'}`);
    },
  });
  say(`\n${formatReport(report)}`);
  if (!isGreen(report)) process.exitCode = 1;
} catch (error) {
  for (const member of cluster.members) {
    say(`\nlast log of member ${member}:\n${cluster.member(member).log.slice(-4000)}`);
  }
  throw error;
} finally {
  await cluster.dispose();
}
