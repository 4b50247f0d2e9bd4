// Published check values, and the fast form against the bit-by-bit one.

import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';

import { maskedCrc32c } from './crc32c.ts';
import { randomBytes } from './testing/fixtures.ts';

describe('CRC-32C', () => {
  it('agrees with the published values', () => {
    // The check value of the polynomial, and the vectors of RFC 3720 B.4.
    const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
    expect(unmask(maskedCrc32c(Buffer.from('123456789'), 0, 9))).toBe(0xe3069283);
    expect(unmask(maskedCrc32c(new Uint8Array(32), 0, 32))).toBe(0x8a9136aa);
    expect(unmask(maskedCrc32c(new Uint8Array(32).fill(0xff), 0, 32))).toBe(0x62a8ab43);
    expect(unmask(maskedCrc32c(ascending, 0, 32))).toBe(0x46dd794e);
  });

  it('agrees with the bit-by-bit definition over random ranges', () => {
    const rng = new SeededRng(31);
    const bytes = randomBytes(rng, 4096);
    for (let round = 0; round < 300; round++) {
      const from = randomBelow(rng, 4000);
      const toExclusive = from + randomBelow(rng, 97);
      expect(unmask(maskedCrc32c(bytes, from, toExclusive))).toBe(
        naiveCrc32c(bytes.subarray(from, toExclusive)),
      );
    }
  });
});

function unmask(masked: number): number {
  const rotated = (masked - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}

function naiveCrc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}
