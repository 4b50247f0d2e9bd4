// Keyed hashes of byte ranges in 32-bit arithmetic: HalfSipHash (Aumasson and Bernstein, reference
// code of SipHash). A client who does not know the key cannot make two ids collide, nor fill one
// slot of a table.
//
// hash128 is two HalfSipHash-2-4 with 64-bit output side by side, the first under key words 0-1 and
// the second under 2-3. Its output is stored, so it may never change. hash32 is HalfSipHash-1-3
// with 32-bit output under key words 0-1: for tables in memory only.

/** Four secret words; equal on every node of a cluster where hashes are stored. */
export type HashKey = Uint32Array;

/** Words of a {@link HashKey} and of a {@link hash128}. */
export const HASH_WORDS = 4;

const SEED_2 = 0x6c796765;
const SEED_3 = 0x74656462;

/**
 * Writes the 128-bit hash of bytes [from, toExclusive) as four words to `out[outAt]`. Positional
 * arguments because it runs once per pushed and per acknowledged message.
 */
export function hash128(
  key: HashKey,
  bytes: Uint8Array,
  from: number,
  toExclusive: number,
  out: Uint32Array,
  outAt: number,
): void {
  halfSip64(key[0]!, key[1]!, bytes, from, toExclusive, out, outAt);
  halfSip64(key[2]!, key[3]!, bytes, from, toExclusive, out, outAt + 2);
}

/** HalfSipHash-2-4 with 64-bit output, low word first. */
function halfSip64(
  k0: number,
  k1: number,
  bytes: Uint8Array,
  from: number,
  toExclusive: number,
  out: Uint32Array,
  outAt: number,
): void {
  const size = toExclusive - from;
  const lastWord = from + (size & ~3);
  let v0 = k0 | 0;
  let v1 = (k1 ^ 0xee) | 0;
  let v2 = SEED_2 ^ k0;
  let v3 = SEED_3 ^ k1;
  // Steps: one per message word, one for the tail with the size, two for the output halves.
  for (let at = from; at <= lastWord + 8; at += 4) {
    let word = 0;
    let rounds = 2;
    if (at < lastWord) word = loadWord(bytes, at);
    else if (at === lastWord) word = loadTail(bytes, at, size);
    else {
      rounds = 4;
      if (at === lastWord + 4) v2 ^= 0xee;
      else {
        out[outAt] = v1 ^ v3;
        v1 ^= 0xdd;
      }
    }
    v3 ^= word;
    for (let round = 0; round < rounds; round++) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    v0 ^= word;
  }
  out[outAt + 1] = v1 ^ v3;
}

/** Returns a 32-bit hash in [0, 2^32) of bytes [from, toExclusive), for hash tables in memory. */
export function hash32(key: HashKey, bytes: Uint8Array, from: number, toExclusive: number): number {
  const size = toExclusive - from;
  const lastWord = from + (size & ~3);
  let v0 = key[0]! | 0;
  let v1 = key[1]! | 0;
  let v2 = SEED_2 ^ v0;
  let v3 = SEED_3 ^ v1;
  for (let at = from; at <= lastWord + 4; at += 4) {
    let word = 0;
    let rounds = 1;
    if (at < lastWord) word = loadWord(bytes, at);
    else if (at === lastWord) word = loadTail(bytes, at, size);
    else {
      rounds = 3;
      v2 ^= 0xff;
    }
    v3 ^= word;
    for (let round = 0; round < rounds; round++) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}

function loadWord(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** The last zero to three bytes, under the low byte of the size. */
function loadTail(bytes: Uint8Array, at: number, size: number): number {
  let word = size << 24;
  switch (size & 3) {
    case 3:
      word |= (bytes[at + 2]! << 16) | (bytes[at + 1]! << 8) | bytes[at]!;
      break;
    case 2:
      word |= (bytes[at + 1]! << 8) | bytes[at]!;
      break;
    case 1:
      word |= bytes[at]!;
      break;
    default:
      break;
  }
  return word;
}
