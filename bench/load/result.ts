// What a run measured, second by second and as a whole.

import type { Histogram } from 'hdr-histogram-js';
import type { LoadOptions } from './options.ts';
import { decodeLatencies, latencyHistogram, OPERATIONS } from './recorder.ts';
import type { IntervalSample, Operation } from './recorder.ts';
import type { Verification } from './verify.ts';

/** Latencies in milliseconds. */
export interface LatencySummary {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** One second of the time line. */
export interface Second {
  /** Seconds since the load began, at its end. */
  readonly at: number;
  readonly isMeasured: boolean;
  readonly pushed: number;
  readonly popped: number;
  readonly acked: number;
  readonly errors: number;
  readonly latencies: Readonly<Record<Operation, LatencySummary>>;
}

/** What the processes of the cluster used while the load was measured. */
export interface ClusterUse {
  readonly cpuSeconds: number;
  /** CPU seconds for a million messages that were pushed, popped and acked. */
  readonly cpuSecondsPerMillion: number;
  /** Resident memory of all of them at the end, in bytes. */
  readonly rssBytes: number;
}

/** The result of a run. */
export interface LoadResult {
  readonly startedAt: string;
  readonly options: LoadOptions;
  /** Length of the measurement. */
  readonly seconds: number;
  readonly pushedPerSecond: number;
  readonly poppedPerSecond: number;
  readonly ackedPerSecond: number;
  /** Payload megabytes (10^6 bytes) a second, pushed. */
  readonly pushedMegabytesPerSecond: number;
  readonly latencies: Readonly<Record<Operation, LatencySummary>>;
  readonly errors: Readonly<Record<string, number>>;
  readonly timeline: readonly Second[];
  readonly generator: {
    /** CPU cores that the generator kept busy. */
    readonly cores: number;
    /** Share of its time in which the busiest thread had work; above 0.9 the generator is the bound. */
    readonly busiestThread: number;
  };
  readonly cluster: ClusterUse | undefined;
  readonly verification: Verification;
}

const US_PER_MS = 1000;

/** Adds up samples of several threads and seconds. */
export class Tally {
  pushed = 0;
  popped = 0;
  acked = 0;
  readonly errors: Record<string, number> = {};
  readonly #histograms = new Map<Operation, Histogram>(
    OPERATIONS.map((operation) => [operation, latencyHistogram()]),
  );

  get errorCount(): number {
    return Object.values(this.errors).reduce((sum, count) => sum + count, 0);
  }

  add(sample: IntervalSample): void {
    this.pushed += sample.pushedMessages;
    this.popped += sample.poppedMessages;
    this.acked += sample.ackedMessages;
    for (const [key, count] of Object.entries(sample.errors)) {
      this.errors[key] = (this.errors[key] ?? 0) + count;
    }
    for (const [operation, histogram] of this.#histograms) {
      if (sample.counts[operation] === 0) continue;
      histogram.add(decodeLatencies(sample.latencies[operation]));
    }
  }

  summaries(): Record<Operation, LatencySummary> {
    const summaries: Partial<Record<Operation, LatencySummary>> = {};
    for (const [operation, histogram] of this.#histograms) {
      const at = (percentile: number): number => {
        const us = histogram.totalCount === 0 ? 0 : histogram.getValueAtPercentile(percentile);
        return us / US_PER_MS;
      };
      summaries[operation] = {
        count: histogram.totalCount,
        p50: at(50),
        p90: at(90),
        p99: at(99),
        p999: at(99.9),
        max: at(100),
      };
    }
    return summaries as Record<Operation, LatencySummary>;
  }
}
