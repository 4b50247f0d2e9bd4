// The conformance suite against a member that does not lead: nothing is different there.

import { afterAll, expect, test } from 'vitest';
import { AnswerChecker } from '../conformance/answer-checker.ts';
import { runSuite } from '../conformance/run-suite.ts';
import { SECTIONS } from '../conformance/sections/index.ts';
import { MemberCluster } from './harness/member-cluster.ts';

const SUITE_MS_MAX = 240_000;
const RULE_COUNT_MIN = 500;

const state: { cluster: MemberCluster | undefined } = { cluster: undefined };

afterAll(async () => {
  await state.cluster?.dispose();
});

test(
  'a follower keeps every rule of the wire contract',
  async () => {
    const environment = { QUEEN_ENCRYPTION_KEY: '5a'.repeat(32) };
    const cluster = await MemberCluster.found({ size: 3, environment });
    state.cluster = cluster;
    const leader = await cluster.electedLeader();
    const follower = cluster.members.find((id) => id !== leader)!;
    const checker = new AnswerChecker();
    const sections = await runSuite(cluster.member(follower).url, SECTIONS, checker);
    const findings = sections.flatMap((section) => section.findings);
    const broken = findings
      .filter(({ verdict }) => verdict === 'broken')
      .map(({ rule, error }) => `${rule.sentence}: ${String(error)}`);
    expect(broken).toEqual([]);
    expect([...checker.violations]).toEqual([]);
    expect(findings.filter(({ verdict }) => verdict === 'holds').length).toBeGreaterThan(
      RULE_COUNT_MIN,
    );
    // Else the suite would have spoken to the leader.
    expect(await cluster.leader()).toBe(leader);
  },
  SUITE_MS_MAX,
);
