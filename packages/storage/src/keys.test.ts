// Byte order of the keys against numeric order, and the edges of their fields.

import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';

import { logKey, parseLogKey, payloadChunkCount } from './keys.ts';

describe('log keys', () => {
  it('sort as bytes exactly as (index, chunk) sorts as numbers', () => {
    const rng = new SeededRng(1);
    const keys = Array.from({ length: 500 }, () => {
      const index = randomBelow(rng, 2 ** 21) * 2 ** randomBelow(rng, 32) + randomBelow(rng, 3);
      return { index, chunk: randomBelow(rng, 65_536) };
    });
    const byNumber = keys.toSorted((a, b) => a.index - b.index || a.chunk - b.chunk);
    const byBytes = keys.toSorted((a, b) =>
      Buffer.compare(logKey(a.index, a.chunk), logKey(b.index, b.chunk)),
    );
    expect(byBytes).toEqual(byNumber);
  });

  it('decode to what was encoded, and to nothing when they are not keys', () => {
    for (const key of [
      { index: 0, chunk: 0 },
      { index: 1, chunk: 65_535 },
      { index: Number.MAX_SAFE_INTEGER, chunk: 1 },
    ]) {
      expect(parseLogKey(logKey(key.index, key.chunk))).toEqual(key);
    }
    expect(parseLogKey(new Uint8Array(9))).toBeUndefined();
    expect(parseLogKey(new Uint8Array(11))).toBeUndefined();
    expect(parseLogKey(new Uint8Array(10).fill(0xff))).toBeUndefined();
  });

  it('count payload chunks up to the edges', () => {
    expect([0, 1, 65_536, 65_537, 131_072].map(payloadChunkCount)).toEqual([0, 1, 1, 2, 2]);
  });
});
