// What the acks of one transaction, or of one step of an ack, may cost, so that no request can hold the
// core thread for long or make an entry of any size. The targets share it. A transaction that needs more
// is refused; an ack ends its step and goes on in the next one.

import type { State } from '../state.ts';
import type { PlanContext } from './context.ts';

/** What a target counts for at least: finding it and its cursor. */
const TARGET_COST_BYTES = 2048;

/** The budget of the transaction or step at hand. */
export class AckBudget {
  readonly #state: State;
  readonly #costBytesEnd: number;
  readonly #stepCostBytesEnd: number;
  /** Room for dead letters. The one that makes it negative is still filed. */
  letterBytesLeft: number;

  constructor({ state, limits }: PlanContext) {
    this.#state = state;
    this.#costBytesEnd = state.openBlocks.costBytes + limits.ackCostBytesMax;
    this.#stepCostBytesEnd = state.openBlocks.costBytes + limits.ackStepCostBytes;
    this.letterBytesLeft = limits.deadLetterBytesMax;
  }

  /** Whether a step has done enough: the next target is for the next one. */
  get isStepOver(): boolean {
    return this.isSpent || this.#state.openBlocks.costBytes >= this.#stepCostBytesEnd;
  }

  /** Accounts for a target. */
  beginTarget(): void {
    this.#state.openBlocks.charge(TARGET_COST_BYTES);
  }

  /** Whether no other target may be looked at, and no search go on. */
  get isSpent(): boolean {
    return this.letterBytesLeft <= 0 || this.#state.openBlocks.costBytes >= this.#costBytesEnd;
  }
}
