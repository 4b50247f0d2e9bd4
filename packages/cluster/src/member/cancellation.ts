// A light AbortSignal with its controller in one: thousands of pops wait in a node.

import type { CancelSignal } from '../broker.ts';

/** Aborts once; takes any number of listeners, each of them called once. */
export class Cancellation implements CancelSignal {
  #aborted = false;
  #listeners: (() => void)[] = [];

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Aborts; calling it again does nothing. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }

  addEventListener(_event: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_event: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter((other) => other !== listener);
  }
}
