// 128-bit ids: four big-endian 32-bit words in memory, 36 lower-case characters on the wire. Minting
// is UUIDv7 (RFC 9562 §5.7) laid out so that a whole batch of ids is one id and a count.

import { assert } from './assert.ts';
import type { Clock } from './clock.ts';
import type { Rng } from './rng.ts';

/** 16 bytes as four big-endian 32-bit words, each in [0, 2^32), so that order is word order. */
export type Id128 = readonly [number, number, number, number];

/** Length of a UUID's text in bytes and in characters. */
export const UUID_TEXT_SIZE = 36;

/** Most ids that one {@link UuidMinter.mint} may reserve. */
export const UUID_RESERVE_MAX = 2 ** 24;

const HYPHEN = 0x2d;
const HEX_DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const NOT_HEX = 0xff;
const HEX_VALUES = hexValues();

/** Returns the 36-character lower-case text of `id`. */
export function formatUuid(id: Id128): string {
  const hex = id.map((word) => word.toString(16).padStart(8, '0')).join('');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** Reads a UUID of any version, in either case; undefined unless `text` is exactly one. */
export function parseUuid(text: string): Id128 | undefined {
  if (text.length !== UUID_TEXT_SIZE) return undefined;
  const bytes = new Uint8Array(UUID_TEXT_SIZE);
  for (let i = 0; i < UUID_TEXT_SIZE; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return undefined;
    bytes[i] = unit;
  }
  const words = new Uint32Array(4);
  return readUuidText(bytes, 0, words, 0) ? readIdWords(words, 0) : undefined;
}

/**
 * Writes the 36 ASCII characters of the id at `words[wordsAt]` to `out[at]`. Positional arguments
 * because it runs once per rendered message.
 */
export function writeUuidText(
  words: ArrayLike<number>,
  wordsAt: number,
  out: Uint8Array,
  at: number,
): void {
  let to = at;
  for (let word = 0; word < 4; word++) {
    const value = words[wordsAt + word]!;
    for (let shift = 28; shift >= 0; shift -= 4) {
      out[to++] = HEX_DIGITS[(value >>> shift) & 15]!;
      // Hyphens stand after hex digits 8, 12, 16 and 20.
      if (shift === 16 ? word === 1 || word === 2 : shift === 0 && word < 2) out[to++] = HYPHEN;
    }
  }
}

/**
 * Reads 36 ASCII characters at `bytes[at]` into four words at `out[outAt]`; false, with `out`
 * unspecified, unless they are a UUID. The caller has checked that 36 bytes are there.
 */
export function readUuidText(
  bytes: Uint8Array,
  at: number,
  out: Uint32Array,
  outAt: number,
): boolean {
  let from = at;
  for (let word = 0; word < 4; word++) {
    let value = 0;
    for (let digit = 0; digit < 8; digit++) {
      const nibble = HEX_VALUES[bytes[from++]!]!;
      if (nibble === NOT_HEX) return false;
      value = (value << 4) | nibble;
      const isBeforeHyphen = digit === 3 ? word === 1 || word === 2 : digit === 7 && word < 2;
      if (isBeforeHyphen && bytes[from++] !== HYPHEN) return false;
    }
    out[outAt + word] = value;
  }
  return true;
}

/** Returns the id stored as four words at `words[at]`. */
export function readIdWords(words: ArrayLike<number>, at: number): Id128 {
  return [words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!];
}

/** Stores `id` as four words at `out[at]`. */
export function writeIdWords(id: Id128, out: Uint32Array, at: number): void {
  out[at] = id[0];
  out[at + 1] = id[1];
  out[at + 2] = id[2];
  out[at + 3] = id[3];
}

/** Stores `id` as 16 bytes in UUID byte order at `out[at]`. */
export function writeIdBytes(id: Id128, out: Uint8Array, at: number): void {
  for (let word = 0; word < 4; word++) {
    const value = id[word]!;
    const to = at + word * 4;
    out[to] = value >>> 24;
    out[to + 1] = value >>> 16;
    out[to + 2] = value >>> 8;
    out[to + 3] = value;
  }
}

/** Reads 16 bytes in UUID byte order at `bytes[at]`. */
export function readIdBytes(bytes: Uint8Array, at: number): Id128 {
  const word = (from: number): number =>
    ((bytes[from]! << 24) |
      (bytes[from + 1]! << 16) |
      (bytes[from + 2]! << 8) |
      bytes[from + 3]!) >>>
    0;
  return [word(at), word(at + 4), word(at + 8), word(at + 12)];
}

/** Returns `id + count` in the low word, which must not overflow: a minted id within its reserve. */
export function idPlus(id: Id128, count: number): Id128 {
  const low = id[3] + count;
  assert(low < 2 ** 32, () => `id ${formatUuid(id)} + ${count} leaves its low word`);
  return [id[0], id[1], id[2], low];
}

/** True when both ids are the same 128 bits. */
export function idsEqual(a: Id128, b: Id128): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2] && a[3] === b[3];
}

/**
 * Mints UUIDv7s that strictly increase within one minter, also when the clock stands or jumps back.
 * Bits: 48 of milliseconds, version, 12 random, variant, 30 random, 32 of counter. The random bits
 * and the counter's start are drawn anew each millisecond; ids of one millisecond are consecutive.
 */
export class UuidMinter {
  readonly #clock: Clock;
  readonly #rng: Rng;
  #ms = -1;
  #randomA = 0;
  #middle = 0;
  /** Next low word; may be 2^32 (none left in this middle word). */
  #low = 0;

  constructor(clock: Clock, rng: Rng) {
    this.#clock = clock;
    this.#rng = rng;
  }

  /**
   * Returns `id` such that `id + i` in the low word, for every i in [0, reserve), is a fresh id.
   * @param reserve how many ids the caller will use, in [1, UUID_RESERVE_MAX].
   */
  mint(reserve: number): Id128 {
    assert(
      Number.isSafeInteger(reserve) && reserve >= 1 && reserve <= UUID_RESERVE_MAX,
      () => `reserve ${reserve}`,
    );
    const nowMs = Math.floor(this.#clock.wallUs() / 1000);
    if (nowMs > this.#ms) this.#startMillisecond(nowMs);
    if (this.#low + reserve > 2 ** 32) this.#startMiddle();
    const low = this.#low;
    this.#low = low + reserve;
    const high = Math.floor(this.#ms / 2 ** 16);
    const mid = ((this.#ms % 2 ** 16) * 2 ** 16 + 0x7000 + this.#randomA) >>> 0;
    return [high, mid, this.#middle, low];
  }

  #startMillisecond(ms: number): void {
    assert(ms < 2 ** 48, () => `wall clock ${ms} ms does not fit a UUID`);
    this.#ms = ms;
    this.#randomA = this.#rng.u32() >>> 20;
    this.#middle = (0x80000000 | (this.#rng.u32() >>> 2)) >>> 0;
    // The upper half stays free, so that running over is rare.
    this.#low = this.#rng.u32() >>> 1;
  }

  #startMiddle(): void {
    if (this.#middle === 0xbfffffff) {
      this.#startMillisecond(this.#ms + 1);
      return;
    }
    this.#middle += 1;
    this.#low = 0;
  }
}

function hexValues(): Uint8Array {
  const values = new Uint8Array(256).fill(NOT_HEX);
  for (let i = 0; i < 16; i++) {
    const digit = HEX_DIGITS[i]!;
    values[digit] = i;
    if (i > 9) values[digit - 0x20] = i;
  }
  return values;
}
