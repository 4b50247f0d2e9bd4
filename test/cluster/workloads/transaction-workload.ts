// Workers that turn each message of one queue into one of another, in a transaction with the ack of the
// first. Judged: each has exactly one result in the end (I5).

import { checkTransactions } from '../checkers/transactions.ts';
import { partitionKey } from '../history/records.ts';
import type { NodeContents, TransactionRecord } from '../history/records.ts';
import { mapOutcome } from './member-client.ts';
import type { MemberClient } from './member-client.ts';
import { createQueue, takeOne, untilEmpty } from './consuming.ts';
import type { NamedVerdict, Workload, WorkloadContext } from './workload.ts';

const SOURCE = 'chaos-source';
const RESULT = 'chaos-result';
const PARTITION = 'p';
const WORKERS = 2;
const LEASE_SECONDS = 3;
const PUSH_PAUSE_MS = 20;

/** Consume, transform, produce. */
export class TransactionWorkload implements Workload {
  readonly reads = [{ queue: RESULT, partitions: [PARTITION] }];
  readonly #context: WorkloadContext;
  readonly #sources: string[] = [];
  readonly #transactions: TransactionRecord[] = [];
  #resultCount = 0;

  constructor(context: WorkloadContext) {
    this.#context = context;
  }

  async prepare(): Promise<void> {
    const options = { leaseTime: LEASE_SECONDS, retryLimit: 1_000_000 };
    for (const queue of [SOURCE, RESULT]) await createQueue(this.#context, queue, options);
  }

  async run(signal: AbortSignal): Promise<void> {
    const workers = Array.from({ length: WORKERS }, () => this.#work(signal));
    await Promise.all([this.#feed(signal), ...workers]);
  }

  async settle(): Promise<void> {
    const client = this.#context.client();
    await untilEmpty(LEASE_SECONDS, () => this.#step(client));
    client.close();
  }

  judge(contents: readonly NodeContents[]): readonly NamedVerdict[] {
    const results = contents[0]?.partitions.get(partitionKey(RESULT, PARTITION)) ?? [];
    const history = { sources: this.#sources, transactions: this.#transactions, results };
    return [{ checker: 'transactions (I5)', ...checkTransactions(history) }];
  }

  /** A push that was not acknowledged may be there all the same: it then has a result, too. */
  async #feed(signal: AbortSignal): Promise<void> {
    const client = this.#context.client();
    for (let i = 0; !signal.aborted; i += 1) {
      const transactionId = `s${i}`;
      const item = { queue: SOURCE, partition: `p${i % 3}`, transactionId, payload: i };
      const { outcome } = await client.ask('POST', '/api/v1/push', { body: { items: [item] } });
      if (outcome.kind === 'ok') this.#sources.push(transactionId);
      await new Promise((resolve) => setTimeout(resolve, PUSH_PAUSE_MS));
    }
    client.close();
  }

  async #work(signal: AbortSignal): Promise<void> {
    const client = this.#context.client();
    while (!signal.aborted) await this.#step(client);
    client.close();
  }

  /** Pops one message and handles it; false if there was none. */
  async #step(client: MemberClient): Promise<boolean> {
    const taken = await takeOne(client, SOURCE);
    if (taken === undefined) return false;
    const { partitionId, leaseId, message } = taken;
    const source = message.transactionId;
    this.#resultCount += 1;
    const result = `${source}/${this.#resultCount}`;
    const item = { queue: RESULT, partition: PARTITION, transactionId: result, payload: source };
    const operations = [
      { type: 'ack', transactionId: source, partitionId, leaseId },
      { type: 'push', items: [item] },
    ];
    const body = { operations };
    const {
      startUs,
      endUs,
      outcome: answer,
    } = await client.ask('POST', '/api/v1/transaction', { body });
    const isApplied = mapOutcome(answer, ({ text }) => {
      return (JSON.parse(text) as { success: boolean }).success;
    });
    this.#transactions.push({ startUs, endUs, source, result, outcome: isApplied });
    return true;
  }
}
