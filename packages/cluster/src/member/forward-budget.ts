// How much of this node's requests may be on the way to the leader, in bytes: one budget a lane, so that
// pushes that pile up leave room for what settles leases.

import type { Lane } from '../command-queue.ts';
import { queueFull } from '../refusals.ts';

/** Bytes of one lane; a lone larger request is still let in. */
export type ForwardLimits = Readonly<Record<Lane, number>>;

const MEBIBYTE = 1024 * 1024;

/** What a node runs with. */
export const FORWARD_LIMITS_DEFAULT: ForwardLimits = {
  settle: 16 * MEBIBYTE,
  pop: 32 * MEBIBYTE,
  store: 48 * MEBIBYTE,
};

/** Requests under way. */
export class ForwardBudget {
  readonly #limits: ForwardLimits;
  readonly #used: Record<Lane, number> = { settle: 0, pop: 0, store: 0 };

  constructor(limits: ForwardLimits) {
    this.#limits = limits;
  }

  /** Bytes of all lanes that are under way. */
  get usedBytes(): number {
    return this.#used.settle + this.#used.pop + this.#used.store;
  }

  /** Runs `send` with `size` bytes of the lane's room. Throws `overloaded` when there is none. */
  async within<T>(lane: Lane, size: number, send: () => Promise<T>): Promise<T> {
    const used = this.#used[lane];
    if (used > 0 && used + size > this.#limits[lane]) throw queueFull();
    this.#used[lane] += size;
    try {
      return await send();
    } finally {
      this.#used[lane] -= size;
    }
  }
}
