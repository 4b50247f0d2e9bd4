// The conformance suite as tests: one per rule, all run at once beforehand. Against the broker that
// QUEEN_CONFORMANCE_URL names, else against a fresh node.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { AnswerChecker } from './answer-checker.ts';
import { coverageTable } from './coverage-table.ts';
import { runSuite } from './run-suite.ts';
import type { Finding, SectionFindings } from './run-suite.ts';
import { SECTIONS } from './sections/index.ts';

const SUITE_DEADLINE_MS = 180_000;

/** Fewer answers would mean that the checker has not seen the suite. */
const CHECKED_MIN = 1000;

/** Operations that no case may call, since all clients share what they change. */
const UNCALLED = [
  'addLearner',
  'changeMaintenance',
  'changePopMaintenance',
  'promote',
  'removeMember',
  'setVoters',
  'transferLeadership',
];

/** Of a fresh node. */
const ENVIRONMENT = { QUEEN_ENCRYPTION_KEY: '5a'.repeat(32) };

const checker = new AnswerChecker();
const state: { findings: SectionFindings[]; broker: BrokerProcess | undefined } = {
  findings: [],
  broker: undefined,
};

beforeAll(async () => {
  const given = process.env['QUEEN_CONFORMANCE_URL'];
  if (given === undefined) state.broker = await BrokerProcess.launch({ env: ENVIRONMENT });
  state.findings = await runSuite(given ?? state.broker?.url ?? '', SECTIONS, checker);
}, SUITE_DEADLINE_MS);

afterAll(async () => {
  await state.broker?.dispose();
  process.stdout.write(`\n${coverageTable(state.findings)}\n\n`);
});

describe.each(SECTIONS.map(({ title, rules }, position) => ({ title, rules, position })))(
  '$title',
  ({ rules, position }) => {
    const findingOf = (at: number): Finding | undefined => state.findings[position]?.findings[at];
    rules.forEach(({ sentence, check }, at) => {
      if (check === undefined) return;
      it(sentence, () => {
        const finding = findingOf(at);
        if (finding?.verdict === 'broken') throw finding.error;
        expect(finding?.verdict).not.toBe('mended');
      });
    });
  },
);

it('every rule has a sentence of its own that names its paragraph', () => {
  const sentences = SECTIONS.flatMap(({ rules }) => rules.map(({ sentence }) => sentence));
  expect(sentences.filter((sentence) => !/^§\d+(\.\d+)? \S/.test(sentence))).toEqual([]);
  expect(sentences.filter((sentence, i) => sentences.indexOf(sentence) !== i)).toEqual([]);
});

it('every answer fits its description in docs/openapi.json', () => {
  const violations = [...checker.violations].map(([what, seen]) => `${what}\n  ${seen}`);
  expect(violations.join('\n')).toBe('');
  expect(checker.checkedCount).toBeGreaterThan(CHECKED_MIN);
});

it('has called every operation that it may call', () => {
  expect(checker.unseen.toSorted()).toEqual(UNCALLED);
});
