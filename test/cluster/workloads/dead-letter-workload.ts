// Messages of which one in five fails every time. Judged: those are dead letters, once, with their
// payload, and no other is (I8).

import { checkDeadLetters } from '../checkers/dead-letters.ts';
import type { HeldDeadLetter, JudgedMessage } from '../checkers/dead-letters.ts';
import type { MemberClient } from './member-client.ts';
import { createQueue, insist, takeOne, untilEmpty } from './consuming.ts';
import type { NamedVerdict, Workload, WorkloadContext } from './workload.ts';

const QUEUE = 'chaos-dead';
const POISON_EVERY = 5;
const RETRY_LIMIT = 2;
const WORKERS = 2;
const LEASE_SECONDS = 3;
const PUSH_PAUSE_MS = 40;
const PAGE = 500;

/** Failing consumers. */
export class DeadLetterWorkload implements Workload {
  readonly reads = [];
  readonly #context: WorkloadContext;
  readonly #messages: JudgedMessage[] = [];
  readonly #inDoubt: JudgedMessage[] = [];

  constructor(context: WorkloadContext) {
    this.#context = context;
  }

  prepare(): Promise<void> {
    const options = { leaseTime: LEASE_SECONDS, retryLimit: RETRY_LIMIT, dedupWindowSeconds: 3600 };
    return createQueue(this.#context, QUEUE, options);
  }

  async run(signal: AbortSignal): Promise<void> {
    const workers = Array.from({ length: WORKERS }, () => this.#work(signal));
    await Promise.all([this.#feed(signal), ...workers]);
  }

  async settle(): Promise<void> {
    const client = this.#context.client();
    for (const message of this.#inDoubt) {
      await insist('a push in doubt', () => push(client, message));
      this.#messages.push(message);
    }
    await untilEmpty(LEASE_SECONDS, () => this.#step(client));
    client.close();
  }

  async judge(): Promise<readonly NamedVerdict[]> {
    const client = this.#context.client();
    const letters: HeldDeadLetter[] = [];
    for (;;) {
      const path = `/api/v1/dlq?queue=${QUEUE}&limit=${PAGE}&offset=${letters.length}`;
      const { text } = await insist('dead letters', () => client.ask('GET', path));
      const { messages } = JSON.parse(text) as {
        readonly messages: readonly { readonly transactionId: string; readonly payload: unknown }[];
      };
      if (messages.length === 0) break;
      for (const { transactionId, payload } of messages) {
        letters.push({ transactionId, payload: JSON.stringify(payload) });
      }
    }
    client.close();
    return [{ checker: 'dead letters (I8)', ...checkDeadLetters(this.#messages, letters) }];
  }

  async #feed(signal: AbortSignal): Promise<void> {
    const client = this.#context.client();
    for (let i = 0; !signal.aborted; i += 1) {
      const isPoison = i % POISON_EVERY === 0;
      const message = {
        transactionId: `d${i}`,
        payload: JSON.stringify({ isPoison, i }),
        isPoison,
      };
      const { outcome } = await push(client, message);
      if (outcome.kind === 'ok') this.#messages.push(message);
      else if (outcome.kind === 'unknown') this.#inDoubt.push(message);
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
    const taken = await takeOne(client, QUEUE);
    if (taken === undefined) return false;
    const { partitionId, leaseId, message } = taken;
    const { isPoison } = message.data as { isPoison: boolean };
    const status = isPoison ? 'failed' : 'completed';
    const { transactionId } = message;
    const acknowledgments = [{ transactionId, partitionId, leaseId, status }];
    await client.ask('POST', '/api/v1/ack/batch', { body: { acknowledgments } });
    return true;
  }
}

async function push(client: MemberClient, { transactionId, payload }: JudgedMessage) {
  const number = Number(transactionId.slice(1));
  const partition = `p${number % 4}`;
  const item = { queue: QUEUE, partition, transactionId, payload: JSON.parse(payload) as unknown };
  return client.ask('POST', '/api/v1/push', { body: { items: [item] } });
}
