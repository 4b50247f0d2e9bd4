// I2 for repeated pushes: however often and wherever a message is sent, all answers name one place, and
// at most one of them says that it was new.

import { partitionKey } from '../history/records.ts';
import type { PushRecord, StoredAt } from '../history/records.ts';
import { Findings } from '../history/verdict.ts';
import type { Verdict } from '../history/verdict.ts';

/** Judges the answers to pushes that were sent several times. */
export function checkDedup(pushes: readonly PushRecord[]): Verdict {
  const findings = new Findings();
  const answers = new Map<string, StoredAt[]>();
  for (const { queue, partition, transactionId, outcome } of pushes) {
    if (outcome.kind !== 'ok') continue;
    const key = `${partitionKey(queue, partition)}/${transactionId}`;
    const known = answers.get(key);
    if (known === undefined) answers.set(key, [outcome.value]);
    else known.push(outcome.value);
  }
  let repeated = 0;
  for (const [key, [first, ...others]] of answers) {
    if (first === undefined || others.length === 0) continue;
    repeated += 1;
    for (const other of others) {
      findings.expect(
        other.offset === first.offset && other.messageId === first.messageId,
        () => `${key}: answered ${JSON.stringify(first)} and ${JSON.stringify(other)}`,
      );
    }
    const fresh = [first, ...others].filter(({ isDuplicate }) => !isDuplicate).length;
    findings.expect(fresh <= 1, () => `${key}: ${fresh} answers say that it was new`);
  }
  return findings.verdict({ 'repeated pushes with two answers': repeated });
}
