// Random choices of one run. Every part of the simulation has dice of its own, so that one part can
// change its habits without changing the luck of the others.

import { assert, randomBelow, SeededRng } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';

const TWO_32 = 2 ** 32;

/** A seeded generator with the questions that a simulation asks. */
export class Dice implements Rng {
  readonly #rng: SeededRng;

  /** @param seed and stream any safe integers; equal pairs give equal answers. */
  constructor(seed: number, stream: number) {
    // Scrambled, so that the streams of neighbouring seeds do not meet.
    const low = Math.imul((seed >>> 0) ^ Math.imul(stream, 0x85ebca6b), 0x9e3779b1) >>> 0;
    this.#rng = new SeededRng(low + (Math.floor(seed / TWO_32) % 2 ** 20) * TWO_32);
  }

  u32(): number {
    return this.#rng.u32();
  }

  /** An integer in [0, bound). */
  below(bound: number): number {
    return randomBelow(this.#rng, bound);
  }

  /** An integer in [from, to], both included. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  /** True with the given probability, in [0, 1]. */
  chance(probability: number): boolean {
    return this.#rng.u32() < probability * TWO_32;
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    assert(item !== undefined, 'a pick from nothing');
    return item;
  }

  /** One of the items, each as often as its weight says; at least one weight is positive. */
  weighted<T>(items: readonly (readonly [T, number])[]): T {
    let left = this.below(TWO_32) / TWO_32;
    left *= items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) {
      if (left < weight) return item;
      left -= weight;
    }
    const last = items.findLast(([, weight]) => weight > 0);
    assert(last !== undefined, 'no weight is positive');
    return last[0];
  }
}
