import { expect, test } from 'vitest';
import { refusalText } from './refusal.ts';
import { boundedWallMs, refuseWrongClock } from './wall-clock.ts';

const LATEST_MS = Date.UTC(2200, 0, 1);

test.each([0, Date.UTC(2026, 10, 30), LATEST_MS])('a clock at %i ms is taken as it is', (nowMs) => {
  expect(() => refuseWrongClock(nowMs)).not.toThrow();
  expect(boundedWallMs(nowMs)).toBe(nowMs);
});

test.each([
  [-1, 0, '1969-12-31'],
  [LATEST_MS + 1, LATEST_MS, '2200-01-01'],
  [Date.UTC(9999, 0, 1), LATEST_MS, '9999-01-01'],
])('a clock at %i ms keeps a node from starting, in one line', (nowMs, bounded, shown) => {
  expect(boundedWallMs(nowMs)).toBe(bounded);
  let text = '';
  try {
    refuseWrongClock(nowMs);
  } catch (error) {
    text = refusalText(error);
  }
  expect(text).toContain(`says ${shown}`);
  expect(text).not.toContain('\n');
});
