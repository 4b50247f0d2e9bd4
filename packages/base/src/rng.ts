// Randomness as an argument. The seeded generator is xoshiro128**, good enough for jitter and
// simulation and the same on every platform; it is not for secrets.

import { assert } from './assert.ts';

/** A source of random numbers. */
export interface Rng {
  /** A uniformly distributed integer in [0, 2^32). */
  u32(): number;
}

/** Returns a uniformly distributed integer in [0, bound). `bound` is in [1, 2^32]. */
export function randomBelow(rng: Rng, bound: number): number {
  assert(Number.isSafeInteger(bound) && bound >= 1 && bound <= 2 ** 32, () => `bound ${bound}`);
  // Rejection keeps the result unbiased; fewer than two draws are expected.
  const limit = 2 ** 32 - (2 ** 32 % bound);
  for (;;) {
    const value = rng.u32();
    if (value < limit) return value % bound;
  }
}

/** A reproducible generator: equal seeds give equal sequences. */
export class SeededRng implements Rng {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** @param seed any safe integer; its low 53 bits count. */
  constructor(seed: number) {
    assert(Number.isSafeInteger(seed), () => `seed ${seed}`);
    let state = (seed ^ Math.floor(seed / 2 ** 32)) >>> 0;
    const next = (): number => {
      // splitmix32 spreads neighbouring seeds over the whole state.
      state = (state + 0x9e3779b9) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next() | 1;
  }

  u32(): number {
    const scrambled = Math.imul(rotateLeft(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const t = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= t;
    this.#d = rotateLeft(this.#d, 11);
    return scrambled;
  }
}

function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
