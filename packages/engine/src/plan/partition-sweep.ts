// A pass over the partitions of many queues, a bounded number at a time. The position is the
// leader's own affair: a new leader starts a new pass.

import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';

/** Queues that one call skips or enters at most. */
const QUEUES_PER_RUN = 8192;

/** One pass after the other. */
export class PartitionSweep {
  /** Numbers of the queues that this pass has yet to visit, last one first; undefined between passes. */
  #queues: number[] | undefined = undefined;
  #ordinal = 0;

  /**
   * Visits up to `budget` partitions of the queues that `wants` accepts. `visit` may remove the one
   * it is given; with false it asks to be called for the same one first in the next call. Returns
   * whether the pass is complete; the next call then starts another one.
   */
  run(
    state: State,
    budget: number,
    pass: {
      readonly wants: (queue: QueueState) => boolean;
      readonly visit: (queue: QueueState, row: number) => boolean;
      /** Asked after each visit: true ends the call, the next one goes on behind. */
      readonly isSpent?: () => boolean;
    },
  ): boolean {
    this.#queues ??= [...state.queues.keys()].reverse();
    let left = budget;
    for (let entered = 0; ; entered += 1) {
      const number = this.#queues.at(-1);
      if (number === undefined) break;
      if (entered === QUEUES_PER_RUN) return false;
      const queue = state.queues.get(number);
      if (queue !== undefined && !queue.isDeleted && pass.wants(queue)) {
        left -= this.#visitSome(queue, left, pass);
        if (this.#ordinal < queue.partitions.end) return false;
      }
      this.#queues.pop();
      this.#ordinal = 0;
    }
    this.#queues = undefined;
    return true;
  }

  #visitSome(
    queue: QueueState,
    budget: number,
    pass: {
      readonly visit: (queue: QueueState, row: number) => boolean;
      readonly isSpent?: () => boolean;
    },
  ): number {
    const from = this.#ordinal;
    const toExclusive = Math.min(from + budget, queue.partitions.end);
    for (let ordinal = from; ordinal < toExclusive; ordinal += 1) {
      const row = queue.partitions.row(ordinal);
      this.#ordinal = ordinal + 1;
      const isDone = row === 0 || pass.visit(queue, row);
      if (!isDone) this.#ordinal = ordinal;
      if (!isDone || pass.isSpent?.() === true) return budget;
    }
    return toExclusive - from;
  }
}
