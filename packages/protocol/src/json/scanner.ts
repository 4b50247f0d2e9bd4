// A strict JSON scanner over bytes. It accepts exactly what JSON.parse accepts of the decoded text,
// builds nothing and tells where values start and end, so that they can be copied as they were sent.
// Nesting is a counter, not a call: depth costs no stack.
//
// Methods take and return positions. FAILED says that the input is malformed and that `failedAt` and
// `expected` hold why; DONE says that a container is finished and that `position` is just behind it.

import { skipNonAscii } from '@queen-ts/base';
import { JSON_DEPTH_MAX } from '../limits.ts';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  hexValue,
  IN_STRING,
  isDigit,
  LETTER_U,
  MINUS,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  STRING_CLASS,
} from './characters.ts';
import { skipNumber } from './number.ts';

/** Returned instead of a position: the input is malformed. */
export const FAILED = -1;

/** Returned instead of a position: no further member or element. */
export const DONE = -2;

const NO_BYTES = new Uint8Array(0);
const TRUE = asciiBytes('true');
const FALSE = asciiBytes('false');
const NULL = asciiBytes('null');
const SINGLE_ESCAPES = asciiBytes('"\\/bfnrt');

/** Reusable: `reset` gives it other bytes. */
export class JsonScanner {
  bytes: Uint8Array = NO_BYTES;
  /** Where the input stopped making sense; meaningful after FAILED. */
  failedAt = 0;
  /** What should have been there, for people. */
  expected = '';
  /** Position after the container that {@link nextMember} or {@link nextElement} ended. */
  position = 0;
  /** Bytes of the last member name between its quotes: [nameStart, nameEnd). */
  nameStart = 0;
  nameEnd = 0;
  /** True when the last member name is spelled with an escape. */
  nameHasEscape = false;
  /** True when the last string skipped is spelled with an escape. */
  hasEscape = false;

  /** Closing byte of every container that is open inside {@link skipValue}. */
  readonly #closers = new Uint8Array(JSON_DEPTH_MAX);

  /** Starts over with other bytes. They are lent: drop them with another `reset`. */
  reset(bytes: Uint8Array = NO_BYTES): void {
    this.bytes = bytes;
    this.failedAt = 0;
    this.expected = '';
  }

  /** Returns the first position from `start` on that is no white space. */
  skipSpace(start: number): number {
    const { bytes } = this;
    let at = start;
    while (at < bytes.length) {
      const byte = bytes[at]!;
      if (byte > 0x20) break;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      at += 1;
    }
    return at;
  }

