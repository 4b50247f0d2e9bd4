import { describe, expect, it } from 'vitest';
import { SeededRng } from './rng.ts';
import {
  formatUuid,
  idPlus,
  idsEqual,
  parseUuid,
  readIdBytes,
  readIdWords,
  readUuidText,
  UUID_RESERVE_MAX,
  UuidMinter,
  writeIdBytes,
  writeIdWords,
  writeUuidText,
} from './uuid.ts';
import type { Id128 } from './uuid.ts';

const SAMPLE: Id128 = [0x0198f2c1, 0x4d3a7c10, 0x9f2b6a1e, 0x5d0c7b83];
const SAMPLE_TEXT = '0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b83';

class ManualClock {
  us = 1_785_409_364_512_873;
  wallUs(): number {
    return this.us;
  }
  monotonicUs(): number {
    return this.us;
  }
}

function asBigInt(id: Id128): bigint {
  return id.reduce((value, word) => (value << 32n) | BigInt(word), 0n);
}

describe('uuid text', () => {
  it('formats and parses in both cases', () => {
    expect(formatUuid(SAMPLE)).toBe(SAMPLE_TEXT);
    expect(parseUuid(SAMPLE_TEXT)).toEqual(SAMPLE);
    expect(parseUuid(SAMPLE_TEXT.toUpperCase())).toEqual(SAMPLE);
    expect(formatUuid([0, 0, 0, 1])).toBe('00000000-0000-0000-0000-000000000001');
  });

  it('refuses anything that is not exactly a uuid', () => {
    const bad = [
      '',
      SAMPLE_TEXT.slice(1),
      `${SAMPLE_TEXT}0`,
      SAMPLE_TEXT.replaceAll('-', ''),
      SAMPLE_TEXT.replace('0', 'g'),
      SAMPLE_TEXT.replace('0', 'Ā'),
      SAMPLE_TEXT.replace('-', '0'),
      `{${SAMPLE_TEXT.slice(2)}}`,
      '0198f2c14-d3a-7c10-9f2b-6a1e5d0c7b83',
    ];
    expect(bad.filter((text) => parseUuid(text) !== undefined)).toEqual([]);
  });

  it('writes and reads text and bytes in place', () => {
    const words = new Uint32Array(6);
    writeIdWords(SAMPLE, words, 1);
    const text = new Uint8Array(40);
    writeUuidText(words, 1, text, 2);
    expect(String.fromCharCode(...text.subarray(2, 38))).toBe(SAMPLE_TEXT);
    const back = new Uint32Array(5);
    expect(readUuidText(text, 2, back, 1)).toBe(true);
    expect(readIdWords(back, 1)).toEqual(SAMPLE);
    const bytes = new Uint8Array(20);
    writeIdBytes(SAMPLE, bytes, 3);
    expect(bytes[3]).toBe(0x01);
    expect(bytes[18]).toBe(0x83);
    expect(readIdBytes(bytes, 3)).toEqual(SAMPLE);
  });

  it('round-trips random ids through every form', () => {
    const rng = new SeededRng(1);
    for (let run = 0; run < 2000; run++) {
      const id: Id128 = [rng.u32(), rng.u32(), rng.u32(), rng.u32()];
      const parsed = parseUuid(formatUuid(id));
      expect(parsed !== undefined && idsEqual(parsed, id)).toBe(true);
    }
  });
});

describe('idPlus', () => {
  it('adds in the low word and asserts that it does not overflow', () => {
    expect(idPlus([1, 2, 3, 4], 5)).toEqual([1, 2, 3, 9]);
    expect(() => idPlus([1, 2, 3, 0xffffffff], 1)).toThrow('low word');
  });
});

describe('UuidMinter', () => {
  it('mints version 7 ids that carry the milliseconds of the wall clock', () => {
    const clock = new ManualClock();
    const text = formatUuid(new UuidMinter(clock, new SeededRng(7)).mint(1));
    expect(text).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const ms = Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16);
    expect(ms).toBe(Math.floor(clock.us / 1000));
  });

  it('reserves ranges that neither overflow nor meet, whatever the clock does', () => {
    const clock = new ManualClock();
    const rng = new SeededRng(3);
    const minter = new UuidMinter(clock, rng);
    let free = 0n;
    for (let run = 0; run < 20_000; run++) {
      const step = rng.u32() % 4;
      if (step === 0) clock.us += rng.u32() % 3000;
      if (step === 1) clock.us -= rng.u32() % 3000;
      const reserve = rng.u32() % 3 === 0 ? UUID_RESERVE_MAX : 1 + (rng.u32() % 1000);
      const id = minter.mint(reserve);
      const last = idPlus(id, reserve - 1);
      if (asBigInt(id) < free) expect.fail(`${formatUuid(id)} was reserved before`);
      free = asBigInt(last) + 1n;
    }
  });

  it('goes on with the next middle word when a millisecond runs out of low words', () => {
    const minter = new UuidMinter(new ManualClock(), { u32: () => 0xffffffff });
    const ids = Array.from({ length: 300 }, () => minter.mint(UUID_RESERVE_MAX));
    const values = ids.map(asBigInt);
    for (let i = 1; i < values.length; i++) {
      expect(values[i]! - values[i - 1]! >= BigInt(UUID_RESERVE_MAX)).toBe(true);
    }
    // All-ones random bits leave no next middle word: the minter borrows from the next millisecond.
    expect(ids[299]![1]).not.toBe(ids[0]![1]);
  });

  it('asserts the bounds of a reserve', () => {
    const minter = new UuidMinter(new ManualClock(), new SeededRng(1));
    expect(() => minter.mint(0)).toThrow('reserve 0');
    expect(() => minter.mint(UUID_RESERVE_MAX + 1)).toThrow('reserve');
  });
});
