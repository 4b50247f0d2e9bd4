import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { TimingWheel } from './timing-wheel.ts';

const START_US = 1_790_000_000_123_456;
const DAY_US = 86_400_000_000;

/** Advances until nothing due is left and returns the fired rows. */
function fire(wheel: TimingWheel, nowUs: number, maxRows = 1000): number[] {
  const rows: number[] = [];
  for (let calls = 0; calls < 100_000; calls += 1) {
    wheel.advance(nowUs, (row) => rows.push(row), maxRows);
    if (wheel.nextUs() > nowUs) return rows;
  }
  throw new Error('the wheel never settles');
}

test('fires a row at its deadline rounded up to a millisecond, never early', () => {
  const wheel = new TimingWheel(START_US);
  wheel.schedule(1, START_US + 1);
  const firesUs = Math.ceil((START_US + 1) / 1000) * 1000;
  expect(wheel.nextUs()).toBe(firesUs);
  expect(fire(wheel, firesUs - 1)).toEqual([]);
  expect(wheel.has(1)).toBe(true);
  expect(fire(wheel, firesUs)).toEqual([1]);
  expect(wheel.has(1)).toBe(false);
  expect(wheel.nextUs()).toBe(Infinity);
});

test('a past deadline is due at once', () => {
  const wheel = new TimingWheel(START_US);
  fire(wheel, START_US + 5_000_000);
  wheel.schedule(3, START_US);
  expect(wheel.nextUs()).toBeLessThanOrEqual(START_US + 5_000_000);
  expect(fire(wheel, START_US + 5_000_000)).toEqual([3]);
});

test('scheduling again replaces the deadline, cancelling ends it', () => {
  const wheel = new TimingWheel(START_US);
  wheel.schedule(1, START_US + 1_000_000);
  wheel.schedule(1, START_US + 9_000_000);
  wheel.schedule(2, START_US + 1_000_000);
  expect(wheel.atUs(1)).toBe(START_US + 9_000_000);
  expect(wheel.size).toBe(2);
  expect(wheel.cancel(2)).toBe(true);
  expect(wheel.cancel(2)).toBe(false);
  expect(wheel.cancel(123_456)).toBe(false);
  expect(fire(wheel, START_US + 8_000_000)).toEqual([]);
  expect(fire(wheel, START_US + 9_001_000)).toEqual([1]);
});

test('rows of one millisecond fire in the order they were scheduled', () => {
  const wheel = new TimingWheel(START_US);
  const atUs = START_US + 3 * DAY_US;
  for (const row of [4, 2, 9, 1]) wheel.schedule(row, atUs);
  expect(fire(wheel, atUs + 1000)).toEqual([4, 2, 9, 1]);
});

