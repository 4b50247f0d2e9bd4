// What one command with acks may cost. Its targets share it; what comes when it is spent is refused
// item by item, so that no request can hold the core thread for long or make an entry of any size.

import type { State } from '../state.ts';
import type { PlanContext } from './context.ts';

/** The budget of the command at hand. */
export class AckBudget {
  readonly #state: State;
  readonly #costBytesEnd: number;
  /** Room for dead letters. The one that makes it negative is still filed. */
  letterBytesLeft: number;

  constructor({ state, limits }: PlanContext) {
    this.#state = state;
    this.#costBytesEnd = state.openBlocks.costBytes + limits.ackCostBytesMax;
    this.letterBytesLeft = limits.deadLetterBytesMax;
  }

  /** Whether no other target may be looked at, and no search go on. */
  get isSpent(): boolean {
    return this.letterBytesLeft <= 0 || this.#state.openBlocks.costBytes >= this.#costBytesEnd;
  }
}
