// Durations of one kind of request, kept one by one, so that percentiles are exact.

/** Collects durations in milliseconds. */
export class Latencies {
  readonly #samplesMs: number[] = [];

  get count(): number {
    return this.#samplesMs.length;
  }

  /** Runs `request` and notes how long it took; a rejected one leaves no sample. */
  async measure<T>(request: () => Promise<T>): Promise<T> {
    const startMs = performance.now();
    const result = await request();
    this.add(performance.now() - startMs);
    return result;
  }

  /** Notes one duration. */
  add(durationMs: number): void {
    this.#samplesMs.push(durationMs);
  }

  /** The nearest-rank percentile, 0 < `percent` <= 100; undefined without samples. */
  percentile(percent: number): number | undefined {
    const sorted = Float64Array.from(this.#samplesMs).sort();
    return sorted[Math.ceil((percent / 100) * sorted.length) - 1];
  }
}
