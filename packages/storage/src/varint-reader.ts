// Reads the base-128 numbers and length-prefixed strings of LevelDB's manifest and tables. Running
// past the end is corruption of the file that is being read.

import { corruption } from './errors.ts';

/** A cursor over bytes of one file. */
export class VarintReader {
  readonly #path: string;
  readonly #bytes: Uint8Array;
  #offset = 0;

  /** @param path of the file, for messages. */
  constructor(path: string, bytes: Uint8Array) {
    this.#path = path;
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  /** Reads a number of at most 53 bits. */
  number(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = this.#bytes[this.#offset++];
      if (byte === undefined) throw corruption(this.#path, 'a field is cut off');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw corruption(this.#path, 'a number out of range');
  }

  /** Skips `count` bytes. */
  skip(count: number): void {
    this.#offset += count;
    if (this.#offset > this.#bytes.length) throw corruption(this.#path, 'a field is cut off');
  }

  /** Returns the next `count` bytes, a view. */
  bytes(count: number): Uint8Array {
    const from = this.#offset;
    this.skip(count);
    return this.#bytes.subarray(from, from + count);
  }

  /** Reads a string with its length before it, a view. */
  string(): Uint8Array {
    return this.bytes(this.number());
  }

  /** Skips a string with its length before it. */
  skipString(): void {
    this.skip(this.number());
  }
}
