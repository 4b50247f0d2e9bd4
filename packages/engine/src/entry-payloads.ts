// Payload bytes by entry index: those of the entry being planned or applied from memory, all others
// through the reader that the engine was given.

import { assert } from '@queen-ts/base';
import type { ByteWriter } from '@queen-ts/base';
import type { PayloadReader } from '@queen-ts/protocol';

const NOTHING = new Uint8Array(0);

/** The reader behind everything that looks into stored messages. */
export class EntryPayloads implements PayloadReader {
  readonly #older: PayloadReader;
  #index = 0;
  #writer: ByteWriter | undefined = undefined;
  #bytes: Uint8Array = NOTHING;

  constructor(older: PayloadReader) {
    this.#older = older;
  }

  /** Reads entry `index` from a buffer that is being written. */
  openPlanned(index: number, writer: ByteWriter): void {
    this.#index = index;
    this.#writer = writer;
  }

  /** Reads entry `index` from its payload. */
  openApplied(index: number, payload: Uint8Array): void {
    this.#index = index;
    this.#bytes = payload;
  }

  /** Reads no entry from memory any longer. */
  close(): void {
    this.#index = 0;
    this.#writer = undefined;
    this.#bytes = NOTHING;
  }

  payload(range: { index: number; from: number; toExclusive: number }): Uint8Array {
    if (range.index !== this.#index) return this.#older.payload(range);
    const bytes = this.#writer === undefined ? this.#bytes : this.#writer.written();
    assert(
      range.from <= range.toExclusive && range.toExclusive <= bytes.length,
      () => `payload [${range.from}, ${range.toExclusive}) of ${bytes.length} bytes`,
    );
    return bytes.subarray(range.from, range.toExclusive);
  }
}
