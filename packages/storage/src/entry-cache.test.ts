// The bound of the cache, and what it may not drop.

import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';

import { EntryCache } from './entry-cache.ts';
import { entryOf } from './testing/fixtures.ts';

const entryAt = (index: number) => entryOf({ index, headBytes: 44, payloadBytes: 700 });

describe('EntryCache', () => {
  it('keeps the newest entries within the bound, over random appends and truncations', () => {
    const rng = new SeededRng(4);
    const cache = new EntryCache(20_000);
    let last = 0;
    for (let round = 0; round < 3000; round++) {
      if (randomBelow(rng, 8) === 0) {
        const from = Math.max(1, last - randomBelow(rng, 40));
        cache.truncate(from);
        last = from - 1;
      }
      cache.push(entryAt(++last));
      cache.trim(last);
      expect(cache.sizeBytes).toBeLessThanOrEqual(20_000);
      expect(cache.get(last)?.index).toBe(last);
      expect(cache.get(last + 1)).toBeUndefined();
      const index = 1 + randomBelow(rng, last);
      expect([undefined, index]).toContain(cache.get(index)?.index);
    }
    expect(cache.get(last - 15)?.index).toBe(last - 15);
  });

  it('keeps entries that are not durable, whatever they cost', () => {
    const cache = new EntryCache(0);
    for (let index = 1; index <= 5; index++) cache.push(entryAt(index));
    cache.trim(3);
    expect([1, 2, 3, 4, 5].map((index) => cache.get(index)?.index)).toEqual([
      undefined,
      undefined,
      undefined,
      4,
      5,
    ]);
    cache.trim(5);
    expect(cache.sizeBytes).toBe(0);
  });
});
