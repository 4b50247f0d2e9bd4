// Runs the checks of all sections against one broker, many at a time: most of their time is waiting
// for leases and delays.

import { within } from '../support/eventually.ts';
import type { HttpClient } from '../support/http-client.ts';
import type { AnswerChecker } from './answer-checker.ts';
import { CheckedClient } from './checked-client.ts';
import type { Rule, Section } from './rule.ts';
import { randomDigits, Scene } from './scene.ts';

const AT_ONCE_MAX = 24;
const CHECK_DEADLINE_MS = 30_000;

/** Reads that no rule is about; their answers are held to their descriptions like all others. */
const OTHER_READS = [
  '/api/v1/resources/overview',
  '/api/v1/system/maintenance',
  '/api/v1/system/maintenance/pop',
  '/api/v1/system/raft/membership',
  '/api/v1/raft/status',
  '/api/v1/raft/members',
  '/api/v1/raft/liveness',
  '/api/v1/openapi.json',
  '/docs',
  '/health',
  '/health/live',
  '/metrics',
  '/metrics/prometheus',
];

/**
 * What became of a rule. `known` failed as expected, `mended` is listed as a known deviation and
 * holds, `unchecked` has no check.
 */
export type Verdict = 'holds' | 'broken' | 'known' | 'mended' | 'unchecked';

/** A rule with its verdict. */
export interface Finding {
  readonly rule: Rule;
  readonly verdict: Verdict;
  /** What the check threw. */
  readonly error: unknown;
}

/** Findings of a section, in its order. */
export interface SectionFindings {
  readonly title: string;
  readonly findings: readonly Finding[];
}

/**
 * Checks every rule once, and removes the queues that the checks have made. `checker` sees all answers.
 */
export async function runSuite(
  url: string,
  sections: readonly Section[],
  checker: AnswerChecker,
): Promise<SectionFindings[]> {
  const client = new CheckedClient(url, checker);
  const prefix = `cf${randomDigits()}-`;
  try {
    // A broker that is not there is one error, not one per rule.
    await client.queues({ limit: 1 });
    const found = await mapAll(
      sections.flatMap(({ rules }) => rules),
      (rule) => find(rule, new Scene(client, prefix)),
    );
    for (const path of OTHER_READS) await client.request('GET', path);
    await sweep(client, prefix);
    return sections.map(({ title, rules }) => ({
      title,
      findings: found.splice(0, rules.length),
    }));
  } finally {
    client.close();
  }
}

/** Maps many at a time, and keeps their order. */
async function mapAll<T, R>(values: readonly T[], map: (value: T) => Promise<R>): Promise<R[]> {
  const mapped: R[] = [];
  // The workers share the iterator: each takes what comes next.
  const waiting = values.entries();
  const work = async (): Promise<void> => {
    for (const [position, value] of waiting) mapped[position] = await map(value);
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, work));
  return mapped;
}

async function sweep(client: HttpClient, prefix: string): Promise<void> {
  const queues = await client.queues({ search: prefix });
  await mapAll(queues, ({ name }) => client.deleteQueue(name));
}

async function find(rule: Rule, scene: Scene): Promise<Finding> {
  const { check, reason, sentence } = rule;
  if (check === undefined) return { rule, verdict: 'unchecked', error: undefined };
  const isKnown = reason !== undefined;
  try {
    await within(sentence, check(scene), CHECK_DEADLINE_MS);
    return { rule, verdict: isKnown ? 'mended' : 'holds', error: undefined };
  } catch (error) {
    return { rule, verdict: isKnown ? 'known' : 'broken', error };
  }
}
