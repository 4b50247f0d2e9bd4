// One line that shows how far the run is: redrawn in place on a terminal, a new line for every fifth
// of the way elsewhere (so that a log stays readable).

import type { WriteStream } from 'node:tty';

const BAR_CELLS = 30;
const REDRAW_MS = 100;
const PLAIN_STEPS = 5;

/** Counts towards a total and draws. */
export class Progress {
  readonly #total: number;
  readonly #stream: NodeJS.WriteStream | WriteStream;
  #done = 0;
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #plainStep = 0;

  constructor(total: number, stream: NodeJS.WriteStream) {
    this.#total = total;
    this.#stream = stream;
  }

  /** Steps counted so far: a run that hangs stops counting. */
  get done(): number {
    return this.#done;
  }

  /** Counts `steps` more. */
  add(steps: number): void {
    this.#done += steps;
    if (this.#stream.isTTY) this.#redraw();
    else this.#printStep();
  }

  /** Removes the bar, so that what follows starts on a clean line. */
  finish(): void {
    if (this.#stream.isTTY) this.#stream.write('\r\u001b[K');
  }

  #redraw(): void {
    const nowMs = performance.now();
    if (nowMs - this.#drawnAtMs < REDRAW_MS) return;
    this.#drawnAtMs = nowMs;
    const filled = Math.floor(this.#share * BAR_CELLS);
    const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled);
    this.#stream.write(`\r${bar} ${this.#text}\u001b[K`);
  }

  #printStep(): void {
    const step = Math.floor(this.#share * PLAIN_STEPS);
    if (step <= this.#plainStep) return;
    this.#plainStep = step;
    this.#stream.write(`${this.#text}\n`);
  }

  get #share(): number {
    return Math.min(1, this.#done / this.#total);
  }

  get #text(): string {
    return `${Math.floor(this.#share * 100)} % of ${this.#total.toLocaleString('en')} messages pushed and received`;
  }
}
