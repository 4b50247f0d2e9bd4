// Reproducible bytes where production draws unpredictable ones.

import type { Rng } from '@queen-ts/base';

/** Draws from `rng`. */
export function randomBytesOf(rng: Rng): (size: number) => Uint8Array {
  return (size) => Uint8Array.from({ length: size }, () => rng.u32() & 0xff);
}
