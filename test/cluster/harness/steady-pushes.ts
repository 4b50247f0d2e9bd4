// One message after the other through one member, as a client does that is told to try again: the same
// transaction id until it is stored. Measures the longest time without a stored message.

import type { HttpClient } from '../../support/http-client.ts';

/** Attempts of one message are this far apart. */
const RETRY_MS = 20;
const ATTEMPT_MS_MAX = 10_000;

/** Pushes until it is stopped. */
export class SteadyPushes {
  readonly #clients: readonly HttpClient[];
  readonly #queue: string;
  readonly #stored: string[] = [];
  readonly #refusals = new Map<string, number>();
  #isStopping = false;
  #longestGapMs = 0;
  readonly #done: Promise<void>;

  /** @param clients tried in turn when one refuses; the first is used as long as it answers. */
  constructor(clients: readonly HttpClient[], queue: string) {
    this.#clients = clients;
    this.#queue = queue;
    this.#done = this.#run();
  }

  /** Transaction ids of messages that were answered as stored, in that order. */
  get stored(): readonly string[] {
    return this.#stored;
  }

  /** Longest time between two stored messages, in milliseconds. */
  get longestGapMs(): number {
    return this.#longestGapMs;
  }

  /** How often it was told something else, by status and code. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#refusals;
  }

  /** Resolves once the last message is stored. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    let lastMs = performance.now();
    for (let number = 0; !this.#isStopping; number += 1) {
      const transactionId = `steady-${number}`;
      await this.#store(transactionId);
      this.#stored.push(transactionId);
      const nowMs = performance.now();
      this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - lastMs);
      lastMs = nowMs;
    }
  }

  async #store(transactionId: string): Promise<void> {
    const body = JSON.stringify({ items: [{ queue: this.#queue, transactionId, payload: 1 }] });
    for (let attempt = 0; ; attempt += 1) {
      const client = this.#clients[attempt % this.#clients.length]!;
      const signal = AbortSignal.timeout(ATTEMPT_MS_MAX);
      try {
        const answer = await client.request('POST', '/api/v1/push', { body, signal });
        if (answer.status === 201) return;
        const { code } = JSON.parse(answer.text) as { code?: string };
        this.#refused(`${answer.status} ${code}`);
      } catch (error) {
        this.#refused(error instanceof Error ? error.name : 'unknown');
      }
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  }

  #refused(what: string): void {
    this.#refusals.set(what, (this.#refusals.get(what) ?? 0) + 1);
  }
}
