// Time stamps of a leadership.

import { describe, expect, it } from 'vitest';
import { LeaderClock, LogTime } from './leader-clock.ts';

function manualClock(wallUs: number, monotonicUs: number) {
  const state = { wallUs, monotonicUs };
  return { state, wallUs: () => state.wallUs, monotonicUs: () => state.monotonicUs };
}

/** Nothing applied and nothing seen. */
const COLD = { floorUs: 0, logUs: undefined };

const HOUR_US = 3_600_000_000;

describe('LeaderClock', () => {
  it('stamps strictly later each time even while the clock stands still', () => {
    const clock = new LeaderClock(manualClock(1_000_000, 50), COLD);
    expect([clock.stampUs(), clock.stampUs(), clock.stampUs()]).toEqual([
      1_000_000, 1_000_001, 1_000_002,
    ]);
  });

  it('follows monotonic time and ignores jumps of the wall clock', () => {
    const source = manualClock(1_000_000, 50);
    const clock = new LeaderClock(source, COLD);
    source.state.wallUs -= 3_600_000_000;
    source.state.monotonicUs += 10;
    expect(clock.stampUs()).toBe(1_000_010);
    source.state.wallUs += 7_200_000_000;
    source.state.monotonicUs += 10;
    expect(clock.stampUs()).toBe(1_000_020);
  });

  it('starts after the newest entry of an earlier leader whose clock was ahead', () => {
    const clock = new LeaderClock(manualClock(1_000_000, 50), {
      floorUs: 9_000_000,
      logUs: undefined,
    });
    expect(clock.stampUs()).toBeGreaterThan(9_000_000);
  });

  it('tells the monotonic time at which a stamp is reached', () => {
    const source = manualClock(1_000_000, 50);
    const clock = new LeaderClock(source, COLD);
    expect(clock.monotonicAtUs(1_000_500)).toBe(550);
  });

  it('goes on with the log time that the node saw pass, however far its wall clock is off', () => {
    for (const wallUs of [1_000_000 - HOUR_US, 1_000_000 + HOUR_US]) {
      const source = manualClock(wallUs, 50);
      const clock = new LeaderClock(source, { floorUs: 900_000, logUs: 1_000_000 });
      expect(clock.stampUs()).toBe(1_000_000);
    }
  });

  it('approaches the wall clock by no more than 500 us a second, and reaches it', () => {
    for (const aheadUs of [700, -700]) {
      const source = manualClock(HOUR_US + aheadUs, 50);
      const clock = new LeaderClock(source, { floorUs: 0, logUs: HOUR_US });
      const offsUs: number[] = [];
      for (let second = 1; second <= 3; second += 1) {
        source.state.wallUs += 1_000_000;
        source.state.monotonicUs += 1_000_000;
        offsUs.push(Math.abs(source.state.wallUs - clock.stampUs()));
      }
      expect(offsUs).toEqual([200, 0, 0]);
    }
  });

  it('does not lose the rests of short intervals when it approaches the wall clock', () => {
    const source = manualClock(HOUR_US + 5, 50);
    const clock = new LeaderClock(source, { floorUs: 0, logUs: HOUR_US });
    for (let i = 0; i < 10; i += 1) {
      source.state.wallUs += 1_500;
      source.state.monotonicUs += 1_500;
      clock.stampUs();
    }
    expect(source.state.wallUs - clock.nowUs()).toBe(0);
  });
});

describe('LogTime', () => {
  it('knows nothing before the first entry, and then lets monotonic time pass', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    expect(time.nowUs()).toBeUndefined();
    time.observe(HOUR_US - 30);
    source.state.monotonicUs += 50;
    source.state.wallUs -= HOUR_US;
    expect(time.nowUs()).toBe(HOUR_US + 20);
  });

  it('is never behind the newest entry', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    time.observe(HOUR_US);
    time.observe(HOUR_US + 5_000_000);
    expect(time.nowUs()).toBe(HOUR_US + 5_000_000);
  });

  it('gives in to entries that seem late by 500 us a second, so that drift does not add up', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    time.observe(HOUR_US);
    for (let i = 0; i < 1000; i += 1) {
      source.state.monotonicUs += 1_000;
      time.observe(HOUR_US + i * 1_000 - 100_000);
    }
    expect(time.nowUs()).toBe(HOUR_US + 1_000_000 - 500);
  });

  it('learns nothing from old entries that a node catches up with', () => {
    const fresh = new LogTime(manualClock(3 * HOUR_US, 100));
    fresh.observe(HOUR_US);
    expect(fresh.nowUs()).toBeUndefined();
    const late = new LogTime(manualClock(HOUR_US, 100));
    late.observe(HOUR_US);
    late.observe(HOUR_US - 2_000_000);
    expect(late.nowUs()).toBe(HOUR_US);
  });

  it('believes the clock of its own leadership, whatever the wall clock says', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    time.know(3 * HOUR_US);
    source.state.monotonicUs += 5;
    expect(time.nowUs()).toBe(3 * HOUR_US + 5);
  });

  it('leaves it to the wall clock when that never agreed with the log', () => {
    const time = new LogTime(manualClock(HOUR_US, 100));
    time.observe(2 * HOUR_US);
    expect(time.nowUs()).toBeUndefined();
  });
});
