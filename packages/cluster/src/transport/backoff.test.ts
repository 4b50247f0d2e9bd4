// Waits between attempts: growing, bounded, and not the same for everybody.

import { SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { Backoff } from './backoff.ts';

const RANGE = { minUs: 50_000, maxUs: 1_000_000 };

function waitsOf(seed: number): number[] {
  const backoff = new Backoff({ rng: new SeededRng(seed), ...RANGE });
  return Array.from({ length: 12 }, () => backoff.nextDelayUs());
}

describe('a backoff', () => {
  it('draws each wait from the upper half of a range that doubles up to the longest', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      waitsOf(seed).forEach((waitUs, i) => {
        const upperUs = Math.min(RANGE.maxUs, RANGE.minUs * 2 ** i);
        expect(waitUs).toBeGreaterThanOrEqual(upperUs / 2);
        expect(waitUs).toBeLessThan(upperUs);
      });
    }
  });

  it('differs between nodes', () => {
    const seeds = Array.from({ length: 20 }, (_, i) => i + 1);
    expect(new Set(seeds.map((seed) => waitsOf(seed).join()))).toHaveLength(20);
  });

  it('begins anew after a success', () => {
    const backoff = new Backoff({ rng: new SeededRng(1), ...RANGE });
    for (let i = 0; i < 10; i += 1) backoff.nextDelayUs();
    backoff.reset();
    expect(backoff.nextDelayUs()).toBeLessThan(RANGE.minUs);
  });
});
