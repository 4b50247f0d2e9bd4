// Time stamps of a leadership.

import { describe, expect, it } from 'vitest';
import { LeaderClock } from './leader-clock.ts';

function manualClock(wallUs: number, monotonicUs: number) {
  const state = { wallUs, monotonicUs };
  return { state, wallUs: () => state.wallUs, monotonicUs: () => state.monotonicUs };
}

describe('LeaderClock', () => {
  it('stamps strictly later each time even while the clock stands still', () => {
    const clock = new LeaderClock(manualClock(1_000_000, 50), 0);
    expect([clock.stampUs(), clock.stampUs(), clock.stampUs()]).toEqual([
      1_000_000, 1_000_001, 1_000_002,
    ]);
  });

  it('follows monotonic time and ignores jumps of the wall clock', () => {
    const source = manualClock(1_000_000, 50);
    const clock = new LeaderClock(source, 0);
    source.state.wallUs -= 3_600_000_000;
    source.state.monotonicUs += 10;
    expect(clock.stampUs()).toBe(1_000_010);
    source.state.wallUs += 7_200_000_000;
    source.state.monotonicUs += 10;
    expect(clock.stampUs()).toBe(1_000_020);
  });

  it('starts after the newest entry of an earlier leader whose clock was ahead', () => {
    const clock = new LeaderClock(manualClock(1_000_000, 50), 9_000_000);
    expect(clock.stampUs()).toBeGreaterThan(9_000_000);
  });

  it('tells the monotonic time at which a stamp is reached', () => {
    const source = manualClock(1_000_000, 50);
    const clock = new LeaderClock(source, 0);
    expect(clock.monotonicAtUs(1_000_500)).toBe(550);
  });
});
