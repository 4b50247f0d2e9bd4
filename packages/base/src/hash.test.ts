import { describe, expect, it } from 'vitest';
import { hash32, hash128 } from './hash.ts';
import { SeededRng } from './rng.ts';

/** Key bytes 00..07 as two little-endian words, as in the vectors of the reference code. */
const K0 = 0x03020100;
const K1 = 0x07060504;
const INPUT = Uint8Array.from({ length: 64 }, (_, i) => i);

/** First entries of `vectors_hsip64` of the reference code: input 00, 01, … of length 0 to 3. */
const VECTORS = ['218d1f59b9b83cc8', 'be552412f8387315', '064f39ef7c50eb57', 'ce0f1a45f7060679'];

function hexOf(words: Uint32Array): string {
  return Array.from(new Uint8Array(words.buffer), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

function hash128Hex(
  key: readonly number[],
  bytes: Uint8Array,
  from: number,
  toExclusive: number,
): string {
  const out = new Uint32Array(4);
  hash128(Uint32Array.from(key), bytes, from, toExclusive, out, 0);
  return hexOf(out);
}

describe('hash128', () => {
  it('matches the published HalfSipHash-2-4 vectors in both halves', () => {
    VECTORS.forEach((vector, size) => {
      expect(hash128Hex([K0, K1, K0, K1], INPUT, 0, size)).toBe(vector + vector);
    });
  });

  it('keeps its output for every tail length, because it is stored', () => {
    const all = Array.from({ length: 64 }, (_, size) =>
      hash128Hex([K0, K1, 0x0b0a0908, 0x0f0e0d0c], INPUT, 0, size),
    );
    expect(new Set(all).size).toBe(64);
    expect(all[36]).toMatchInlineSnapshot(`"86d67a40ec4276dcb4beeafcd041a266"`);
    expect(all[63]).toMatchInlineSnapshot(`"2ea63c71bf3260870d230969f6b7c4ad"`);
  });

  it('depends on the bytes of the range only, at any position', () => {
    const rng = new SeededRng(11);
    for (let run = 0; run < 500; run++) {
      const bytes = Uint8Array.from({ length: rng.u32() % 50 }, () => rng.u32());
      const shifted = new Uint8Array(bytes.length + 9).fill(rng.u32());
      const at = rng.u32() % 8;
      shifted.set(bytes, at);
      const key = [rng.u32(), rng.u32(), rng.u32(), rng.u32()];
      expect(hash128Hex(key, shifted, at, at + bytes.length)).toBe(
        hash128Hex(key, bytes, 0, bytes.length),
      );
    }
  });

  it('changes with every bit of the key and of the input', () => {
    const key = [1, 2, 3, 4];
    const base = hash128Hex(key, INPUT, 0, 36);
    for (let bit = 0; bit < 128; bit++) {
      const other = key.map((word, i) => (i === bit >> 5 ? word ^ (1 << (bit & 31)) : word));
      expect(hash128Hex(other, INPUT, 0, 36)).not.toBe(base);
    }
    for (let bit = 0; bit < 36 * 8; bit++) {
      const other = Uint8Array.from(INPUT);
      other[bit >> 3]! ^= 1 << (bit & 7);
      expect(hash128Hex(key, other, 0, 36)).not.toBe(base);
    }
  });

  it('writes nothing but its four words', () => {
    const out = new Uint32Array(6).fill(9);
    hash128(new Uint32Array(4), INPUT, 0, 5, out, 1);
    expect([out[0], out[5]]).toEqual([9, 9]);
  });
});

describe('hash32', () => {
  it('is a 32-bit unsigned number that spreads over the low bits', () => {
    const key = Uint32Array.from([5, 6, 7, 8]);
    const buckets = new Uint32Array(64);
    const bytes = new Uint8Array(4);
    for (let i = 0; i < 6400; i++) {
      bytes[0] = i;
      bytes[1] = i >> 8;
      const hash = hash32(key, bytes, 0, 4);
      expect(hash === hash >>> 0).toBe(true);
      buckets[hash & 63]! += 1;
    }
    expect(Math.max(...buckets)).toBeLessThan(160);
    expect(Math.min(...buckets)).toBeGreaterThan(50);
  });

  it('depends on key, bytes and length', () => {
    const key = Uint32Array.from([5, 6, 7, 8]);
    const hashes = new Set<number>();
    for (let size = 0; size < 64; size++) hashes.add(hash32(key, INPUT, 0, size));
    hashes.add(hash32(Uint32Array.from([5, 7, 7, 8]), INPUT, 0, 9));
    hashes.add(hash32(key, new Uint8Array(9), 0, 9));
    expect(hashes.size).toBe(66);
  });
});
