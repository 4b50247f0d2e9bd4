import { describe, expect, it } from 'vitest';
import { SeededRng } from './rng.ts';
import { formatTimestampMs, formatTimestampUs, parseTimestampUs } from './timestamp.ts';

describe('formatTimestampUs', () => {
  it('shows microseconds in UTC', () => {
    const us = Date.UTC(2026, 6, 30, 11, 2, 44, 512) * 1000 + 873;
    expect(formatTimestampUs(us)).toBe('2026-07-30T11:02:44.512873Z');
    expect(formatTimestampMs(us)).toBe('2026-07-30T11:02:44.512Z');
    expect(formatTimestampUs(0)).toBe('1970-01-01T00:00:00.000000Z');
    expect(formatTimestampUs(-1)).toBe('1969-12-31T23:59:59.999999Z');
  });

  it('agrees with the calendar of the platform on random instants', () => {
    const rng = new SeededRng(9);
    for (let run = 0; run < 20_000; run++) {
      const ms = rng.u32() * 2000 + (rng.u32() % 2000) - 2 ** 42;
      const us = ms * 1000 + (rng.u32() % 1000);
      const text = formatTimestampUs(us);
      const isSame =
        formatTimestampMs(us) === new Date(ms).toISOString() && parseTimestampUs(text) === us;
      if (!isSame) expect.fail(`${us} is shown as ${text}`);
    }
  });

  it('refuses what is no instant', () => {
    expect(() => formatTimestampUs(1.5)).toThrow('timestamp');
    expect(() => formatTimestampUs(2 ** 53)).toThrow('timestamp');
  });
});

describe('parseTimestampUs', () => {
  const noon = Date.UTC(2024, 1, 29, 12, 0, 0) * 1000;

  it.each([
    ['2024-02-29T12:00:00Z', noon],
    ['2024-02-29t12:00:00z', noon],
    ['2024-02-29 12:00:00', noon],
    ['2024-02-29T12:00', noon],
    ['2024-02-29', noon - 12 * 3600 * 1e6],
    ['2024-02-29T12:00:00.5Z', noon + 500_000],
    ['2024-02-29T12:00:00,000001Z', noon + 1],
    ['2024-02-29T12:00:00.123456789Z', noon + 123_456],
    ['2024-02-29T14:30:00+02:30', noon],
    ['2024-02-29T07:00:00-0500', noon],
    ['2024-02-29T13:00:00+01', noon],
    ['9999-12-31T23:59:59Z', Number.MAX_SAFE_INTEGER],
    ['0000-01-01T00:00:00Z', -Number.MAX_SAFE_INTEGER],
  ])('reads %s', (text, us) => {
    expect(parseTimestampUs(text)).toBe(us);
  });

  it.each([
    '',
    'now',
    '2023-02-29',
    '2024-13-01',
    '2024-00-10',
    '2024-04-31',
    '1900-02-29',
    '2024-02-29T24:00:00Z',
    '2024-02-29T12:60:00Z',
    '2024-02-29T12:00:60Z',
    '2024-02-29T12',
    '2024-02-29T12:00:00.Z',
    '2024-02-29T12:00:00.1234567890Z',
    '2024-02-29T12:00:00+24:00',
    '2024-02-29T12:00:00Z ',
    '24-02-29',
    '1722337364',
    '2024-02-29Z',
  ])('does not read %j', (text) => {
    expect(parseTimestampUs(text)).toBeUndefined();
  });
});
