// Builds one JSON answer as bytes: constant fragments, spliced spans and the few scalar forms that
// answers have. It does not check that the pieces make a document; the routes' tests do.

import { copyBytes, encodeUtf8, TIMESTAMP_US_SIZE, UUID_TEXT_SIZE } from '@queen-ts/base';
import { writeTimestampUs, writeUuidText } from '@queen-ts/base';
import { BACKSLASH, IN_STRING, STRING_CLASS } from '../json/characters.ts';

const DIGITS_MAX = 16;
/** Bytes of `\u001f`, the longest escape. */
const ESCAPE_SIZE_MAX = 6;
const HEX_DIGITS = encodeUtf8('0123456789abcdef');

/** Returns the bytes of a constant piece of an answer. */
export function fragment(text: string): Uint8Array {
  return encodeUtf8(text);
}

/** A growing answer. */
export class JsonWriter {
  #bytes: Uint8Array;
  #at = 0;

  /** @param sizeHint expected size in bytes; growing past it costs a copy. */
  constructor(sizeHint: number) {
    this.#bytes = new Uint8Array(sizeHint);
  }

  /** Appends bytes as they are. */
  raw(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** Appends bytes [from, toExclusive) as they are. */
  span(bytes: Uint8Array, from: number, toExclusive: number): void {
    const at = this.#reserve(toExclusive - from);
    copyBytes(bytes, from, toExclusive, this.#bytes, at);
  }

  /** Appends the id at `words[wordsAt]` as text, without quotes. */
  uuid(words: ArrayLike<number>, wordsAt: number): void {
    const at = this.#reserve(UUID_TEXT_SIZE);
    writeUuidText(words, wordsAt, this.#bytes, at);
  }

  /** Appends an instant as text, without quotes. */
  timestampUs(us: number): void {
    const at = this.#reserve(TIMESTAMP_US_SIZE);
    writeTimestampUs(us, this.#bytes, at);
  }

  /** Appends an integer in [0, 2^53). */
  integer(value: number): void {
    const start = this.#reserve(DIGITS_MAX);
    let size = 1;
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) size += 1;
    let rest = value;
    for (let at = start + size - 1; at >= start; at--) {
      const quotient = Math.floor(rest / 10);
      this.#bytes[at] = 0x30 + (rest - quotient * 10);
      rest = quotient;
    }
    this.#at = start + size;
  }

  /** Appends valid UTF-8 [from, toExclusive) as the inside of a JSON string. */
  text(utf8: Uint8Array, from: number, toExclusive: number): void {
    const start = this.#reserve((toExclusive - from) * ESCAPE_SIZE_MAX);
    const bytes = this.#bytes;
    let to = start;
    for (let at = from; at < toExclusive; at++) {
      const byte = utf8[at]!;
      const kind = STRING_CLASS[byte];
      if (kind === IN_STRING.PLAIN || kind === IN_STRING.NON_ASCII) bytes[to++] = byte;
      else if (kind === IN_STRING.CONTROL) to = writeControl(byte, bytes, to);
      else {
        bytes[to++] = BACKSLASH;
        bytes[to++] = byte;
      }
    }
    this.#at = to;
  }

  /** Appends a value of any JSON type through JSON.stringify: names, texts of errors. */
  value(value: unknown): void {
    this.raw(encodeUtf8(JSON.stringify(value)));
  }

  /** Returns the answer. The writer must not be used again. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }

  #reserve(size: number): number {
    const start = this.#at;
    const end = start + size;
    if (end > this.#bytes.length) {
      const bytes = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      bytes.set(this.#bytes.subarray(0, start));
      this.#bytes = bytes;
    }
    this.#at = end;
    return start;
  }
}

function writeControl(byte: number, bytes: Uint8Array, at: number): number {
  bytes[at] = BACKSLASH;
  bytes[at + 1] = 0x75;
  bytes[at + 2] = 0x30;
  bytes[at + 3] = 0x30;
  bytes[at + 4] = HEX_DIGITS[byte >> 4]!;
  bytes[at + 5] = HEX_DIGITS[byte & 15]!;
  return at + ESCAPE_SIZE_MAX;
}
