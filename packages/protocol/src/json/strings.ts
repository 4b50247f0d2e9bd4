// JSON strings as bytes: decoding what a scanner has accepted, and matching member names.

import { assert, decodeUtf8 } from '@queen-ts/base';
import { BACKSLASH, hexValue, LETTER_U } from './characters.ts';
import type { JsonScanner } from './scanner.ts';

/** Returned by {@link unescape} when the string has an unpaired surrogate: it has no UTF-8. */
export const UNPAIRED = -1;

/** Meaning of the byte after a backslash, `\u` aside. */
const ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 8, f: 12, n: 10, r: 13, t: 9 }).map(
    ([char, byte]) => [char.charCodeAt(0), byte],
  ),
);

/**
 * Writes the UTF-8 of the JSON string whose bytes between the quotes are [from, toExclusive) to
 * `target[at]`. Returns its size, or UNPAIRED. The string has been scanned; `target` has room for
 * as many bytes as the spelling has.
 */
export function unescape(
  bytes: Uint8Array,
  from: number,
  toExclusive: number,
  target: Uint8Array,
  at: number,
): number {
  let to = at;
  let next = from;
  while (next < toExclusive) {
    const byte = bytes[next]!;
    if (byte !== BACKSLASH) {
      target[to++] = byte;
      next += 1;
      continue;
    }
    const escaped = bytes[next + 1]!;
    if (escaped !== LETTER_U) {
      target[to++] = ESCAPES.get(escaped)!;
      next += 2;
      continue;
    }
    const point = codePointAt(bytes, next, toExclusive);
    if (point < 0) return UNPAIRED;
    to = writeCodePoint(point, target, to);
    next += point > 0xffff ? 12 : 6;
  }
  return to - at;
}

/**
 * Returns the value of the scanned JSON string at [start, end), quotes included. It is not well
 * formed when the string has an unpaired surrogate.
 */
export function stringAt(bytes: Uint8Array, start: number, end: number): string {
  const text = decodeUtf8(bytes, start, end);
  assert(text !== undefined, () => `scanned string at ${start} is not UTF-8`);
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}

/** Member names of one kind of object, as the scanner matches them. */
export class NameSet {
  readonly #names: readonly Uint8Array[];
  readonly #scratch: Uint8Array;

  /** Names are ASCII. */
  constructor(names: readonly string[]) {
    this.#names = names.map((name) => Uint8Array.from(name, (char) => char.charCodeAt(0)));
    this.#scratch = new Uint8Array(6 * Math.max(...names.map((name) => name.length)));
  }

  /** Number of names. */
  get count(): number {
    return this.#names.length;
  }

  /** Returns the position in the set of the scanner's last member name, or -1. */
  match(scanner: JsonScanner): number {
    const { bytes, nameStart, nameEnd } = scanner;
    if (!scanner.nameHasEscape) return this.find(bytes, nameStart, nameEnd - nameStart);
    // A longer spelling cannot be one of the names, whatever its escapes say.
    if (nameEnd - nameStart > this.#scratch.length) return -1;
    const size = unescape(bytes, nameStart, nameEnd, this.#scratch, 0);
    return size < 0 ? -1 : this.find(this.#scratch, 0, size);
  }

  /** Returns the position in the set of the name that is `size` bytes at `from`, or -1. */
  find(bytes: Uint8Array, from: number, size: number): number {
    const names = this.#names;
    for (let position = 0; position < names.length; position++) {
      const name = names[position]!;
      if (name.length === size && startsWith(bytes, from, name)) return position;
    }
    return -1;
  }

  /** {@link find} with ASCII letters of the span in lower case; the names are in lower case. */
  findLowerCase(bytes: Uint8Array, from: number, size: number): number {
    if (size > this.#scratch.length) return -1;
    for (let i = 0; i < size; i++) {
      const byte = bytes[from + i]!;
      this.#scratch[i] = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    }
    return this.find(this.#scratch, 0, size);
  }
}

function startsWith(bytes: Uint8Array, from: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i++) {
    if (bytes[from + i] !== name[i]) return false;
  }
  return true;
}

/** Code point of the `\u` escape (or pair of them) at `at`, or UNPAIRED. */
function codePointAt(bytes: Uint8Array, at: number, toExclusive: number): number {
  const unit = codeUnit(bytes, at);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  const isPair =
    unit < 0xdc00 &&
    at + 12 <= toExclusive &&
    bytes[at + 6] === BACKSLASH &&
    bytes[at + 7] === LETTER_U;
  if (!isPair) return UNPAIRED;
  const low = codeUnit(bytes, at + 6);
  if (low < 0xdc00 || low > 0xdfff) return UNPAIRED;
  return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

function codeUnit(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) unit = (unit << 4) | hexValue(bytes[i]!);
  return unit;
}

function writeCodePoint(point: number, target: Uint8Array, at: number): number {
  let to = at;
  if (point < 0x80) {
    target[to++] = point;
    return to;
  }
  if (point < 0x800) target[to++] = 0xc0 | (point >> 6);
  else {
    if (point < 0x10000) target[to++] = 0xe0 | (point >> 12);
    else {
      target[to++] = 0xf0 | (point >> 18);
      target[to++] = 0x80 | ((point >> 12) & 0x3f);
    }
    target[to++] = 0x80 | ((point >> 6) & 0x3f);
  }
  target[to++] = 0x80 | (point & 0x3f);
  return to;
}
