// Time stamps of a leadership.

import { describe, expect, it } from 'vitest';
import { EntryWriter, EFFECT } from '@queen-ts/protocol';
import { toNodeId } from '@queen-ts/raft';
import type { AppendMessage, Entry } from '@queen-ts/raft';
import { HANDOVER_GRACE_US, LeaderClock, LogTime } from './leader-clock.ts';

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
    const source = manualClock(1_000_000, 50);
    const clock = new LeaderClock(source, { floorUs: 9_000_000, logUs: undefined });
    expect(clock.stampUs()).toBe(9_000_001);
    // It stands still for no longer than the grace, however far the wall clock is behind.
    source.state.monotonicUs += HANDOVER_GRACE_US + 1000;
    expect(clock.nowUs()).toBe(9_001_001);
  });

  it('gives the leases of earlier leaders half a second more', () => {
    const source = manualClock(HOUR_US, 50);
    const clock = new LeaderClock(source, { floorUs: HOUR_US - 10, logUs: HOUR_US });
    const endUs = HOUR_US + 2_000_000;
    expect(clock.monotonicAtUs(endUs)).toBe(50 + 2_000_000 + HANDOVER_GRACE_US);
    source.state.monotonicUs += 2_000_000 + HANDOVER_GRACE_US;
    expect(clock.nowUs()).toBe(endUs);
  });

  it('gives as much when only the wall clock can tell the time', () => {
    const source = manualClock(HOUR_US, 50);
    const clock = new LeaderClock(source, { floorUs: HOUR_US - 5_000_000, logUs: undefined });
    expect(clock.nowUs()).toBe(HOUR_US - HANDOVER_GRACE_US);
  });

  it('does not fall farther behind the wall clock with every change of leaders', () => {
    let logUs = HOUR_US;
    for (let change = 0; change < 5; change += 1) {
      const source = manualClock(HOUR_US, 50);
      const clock = new LeaderClock(source, { floorUs: logUs - 10, logUs });
      source.state.monotonicUs += 1_000_000;
      logUs = clock.nowUs() - 1_000_000;
    }
    expect(HOUR_US - logUs).toBe(HANDOVER_GRACE_US);
  });

  it('sets nothing back where nothing was stamped before', () => {
    const clock = new LeaderClock(manualClock(HOUR_US, 50), COLD);
    expect(clock.stampUs()).toBe(HOUR_US);
  });

  it('tells the monotonic time at which a stamp is reached', () => {
    const source = manualClock(1_000_000, 50);
    const clock = new LeaderClock(source, COLD);
    expect(clock.monotonicAtUs(1_000_500)).toBe(550);
    expect(clock.monotonicAtUs(1_000_000)).toBe(50);
  });

  it('tells of a time that has come although the clock stands still', () => {
    const clock = new LeaderClock(manualClock(HOUR_US, 50), { floorUs: HOUR_US, logUs: HOUR_US });
    expect(clock.nowUs()).toBe(HOUR_US);
    expect(clock.monotonicAtUs(HOUR_US)).toBe(50);
    expect(clock.monotonicAtUs(HOUR_US + 1)).toBe(50 + HANDOVER_GRACE_US);
  });

  it('goes on with the log time that the node saw pass, however far its wall clock is off', () => {
    const start = { floorUs: 9 * HOUR_US, logUs: 9 * HOUR_US + 900_000 };
    const behind = new LeaderClock(manualClock(8 * HOUR_US, 50), start);
    expect(behind.stampUs()).toBe(start.logUs - HANDOVER_GRACE_US);
    const ahead = new LeaderClock(manualClock(10 * HOUR_US, 50), start);
    expect(ahead.stampUs()).toBe(start.logUs);
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

/** An entry of a leader whose clock shows `stampUs`. */
function entryOf(stampUs: number, { term = 3, index = 10 } = {}): Entry {
  const writer = new EntryWriter();
  writer.open({ nowUs: stampUs, firstPartition: 1 });
  writer.effect({ kind: EFFECT.QUEUE_DELETE, queue: 1 });
  return { term, index, type: 'command', head: writer.finish(), payload: new Uint8Array(0) };
}

/** An append of that entry; `commitIndex` tells whether it was young when it was sent. */
function appendOf(
  stampUs: number,
  fields: { term?: number; entryTerm?: number; index?: number; commitIndex?: number } = {},
): AppendMessage {
  const { term = 3, index = 10, commitIndex = 9 } = fields;
  const { entryTerm = term } = fields;
  const [from, to] = [toNodeId(1), toNodeId(2)];
  return {
    kind: 'append',
    from,
    to,
    term,
    incarnation: 1,
    prevIndex: index - 1,
    prevTerm: entryTerm,
    commitIndex,
    entries: [entryOf(stampUs, { term: entryTerm, index })],
  };
}

describe('LogTime', () => {
  it('knows nothing before the first entry, and then lets monotonic time pass', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    expect(time.nowUs()).toBeUndefined();
    time.arrived(appendOf(HOUR_US - 500_030));
    source.state.monotonicUs += HANDOVER_GRACE_US;
    time.arrived(appendOf(HOUR_US - 30));
    source.state.monotonicUs += 50;
    source.state.wallUs -= HOUR_US;
    expect(time.nowUs()).toBe(HOUR_US + 20);
  });

  it('does not run ahead of a new leader that lets the time stand still', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    const clock = new LeaderClock(source, { floorUs: HOUR_US, logUs: HOUR_US });
    for (let index = 1; index <= 12; index += 1) {
      time.arrived(appendOf(clock.stampUs(), { index, commitIndex: index - 1 }));
      source.state.monotonicUs += 100_000;
      source.state.wallUs += 100_000;
      expect(time.nowUs()).toBeLessThanOrEqual(clock.nowUs());
    }
    expect(clock.nowUs() - time.nowUs()!).toBeLessThan(100);
  });

  it('follows a new leader that learned of the time too late to know it well', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    time.know(HOUR_US, 2);
    const late = { floorUs: HOUR_US - 2_000_000, logUs: HOUR_US - 900_000 };
    const clock = new LeaderClock(source, late);
    for (let index = 1; index <= 9; index += 1) {
      time.arrived(appendOf(clock.stampUs(), { index, commitIndex: index - 1 }));
      expect(time.nowUs()).toBeLessThanOrEqual(clock.nowUs());
      source.state.monotonicUs += 100_000;
      source.state.wallUs += 100_000;
      expect(time.nowUs()).toBeLessThanOrEqual(clock.nowUs());
    }
    expect(clock.nowUs() - time.nowUs()!).toBeLessThan(100);
  });

  it('goes on with what a leadership left, also one that ended while the time stood still', () => {
    const source = manualClock(HOUR_US, 100);
    const clock = new LeaderClock(source, { floorUs: HOUR_US, logUs: HOUR_US });
    expect(clock.nowUs()).toBe(HOUR_US);
    expect(clock.runningUs()).toBe(HOUR_US + 1 - HANDOVER_GRACE_US);
  });

  it('believes a young entry against a wall clock that is off from the start', () => {
    for (const wallUs of [HOUR_US, 9 * HOUR_US]) {
      const time = new LogTime(manualClock(wallUs, 100));
      time.arrived(appendOf(5 * HOUR_US));
      expect(time.nowUs()).toBe(5 * HOUR_US);
    }
  });

  it('is never behind the newest entry', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    time.arrived(appendOf(HOUR_US));
    time.arrived(appendOf(HOUR_US + 5_000_000));
    expect(time.nowUs()).toBe(HOUR_US + 5_000_000);
  });

  it('gives in to entries that seem late by 500 us a second, so that drift does not add up', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    time.arrived(appendOf(HOUR_US - 2 * HANDOVER_GRACE_US));
    source.state.monotonicUs += 2 * HANDOVER_GRACE_US;
    time.arrived(appendOf(HOUR_US));
    for (let i = 0; i < 1000; i += 1) {
      source.state.monotonicUs += 1_000;
      time.arrived(appendOf(HOUR_US + i * 1_000 - 100_000));
    }
    expect(time.nowUs()).toBe(HOUR_US + 1_000_000 - 500);
  });

  it('learns nothing from old entries: those committed before they were sent, or of older terms', () => {
    const time = new LogTime(manualClock(3 * HOUR_US, 100));
    time.arrived(appendOf(HOUR_US, { commitIndex: 10 }));
    time.arrived(appendOf(HOUR_US, { entryTerm: 2 }));
    expect(time.nowUs()).toBeUndefined();
  });

  it('does not listen to a leader that another has replaced', () => {
    const time = new LogTime(manualClock(HOUR_US, 100));
    time.arrived(appendOf(HOUR_US, { term: 4 }));
    time.arrived(appendOf(HOUR_US + 400_000, { term: 3 }));
    expect(time.nowUs()).toBe(HOUR_US);
  });

  it('believes the clock of its own leadership, whatever the wall clock says', () => {
    const source = manualClock(HOUR_US, 100);
    const time = new LogTime(source);
    time.know(3 * HOUR_US, 3);
    source.state.monotonicUs += 5;
    expect(time.nowUs()).toBe(3 * HOUR_US + 5);
  });

  it('follows a new leader that set the time back, also one that it only hears of later', () => {
    const young = new LogTime(manualClock(HOUR_US, 100));
    young.arrived(appendOf(HOUR_US, { term: 3 }));
    young.arrived(appendOf(HOUR_US - 400_000, { term: 4 }));
    expect(young.nowUs()).toBe(HOUR_US - 400_000);
    const late = new LogTime(manualClock(HOUR_US, 100));
    late.arrived(appendOf(HOUR_US, { term: 3 }));
    late.arrived(appendOf(HOUR_US - 9_000_000, { term: 4, commitIndex: 10 }));
    expect(late.nowUs()).toBe(HOUR_US - HANDOVER_GRACE_US);
    // Another one between them may have led without a trace.
    late.arrived(appendOf(HOUR_US - 9_000_000, { term: 6, commitIndex: 10 }));
    expect(late.nowUs()).toBe(HOUR_US - 3 * HANDOVER_GRACE_US);
  });

  it('follows a new leader whose entries came in a snapshot', () => {
    const time = new LogTime(manualClock(HOUR_US, 100));
    time.arrived(appendOf(HOUR_US, { term: 3 }));
    const { entries: _, ...header } = appendOf(0, { term: 5 });
    const snapshot = { index: 90, term: 4, membership: { members: [] } };
    time.arrived({ ...header, kind: 'snapshot', snapshot });
    expect(time.nowUs()).toBe(HOUR_US - HANDOVER_GRACE_US);
  });
});
