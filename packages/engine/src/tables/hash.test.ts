import { expect, test } from 'vitest';
import { hashBytes, hashPair, mix32 } from './hash.ts';

const encoder = new TextEncoder();

/** Most values that fall into one of `2^bits` buckets by their first or last bits. */
function fullestBucket(hashes: readonly number[], bits: number): number {
  const first = new Uint32Array(2 ** bits);
  const last = new Uint32Array(2 ** bits);
  for (const hash of hashes) {
    first[hash >>> (32 - bits)] = (first[hash >>> (32 - bits)] as number) + 1;
    last[hash & (2 ** bits - 1)] = (last[hash & (2 ** bits - 1)] as number) + 1;
  }
  return Math.max(...first, ...last);
}

test('names that differ in a few digits spread evenly over both ends of the hash', () => {
  const hashes = Array.from({ length: 65_536 }, (_, i) => {
    const bytes = encoder.encode(`entity-${i}`);
    return hashBytes(1, bytes, 0, bytes.length);
  });
  // 256 a bucket are expected; a fair hash stays within 6 standard deviations of 16.
  expect(fullestBucket(hashes, 8)).toBeLessThan(256 + 6 * 16);
  expect(new Set(hashes).size).toBeGreaterThan(65_536 - 5);
});

test('pairs of small numbers spread evenly over both ends of the hash', () => {
  const hashes: number[] = [];
  for (let first = 1; first <= 4096; first += 1) {
    for (let second = 1; second <= 16; second += 1) hashes.push(hashPair(0, first, second));
  }
  expect(fullestBucket(hashes, 8)).toBeLessThan(256 + 6 * 16);
  expect(hashPair(0, 1, 2)).not.toBe(hashPair(0, 2, 1));
});

test('the hash of bytes depends on length, seed and every byte, and not on the position', () => {
  const bytes = Uint8Array.from({ length: 24 }, (_, i) => i * 7);
  const seen = new Set<number>();
  for (let length = 0; length <= 20; length += 1) seen.add(hashBytes(0, bytes, 2, length));
  expect(seen.size).toBe(21);
  expect(hashBytes(0, bytes, 2, 9)).not.toBe(hashBytes(1, bytes, 2, 9));
  expect(hashBytes(0, bytes.subarray(1), 1, 9)).toBe(hashBytes(0, bytes, 2, 9));
  for (let i = 0; i < 11; i += 1) {
    const other = bytes.slice(0, 11);
    other[i] = (other[i] as number) ^ 0x80;
    expect(hashBytes(0, other, 0, 11)).not.toBe(hashBytes(0, bytes, 0, 11));
  }
});

test('zero bytes at the end count', () => {
  expect(hashBytes(0, new Uint8Array(8), 0, 3)).not.toBe(hashBytes(0, new Uint8Array(8), 0, 4));
});

test('mix32 is a bijection on what it is given and returns unsigned integers', () => {
  const seen = new Set<number>();
  for (let i = 0; i < 100_000; i += 1) seen.add(mix32(i));
  expect(seen.size).toBe(100_000);
  expect([...seen].every((value) => value >= 0 && value < 2 ** 32)).toBe(true);
});
