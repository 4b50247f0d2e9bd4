// The last things that happened, for people. Off in ordinary runs: a failing seed is run again with it
// on, which shows the same history because a seed has only one.

/** Lines kept; older ones are forgotten. */
const LINE_COUNT_MAX = 200;

/** Remembers lines of text. */
export class Trace {
  readonly isOn: boolean;
  readonly #lines: string[] = [];
  readonly #nowUs: () => number;

  constructor(options: { readonly isOn: boolean; readonly nowUs: () => number }) {
    this.isOn = options.isOn;
    this.#nowUs = options.nowUs;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Adds a line; the text is only made when somebody will read it. */
  add(text: () => string): void {
    if (!this.isOn) return;
    this.#lines.push(`${(this.#nowUs() / 1e6).toFixed(6)}s  ${text()}`);
    if (this.#lines.length > LINE_COUNT_MAX) this.#lines.shift();
  }
}
