// I8: a message whose every delivery failed is a dead letter exactly once, with its payload; one that was
// handled is none.

import { Findings } from '../history/verdict.ts';
import type { Verdict } from '../history/verdict.ts';

/** A message of the run. */
export interface JudgedMessage {
  readonly transactionId: string;
  readonly payload: string;
  /** Consumers fail it every time. */
  readonly isPoison: boolean;
}

/** A dead letter as the broker lists it. */
export interface HeldDeadLetter {
  readonly transactionId: string;
  readonly payload: string;
}

/** Judges the dead letters of one group after everything was consumed. */
export function checkDeadLetters(
  messages: readonly JudgedMessage[],
  deadLetters: readonly HeldDeadLetter[],
): Verdict {
  const findings = new Findings();
  const letters = new Map<string, HeldDeadLetter[]>();
  for (const letter of deadLetters) {
    const known = letters.get(letter.transactionId);
    if (known === undefined) letters.set(letter.transactionId, [letter]);
    else known.push(letter);
  }
  for (const { transactionId, payload, isPoison } of messages) {
    const found = letters.get(transactionId) ?? [];
    letters.delete(transactionId);
    const expected = isPoison ? 1 : 0;
    findings.expect(
      found.length === expected,
      () => `${transactionId}: ${found.length} dead letters, ${expected} expected`,
    );
    for (const letter of found) {
      findings.expect(letter.payload === payload, () => `${transactionId}: altered`);
    }
  }
  for (const transactionId of letters.keys()) {
    findings.expect(false, () => `${transactionId}: a dead letter that nobody pushed`);
  }
  const poisoned = messages.filter(({ isPoison }) => isPoison).length;
  return findings.verdict({ 'poisoned messages': poisoned });
}