test('a call fires at most maxRows rows and the next one goes on', () => {
  const wheel = new TimingWheel(START_US);
  for (let row = 1; row <= 10; row += 1) wheel.schedule(row, START_US + 1000);
  const rows: number[] = [];
  const nowUs = START_US + 10_000;
  expect(wheel.advance(nowUs, (row) => rows.push(row), 4)).toBe(4);
  expect(wheel.nextUs()).toBeLessThanOrEqual(nowUs);
  expect(wheel.advance(nowUs, (row) => rows.push(row), 0)).toBe(0);
  expect(wheel.advance(nowUs, (row) => rows.push(row), 100)).toBe(6);
  expect(rows).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('moving far rows closer is bounded too, and nextUs tells that work is left', () => {
  const wheel = new TimingWheel(START_US);
  const atUs = START_US + 5_000_000;
  for (let row = 1; row <= 1000; row += 1) wheel.schedule(row, atUs);
  let calls = 0;
  let fired = 0;
  while (wheel.nextUs() <= atUs + 1000) {
    fired += wheel.advance(atUs + 1000, () => {}, 10);
    calls += 1;
  }
  expect(fired).toBe(1000);
  expect(calls).toBeGreaterThanOrEqual(1000 / 10 + 1000 / 40);
  expect(calls).toBeLessThan(200);
});

test('the callback may schedule and cancel any row, its own too', () => {
  const wheel = new TimingWheel(START_US);
  const log: number[] = [];
  for (const row of [1, 2, 3]) wheel.schedule(row, START_US + row * 1000);
  const onDue = (row: number): void => {
    log.push(row);
    if (row === 1) {
      wheel.cancel(2);
      wheel.schedule(1, START_US + 2500);
      wheel.schedule(4, START_US);
    }
    if (log.length > 10) throw new Error('endless');
  };
  // The second firing of row 1 schedules it in the past once more: it is due in the same call.
  expect(wheel.advance(START_US + 1999, onDue, 100)).toBe(2);
  expect(log).toEqual([1, 4]);
  expect(wheel.has(2)).toBe(false);
  expect(wheel.has(1)).toBe(true);
  expect(wheel.has(3)).toBe(true);
});

test('a clock that goes back changes nothing', () => {
  const wheel = new TimingWheel(START_US);
  wheel.schedule(1, START_US + 50_000);
  fire(wheel, START_US + 40_000);
  expect(fire(wheel, START_US)).toEqual([]);
  wheel.schedule(2, START_US + 60_000);
  expect(fire(wheel, START_US + 61_000)).toEqual([1, 2]);
});

test('a wheel that starts at time 0 still finds deadlines of today', () => {
  const wheel = new TimingWheel();
  wheel.schedule(1, START_US);
  wheel.schedule(2, 5);
  expect(fire(wheel, START_US - 1000)).toEqual([2]);
  expect(fire(wheel, START_US + 1000)).toEqual([1]);
});

describe.each([
  { name: 'milliseconds', spanUs: 70_000 },
  { name: 'seconds', spanUs: 300_000_000 },
  { name: 'hours', spanUs: 20 * 3_600_000_000 },
  { name: 'weeks', spanUs: 40 * DAY_US },
  { name: 'years', spanUs: 900 * DAY_US },
])('deadlines over $name', ({ spanUs }) => {
  test.each([1, 2, 3])('agree with a sorted list, seed %d', (seed) => {
    const rng = new SeededRng(seed);
    const random = (bound: number): number =>
      Math.floor((rng.u32() / 2 ** 32) * Math.min(bound, spanUs));
    // Start close to where 32 bits of milliseconds wrap around.
    const originUs = Math.floor(START_US / 2 ** 32 / 1000) * 2 ** 32 * 1000 - random(spanUs / 2);
    const wheel = new TimingWheel(originUs);
    const model = new Map<number, number>();
    let nowUs = originUs;
    for (let i = 0; i < 1500; i += 1) {
      const row = 1 + randomBelow(rng, 300);
      const action = randomBelow(rng, 10);
      if (action < 6) {
        const atUs = nowUs + random(spanUs) - random(2000);
        wheel.schedule(row, atUs);
        model.set(row, atUs);
      } else if (action < 7) {
        expect(wheel.cancel(row)).toBe(model.delete(row));
      } else {
        nowUs += random(action === 9 ? spanUs / 4 : spanUs / 400);
        checkAdvance(wheel, model, nowUs, 1 + randomBelow(rng, 30));
      }
      expect(wheel.size).toBe(model.size);
      expect(wheel.has(row)).toBe(model.has(row));
      const first = Math.min(...model.values());
      expect(wheel.nextUs()).toBeLessThanOrEqual(Math.ceil(Math.max(first, nowUs) / 1000) * 1000);
    }
    checkAdvance(wheel, model, nowUs + 2 * spanUs, 1000);
    expect(wheel.size).toBe(0);
  });
});

/** Everything due and nothing else fires. */
function checkAdvance(
  wheel: TimingWheel,
  model: Map<number, number>,
  nowUs: number,
  maxRows: number,
): void {
  const lastTick = Math.floor(nowUs / 1000);
  const due = [...model].filter(([, atUs]) => Math.ceil(atUs / 1000) <= lastTick);
  const fired = fire(wheel, lastTick * 1000, maxRows);
  expect(new Set(fired)).toEqual(new Set(due.map(([row]) => row)));
  expect(fired.length).toBe(due.length);
  for (const [row] of due) model.delete(row);
}

test('strictly future deadlines fire in the order of their milliseconds', () => {
  const rng = new SeededRng(8);
  const wheel = new TimingWheel(START_US);
  const atUs = new Map<number, number>();
  for (let row = 1; row <= 20_000; row += 1) {
    const at = START_US + 1 + Math.floor(2 ** (randomBelow(rng, 5100) / 100));
    atUs.set(row, at);
    wheel.schedule(row, at);
  }
  const ticks: number[] = [];
  while (wheel.size > 0) {
    const nowUs = wheel.nextUs();
    wheel.advance(
      nowUs,
      (row) => {
        const tick = Math.ceil((atUs.get(row) as number) / 1000);
        expect(tick * 1000).toBeLessThanOrEqual(nowUs);
        ticks.push(tick);
      },
      100,
    );
  }
  expect(ticks).toEqual(ticks.toSorted((left, right) => left - right));
  expect(ticks.length).toBe(20_000);
});

test('memory follows the rows scheduled at once, not their numbers', () => {
  const wheel = new TimingWheel(START_US);
  for (let row = 1; row < 100_000; row += 1) {
    wheel.schedule(row, START_US + 1000);
    wheel.cancel(row);
  }
  expect(wheel.bytes).toBeLessThan(100_000 * 4 + 4096 * 4 + 4096 * 26 + 65_536);
});

test('refuses row 0 and a deadline that is no time', () => {
  const wheel = new TimingWheel(START_US);
  expect(() => wheel.schedule(0, START_US)).toThrow('row 0 scheduled');
  expect(() => wheel.schedule(1, Number.NaN)).toThrow('row 1 scheduled at NaN');
  expect(() => wheel.schedule(1, -1)).toThrow('row 1 scheduled at -1');
  expect(() => wheel.schedule(1, Infinity)).toThrow('row 1 scheduled at Infinity');
  expect(() => wheel.atUs(1)).toThrow('row 1 is not scheduled');
  expect(wheel.size).toBe(0);
});
