// Latencies and counts of one thread, handed over once a second.

import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import type { Histogram } from 'hdr-histogram-js';

/** What is timed. `endToEnd`: from the scheduled push to the receipt by a consumer. */
export const OPERATIONS = ['push', 'pop', 'ack', 'endToEnd'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What a thread did in one interval. */
export interface IntervalSample {
  /** Requests answered 2xx, by operation; for `endToEnd` messages received. */
  readonly counts: Readonly<Record<Operation, number>>;
  readonly pushedMessages: number;
  readonly poppedMessages: number;
  readonly ackedMessages: number;
  /** Answers that were not 2xx by operation and status (0: none came). */
  readonly errors: Readonly<Record<string, number>>;
  /** Compressed histograms of microseconds. */
  readonly latencies: Readonly<Record<Operation, string>>;
}

/** Longest latency that is told apart: a minute. */
const LATENCY_US_MAX = 60_000_000;
const SIGNIFICANT_DIGITS = 3;

/** An empty histogram of microseconds. */
export function latencyHistogram(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LATENCY_US_MAX,
    numberOfSignificantValueDigits: SIGNIFICANT_DIGITS,
  });
}

/** The histogram that {@link IntervalSample.latencies} holds. */
export function decodeLatencies(text: string): Histogram {
  return decodeFromCompressedBase64(text);
}

/** Collects until {@link take}. */
export class Recorder {
  pushedMessages = 0;
  poppedMessages = 0;
  ackedMessages = 0;
  readonly #histograms = new Map<Operation, Histogram>(
    OPERATIONS.map((operation) => [operation, latencyHistogram()]),
  );
  #errors: Record<string, number> = {};

  /** Notes an answer; only 2xx has a latency. */
  answer(operation: Operation, status: number, latencyUs: number): boolean {
    const isGood = status >= 200 && status < 300;
    if (isGood) this.latency(operation, latencyUs);
    else {
      const key = `${operation} ${status === 0 ? 'no answer' : status}`;
      this.#errors[key] = (this.#errors[key] ?? 0) + 1;
    }
    return isGood;
  }

  latency(operation: Operation, us: number): void {
    const value = Math.min(LATENCY_US_MAX, Math.max(1, Math.round(us)));
    this.#histograms.get(operation)?.recordValue(value);
  }

  /** Hands over what was collected and starts anew. */
  take(): IntervalSample {
    const counts: Partial<Record<Operation, number>> = {};
    const latencies: Partial<Record<Operation, string>> = {};
    for (const [operation, histogram] of this.#histograms) {
      counts[operation] = histogram.totalCount;
      latencies[operation] = encodeIntoCompressedBase64(histogram);
      histogram.reset();
    }
    const { pushedMessages, poppedMessages, ackedMessages } = this;
    const errors = this.#errors;
    this.pushedMessages = 0;
    this.poppedMessages = 0;
    this.ackedMessages = 0;
    this.#errors = {};
    return {
      counts: counts as Record<Operation, number>,
      latencies: latencies as Record<Operation, string>,
      pushedMessages,
      poppedMessages,
      ackedMessages,
      errors,
    };
  }
}
