// Random choices of one case. Each case has a generator of its own, so that it can be made again alone.

import { SeededRng } from '@queen-ts/base';

/** Choices by a seed and the number of a case. */
export class Random {
  readonly #rng: SeededRng;

  constructor(seed: number, position = 0) {
    // Neighbouring cases must not look alike: the generator spreads its seed before the first draw.
    this.#rng = new SeededRng(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(position + 1, 0x85eb_ca6b));
  }

  /** An integer in [0, toExclusive). */
  below(toExclusive: number): number {
    return this.#rng.u32() % toExclusive;
  }

  /** An integer in [min, max]. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** True in `percent` of 100 calls. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  /** One of the choices. */
  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** One of the choices by weight. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of choices) {
      if (left < weight) return value;
      left -= weight;
    }
    throw new Error('there is nothing to choose from');
  }

  /** Random bytes, one character a byte. */
  bytes(size: number): string {
    return Array.from({ length: size }, () => String.fromCharCode(this.below(256))).join('');
  }
}
