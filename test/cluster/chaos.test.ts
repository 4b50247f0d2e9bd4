// A short chaos run: every fault once, all histories judged. `npm run chaos` runs longer ones.

import { SeededRng } from '@queen-ts/base';
import { afterAll, expect, it, onTestFailed } from 'vitest';
import { commitSeed } from '../support/commit-seed.ts';
import { FAULTS } from './chaos/faults.ts';
import { formatReport } from './chaos/report.ts';
import { isGreen, runChaos } from './chaos/run.ts';
import { MemberCluster } from './harness/member-cluster.ts';

const MEMBERS = 3;
const DEADLINE_MS = 600_000;
const LOG_TAIL_CHARACTERS = 4000;

let cluster: MemberCluster | undefined;

afterAll(async () => {
  await cluster?.dispose();
});

it(
  'three members keep every promise through every fault',
  async () => {
    const seed = commitSeed();
    const rng = new SeededRng(seed);
    const members = await MemberCluster.found({ size: MEMBERS });
    cluster = members;
    onTestFailed(() => {
      for (const id of members.members) {
        const tail = members.member(id).log.slice(-LOG_TAIL_CHARACTERS);
        process.stderr.write(`\nlast log of member ${id}:\n${tail}\n`);
      }
    });
    const report = await runChaos({
      cluster: members,
      faults: FAULTS,
      durationMs: 0,
      rng,
      fork: () => new SeededRng(rng.u32()),
      onFault: () => {},
    });
    process.stderr.write(`\nseed ${seed}\n${formatReport(report)}\n`);
    expect(isGreen(report), formatReport(report)).toBe(true);
  },
  DEADLINE_MS,
);