  /** Checks the value that starts at `start` and returns the position after it, or FAILED. */
  skipValue(start: number): number {
    const { bytes } = this;
    const closers = this.#closers;
    let depth = 0;
    let at = start;
    while (at >= 0) {
      const first = at < bytes.length ? bytes[at]! : 0;
      if (first === QUOTE) at = this.skipString(at);
      else if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
        // Both closing brackets are two above their opening one.
        const closer = first + 2;
        if (depth === JSON_DEPTH_MAX) return this.#failDepth(at);
        closers[depth++] = closer;
        at = this.skipSpace(at + 1);
        if (bytes[at] !== closer) {
          at = first === OPEN_OBJECT ? this.#skipName(at) : at;
          continue;
        }
      } else at = this.#skipScalar(at, first);
      if (at < 0) return FAILED;
      // A value ended here, or an empty container is about to.
      while (depth > 0 && bytes[(at = this.skipSpace(at))] === closers[depth - 1]) {
        depth -= 1;
        at += 1;
      }
      if (depth === 0) return at;
      at = this.#skipComma(at, closers[depth - 1]!);
    }
    return FAILED;
  }

  /**
   * Opens the object at `start`, whose first byte the caller has seen to be `{`. Returns the
   * position of the first member's value, with its name in the fields, or DONE or FAILED.
   */
  firstMember(start: number): number {
    const at = this.skipSpace(start + 1);
    return this.bytes[at] === CLOSE_OBJECT ? this.#close(at) : this.#skipName(at);
  }

  /** Goes from the end of a member's value to the next member's value, or DONE or FAILED. */
  nextMember(valueEnd: number): number {
    const at = this.skipSpace(valueEnd);
    return this.bytes[at] === CLOSE_OBJECT ? this.#close(at) : this.#skipComma(at, CLOSE_OBJECT);
  }

  /** Opens the array at `start`. Returns the position of its first element, or DONE. */
  firstElement(start: number): number {
    const at = this.skipSpace(start + 1);
    return this.bytes[at] === CLOSE_ARRAY ? this.#close(at) : at;
  }

  /** Goes from the end of an element to the start of the next one, or DONE or FAILED. */
  nextElement(valueEnd: number): number {
    const at = this.skipSpace(valueEnd);
    return this.bytes[at] === CLOSE_ARRAY ? this.#close(at) : this.#skipComma(at, CLOSE_ARRAY);
  }

  /** True when nothing but white space follows; else the scanner has failed. */
  expectEnd(start: number): boolean {
    const at = this.skipSpace(start);
    if (at === this.bytes.length) return true;
    this.fail(at, 'the end of the body');
    return false;
  }

  /** Skips the string that starts at `start`, whose first byte the caller has seen to be a quote. */
  skipString(start: number): number {
    const { bytes } = this;
    const end = bytes.length;
    const lastFour = end - 4;
    this.hasEscape = false;
    let at = start + 1;
    for (;;) {
      while (
        at <= lastFour &&
        (STRING_CLASS[bytes[at]!]! |
          STRING_CLASS[bytes[at + 1]!]! |
          STRING_CLASS[bytes[at + 2]!]! |
          STRING_CLASS[bytes[at + 3]!]!) ===
          IN_STRING.PLAIN
      ) {
        at += 4;
      }
      while (at < end && STRING_CLASS[bytes[at]!] === IN_STRING.PLAIN) at += 1;
      if (at === end) return this.fail(at, 'the closing quote of a string');
      if (bytes[at] === QUOTE) return at + 1;
      at = this.#skipSpecial(at);
      if (at < 0) return FAILED;
    }
  }

  /** Records a failure and returns FAILED. */
  fail(at: number, expected: string): number {
    this.failedAt = at;
    this.expected = expected;
    return FAILED;
  }

  #skipName(at: number): number {
    const { bytes } = this;
    if (bytes[at] !== QUOTE) return this.fail(at, 'a member name in double quotes');
    const end = this.skipString(at);
    if (end < 0) return FAILED;
    this.nameStart = at + 1;
    this.nameEnd = end - 1;
    this.nameHasEscape = this.hasEscape;
    const colon = this.skipSpace(end);
    if (bytes[colon] !== COLON) return this.fail(colon, "':' after a member name");
    return this.skipSpace(colon + 1);
  }

  /** Skips the comma between two values of a container and, in objects, the next name. */
  #skipComma(at: number, closer: number): number {
    const isObject = closer === CLOSE_OBJECT;
    if (this.bytes[at] !== COMMA) return this.fail(at, isObject ? "',' or '}'" : "',' or ']'");
    const next = this.skipSpace(at + 1);
    return isObject ? this.#skipName(next) : next;
  }

  #close(at: number): number {
    this.position = at + 1;
    return DONE;
  }

  #skipScalar(at: number, first: number): number {
    if (first === MINUS || isDigit(first)) {
      const end = skipNumber(this.bytes, at);
      return end < 0 ? this.fail(~end, 'a digit') : end;
    }
    if (first === TRUE[0]) return this.#skipLiteral(at, TRUE);
    if (first === FALSE[0]) return this.#skipLiteral(at, FALSE);
    if (first === NULL[0]) return this.#skipLiteral(at, NULL);
    return this.fail(at, 'a JSON value');
  }

  #skipLiteral(at: number, literal: Uint8Array): number {
    for (let i = 0; i < literal.length; i++) {
      if (this.bytes[at + i] !== literal[i]) return this.fail(at, 'true, false or null');
    }
    return at + literal.length;
  }

  /** Skips one escape or a run of multi-byte characters inside a string. */
  #skipSpecial(at: number): number {
    const { bytes } = this;
    const kind = STRING_CLASS[bytes[at]!];
    if (kind === IN_STRING.CONTROL) return this.fail(at, 'control characters to be escaped');
    if (kind === IN_STRING.NON_ASCII) {
      const next = skipNonAscii(bytes, at, bytes.length);
      return next < 0 ? this.fail(at, 'valid UTF-8') : next;
    }
    this.hasEscape = true;
    const escaped = bytes[at + 1];
    if (escaped === LETTER_U) return this.#skipUnicodeEscape(at);
    if (escaped !== undefined && SINGLE_ESCAPES.includes(escaped)) return at + 2;
    return this.fail(at, 'an escape like \\n or \\u0041');
  }

  #skipUnicodeEscape(at: number): number {
    for (let i = at + 2; i < at + 6; i++) {
      const byte = this.bytes[i];
      if (byte === undefined || hexValue(byte) < 0) {
        return this.fail(i, 'four hexadecimal digits after \\u');
      }
    }
    return at + 6;
  }

  #failDepth(at: number): number {
    return this.fail(at, `at most ${JSON_DEPTH_MAX} arrays and objects inside each other`);
  }
}

function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
