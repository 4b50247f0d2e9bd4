// I5: the ack and the push of a transaction happen together, so each source message has exactly one
// result in the end, and an answer tells the truth about its own.

import type { HeldMessage, TransactionRecord } from '../history/records.ts';
import { Findings } from '../history/verdict.ts';
import type { Verdict } from '../history/verdict.ts';

/** What is judged together. */
export interface TransactionHistory {
  /** Transaction ids of all messages to consume, every one of which was consumed in the end. */
  readonly sources: readonly string[];
  readonly transactions: readonly TransactionRecord[];
  /** What the queue of the results holds in the end. */
  readonly results: readonly HeldMessage[];
}

/** Judges transactions by their results. */
export function checkTransactions(history: TransactionHistory): Verdict {
  const findings = new Findings();
  const results = new Set<string>();
  for (const { transactionId } of history.results) {
    findings.expect(!results.has(transactionId), () => `result ${transactionId} is stored twice`);
    results.add(transactionId);
  }
  const counts = new Map<string, number>();
  for (const { source, result, outcome } of history.transactions) {
    const isStored = results.has(result);
    if (isStored) counts.set(source, (counts.get(source) ?? 0) + 1);
    if (outcome.kind === 'unknown') continue;
    const isApplied = outcome.kind === 'ok' && outcome.value;
    findings.expect(
      isStored === isApplied,
      () => `${result}: ${isApplied ? 'applied and missing' : 'not applied and stored'}`,
    );
  }
  for (const source of history.sources) {
    const count = counts.get(source) ?? 0;
    findings.expect(count === 1, () => `message ${source} has ${count} results`);
  }
  return findings.verdict({
    'messages consumed by transactions': history.sources.length,
    transactions: history.transactions.length,
  });
}
