// UTC timestamps as integers of microseconds since the Unix epoch, written and read as ISO 8601 by
// the proleptic Gregorian calendar. No `Date`: that would be a clock, and milliseconds only.

import { assert } from './assert.ts';

/** Size of `2026-07-30T11:02:44.512873Z`. */
export const TIMESTAMP_US_SIZE = 27;

/** Instants are safe integers, which end in the years 1684 and 2255. */
const US_MAX = Number.MAX_SAFE_INTEGER;

const US_PER_SECOND = 1_000_000;
const SECONDS_PER_DAY = 86_400;

const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

/** Returns e.g. `2026-07-30T11:02:44.512873Z`. `us` is any safe integer. */
export function formatTimestampUs(us: number): string {
  const bytes = new Uint8Array(TIMESTAMP_US_SIZE);
  writeTimestampUs(us, bytes, 0);
  return String.fromCharCode(...bytes);
}

/** Returns e.g. `2026-07-30T11:02:44.512Z`: the instant cut, not rounded, to milliseconds. */
export function formatTimestampMs(us: number): string {
  return `${formatTimestampUs(us).slice(0, 23)}Z`;
}

/** Writes {@link TIMESTAMP_US_SIZE} ASCII bytes at `out[at]`. */
export function writeTimestampUs(us: number, out: Uint8Array, at: number): void {
  assert(Number.isSafeInteger(us), () => `timestamp ${us} us`);
  const seconds = Math.floor(us / US_PER_SECOND);
  const days = Math.floor(seconds / SECONDS_PER_DAY);
  const secondOfDay = seconds - days * SECONDS_PER_DAY;
  const date = civilFromDays(days);
  writeDigits(date.year, 4, out, at);
  out[at + 4] = 0x2d;
  writeDigits(date.month, 2, out, at + 5);
  out[at + 7] = 0x2d;
  writeDigits(date.day, 2, out, at + 8);
  out[at + 10] = 0x54;
  writeDigits(Math.floor(secondOfDay / 3600), 2, out, at + 11);
  out[at + 13] = 0x3a;
  writeDigits(Math.floor(secondOfDay / 60) % 60, 2, out, at + 14);
  out[at + 16] = 0x3a;
  writeDigits(secondOfDay % 60, 2, out, at + 17);
  out[at + 19] = 0x2e;
  writeDigits(us - seconds * US_PER_SECOND, 6, out, at + 20);
  out[at + 26] = 0x5a;
}

/**
 * Reads an ISO 8601 instant as microseconds; undefined when it is none. Accepted: a date alone
 * (midnight), or with `T` or a space a time of minutes, seconds or up to nine decimals (cut to
 * six), and `Z` or an offset `+hh`, `+hhmm`, `+hh:mm`. Without either it is UTC. Instants outside
 * the safe integers become the nearest one, which to every comparison is the same.
 */
export function parseTimestampUs(text: string): number | undefined {
  const match = ISO_8601.exec(text);
  if (match === null) return undefined;
  const part = (group: number): number => Number(match[group] ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  const [hour, minute, second] = [part(4), part(5), part(6)];
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const [offsetHours, offsetMinutes] = [part(9), part(10)];
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const microseconds = Number((match[7] ?? '').slice(0, 6).padEnd(6, '0'));
  const offset = (offsetHours * 60 + offsetMinutes) * 60 * (match[8] === '-' ? -1 : 1);
  const secondOfDay = (hour * 60 + minute) * 60 + second;
  const days = daysFromCivil({ year, month, day });
  const us = (days * SECONDS_PER_DAY + secondOfDay - offset) * US_PER_SECOND + microseconds;
  return Math.min(Math.max(us, -US_MAX), US_MAX);
}

interface CivilDate {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
}

// Both conversions count from 1 March of year 0 in eras of 400 years (146,097 days): with the leap
// day last, the day of a year gives the month by a linear formula.

function civilFromDays(daysSinceEpoch: number): CivilDate {
  const days = daysSinceEpoch + 719_468;
  const era = Math.floor(days / 146_097);
  const dayOfEra = days - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

function daysFromCivil({ year, month, day }: CivilDate): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const monthFromMarch = month > 2 ? month - 3 : month + 9;
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function writeDigits(value: number, width: number, out: Uint8Array, at: number): void {
  let rest = value;
  for (let to = at + width - 1; to >= at; to--) {
    const quotient = Math.floor(rest / 10);
    out[to] = 0x30 + (rest - quotient * 10);
    rest = quotient;
  }
}
