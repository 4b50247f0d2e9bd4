// Hashes for the in-memory tables: 32 bits, fast, seeded by the owner so that names chosen by a
// client cannot be made to collide. Nothing here is persisted or compared between nodes.

/** Spreads every bit of the argument over all bits of the result (the murmur3 finaliser). */
export function mix32(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Hash of `length` bytes from `start` on. */
export function hashBytes(seed: number, bytes: Uint8Array, start: number, length: number): number {
  let h = seed ^ Math.imul(length, 0x9e3779b1);
  const wordsEnd = start + (length & ~3);
  let at = start;
  for (; at < wordsEnd; at += 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    h = absorb(h, word);
  }
  let rest = 0;
  for (let shift = 0; at < start + length; at += 1, shift += 8) {
    rest |= (bytes[at] as number) << shift;
  }
  return mix32(absorb(h, rest));
}

/** Hash of two row numbers. */
export function hashPair(seed: number, first: number, second: number): number {
  return mix32(absorb(absorb(seed, first), second));
}

/** Hash of the four words from `at` on. */
export function hashWords(seed: number, words: ArrayLike<number>, at: number): number {
  let h = seed;
  for (let i = at; i < at + 4; i += 1) h = absorb(h, words[i] as number);
  return mix32(h);
}

function absorb(h: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51);
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  const mixed = h ^ k;
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}
