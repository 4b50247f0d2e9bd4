// Drains the queue as one consumer group: several workers, each popping whatever partition is ready,
// acknowledging the batch, and popping again.

import { Ledger } from './ledger.ts';
import { Latencies } from './latencies.ts';
import type { Flight } from './flights.ts';
import type { BrokerClient } from './broker-client.ts';

const WORKERS = 3;
const BATCH_MESSAGES = 200;
const PARTITIONS_PER_POP = 8;
const LONG_POLL_MS = 5_000;

/** What a group works with. */
export interface ConsumerGroupOptions {
  readonly name: string;
  readonly client: BrokerClient;
  readonly queue: string;
  readonly generation: number;
  readonly flights: readonly Flight[];
  /** Called after each received batch. */
  readonly onReceived: (messages: number) => void;
}

/** One group of the demo. */
export class ConsumerGroup {
  readonly name: string;
  readonly ledger: Ledger;
  /** Pops that delivered something, long-poll waits included. */
  readonly popLatencies = new Latencies();
  /** From the first pop to the last ack. */
  elapsedMs = 0;
  readonly #options: ConsumerGroupOptions;

  constructor(options: ConsumerGroupOptions) {
    this.name = options.name;
    this.#options = options;
    this.ledger = new Ledger(options.generation, options.flights);
  }

  /** Consumes until every message of the generation was received and acknowledged, or `signal`. */
  async drain(signal: AbortSignal): Promise<void> {
    const startMs = performance.now();
    const complete = new AbortController();
    const stop = AbortSignal.any([signal, complete.signal]);
    const workers = Array.from({ length: WORKERS }, async () => {
      while (!stop.aborted) {
        await this.#consumeBatch(stop);
        if (this.ledger.isComplete) complete.abort();
      }
    });
    await Promise.all(workers);
    this.elapsedMs = performance.now() - startMs;
  }

  async #consumeBatch(stop: AbortSignal): Promise<void> {
    const { client, queue, onReceived } = this.#options;
    const startMs = performance.now();
    const pop = client.pop({
      queue,
      group: this.name,
      batch: BATCH_MESSAGES,
      partitions: PARTITIONS_PER_POP,
      timeoutMs: LONG_POLL_MS,
      signal: stop,
    });
    const messages = await pop.catch((error: unknown) => {
      // A worker that is still parked when the group is done hangs up.
      if (stop.aborted) return [];
      throw error;
    });
    if (messages.length === 0) return;
    this.popLatencies.add(performance.now() - startMs);
    for (const message of messages) this.ledger.add(message);
    onReceived(messages.length);
    await client.ack(this.name, messages);
  }
}
