import { describe, expect, test } from 'vitest';
import { Digest } from './digest.ts';

function digestOf(...parts: readonly (number | readonly number[])[]): string {
  const digest = new Digest();
  for (const part of parts) {
    if (typeof part === 'number') digest.number(part);
    else digest.bytes(Uint8Array.from(part));
  }
  return digest.text();
}

describe('the digest', () => {
  test('is the same for the same input', () => {
    expect(digestOf([1, 2, 3, 4, 5], 7)).toBe(digestOf([1, 2, 3, 4, 5], 7));
  });

  test('depends on every byte, on the order and on where the parts end', () => {
    const inputs = [
      [[]],
      [[0]],
      [[0, 0]],
      [[1, 2, 3, 4, 5, 6, 7, 8]],
      [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ],
      [
        [5, 6, 7, 8],
        [1, 2, 3, 4],
      ],
      [[1, 2, 3, 4, 5, 6, 7, 9]],
      [[1, 2, 3, 4, 5, 6, 8, 8]],
    ];
    expect(new Set(inputs.map((parts) => digestOf(...parts))).size).toBe(inputs.length);
  });

  test('depends on all 53 bits of a number and on the order of numbers', () => {
    const inputs = [[0], [1], [2 ** 32], [2 ** 32 + 1], [2 ** 52], [0, 1], [1, 0]];
    expect(new Set(inputs.map((parts) => digestOf(...parts))).size).toBe(inputs.length);
  });

  test('changes in about half of its bits when one bit changes', () => {
    const bytes = Array.from({ length: 64 }, (_, i) => i);
    const base = BigInt(`0x${digestOf(bytes, 0)}`);
    for (let bit = 0; bit < 512; bit += 37) {
      const changed = bytes.map((byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
      const difference = (base ^ BigInt(`0x${digestOf(changed, 0)}`)).toString(2);
      const ones = difference.replaceAll('0', '').length;
      expect(ones, `bit ${bit}`).toBeGreaterThan(15);
    }
  });
});
