// What a checker says of a history.

/** UNKNOWN: there was nothing to judge, which is as red as a failure. */
export type VerdictStatus = 'PASS' | 'FAIL' | 'UNKNOWN';

/** The verdict of one checker. */
export interface Verdict {
  readonly status: VerdictStatus;
  /** How many facts were compared. */
  readonly checked: number;
  /** What is wrong, the first few findings; or why nothing could be judged. */
  readonly details: readonly string[];
}

const DETAILS_MAX = 5;

/** Collects what a checker compares and finds. */
export class Findings {
  readonly #details: string[] = [];
  #checked = 0;
  #failed = 0;

  /** Compares one fact: `describe` says what is wrong if it does not hold. */
  expect(isTrue: boolean, describe: () => string): void {
    this.#checked += 1;
    if (isTrue) return;
    this.#failed += 1;
    if (this.#details.length < DETAILS_MAX) this.#details.push(describe());
  }

  /** `required` counts what must have happened for the comparison to mean anything. */
  verdict(required: Readonly<Record<string, number>>): Verdict {
    if (this.#failed > 0) return { status: 'FAIL', checked: this.#checked, details: this.#details };
    const missing = Object.entries(required).filter(([, count]) => count === 0);
    if (missing.length === 0) return { status: 'PASS', checked: this.#checked, details: [] };
    const details = missing.map(([what]) => `nothing to judge: no ${what}`);
    return { status: 'UNKNOWN', checked: this.#checked, details };
  }
}
