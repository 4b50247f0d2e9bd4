// Terms of the retained log, one pair per term and not per entry: terms never fall, so the log is a
// few runs of equal terms.

import { assert } from '@queen-ts/base';

/** Maps index to term over [base, last], where `base` is the position just before the log. */
export class TermRanges {
  readonly #starts: number[];
  readonly #terms: number[];

  /** @param base index and term of the position before the first entry; 0 and 0 for a new log. */
  constructor(base: { readonly index: number; readonly term: number }) {
    this.#starts = [base.index];
    this.#terms = [base.term];
  }

  /** The position before the first known one. */
  get base(): number {
    return this.#starts[0] ?? 0;
  }

  /** Number of runs, for tests of compactness. */
  get runCount(): number {
    return this.#starts.length;
  }

  /** Notes that the entry at `index`, the next one, has `term`. */
  push(index: number, term: number): void {
    const lastTerm = this.#terms[this.#terms.length - 1] ?? 0;
    assert(term >= lastTerm, () => `term ${term} at index ${index} after term ${lastTerm}`);
    if (term === lastTerm) return;
    this.#starts.push(index);
    this.#terms.push(term);
  }

  /** Forgets everything at and after `from`, which is beyond the base. */
  truncate(from: number): void {
    while (this.#starts.length > 1 && (this.#starts[this.#starts.length - 1] ?? 0) >= from) {
      this.#starts.pop();
      this.#terms.pop();
    }
  }

  /** Makes `base`, which lies in [base, last], the new base. */
  compact(base: number): void {
    const position = this.#positionOf(base);
    this.#starts.splice(0, position);
    this.#terms.splice(0, position);
    this.#starts[0] = base;
  }

  /** Term of `index`; the caller has checked that it lies in [base, last]. */
  at(index: number): number {
    return this.#terms[this.#positionOf(index)] ?? 0;
  }

  #positionOf(index: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#starts[middle] ?? Infinity) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
