// Where the data of an arriving message goes: exact-size buffers, filled in order as bytes come, so
// that nothing is copied twice and no buffer keeps a larger one alive.

import { PeerProtocolError } from './peer-protocol-error.ts';
import { FORMAT_LIMITS } from './transport-limits.ts';

/** Below this size zeroing costs less than the way around it; measured. */
const ZEROED_SIZE_MAX = 2048;

/** The buffers that one message's data fills. */
export class IncomingData {
  readonly #buffers: Uint8Array[] = [];
  #size = 0;
  #filled = 0;
  /** The next byte: buffer and position in it. */
  #buffer = 0;
  #at = 0;

  /** Bytes still to come. */
  get missing(): number {
    return this.#size - this.#filled;
  }

  /**
   * Returns a buffer of `size` bytes that the data will fill, after those asked for before. Throws
   * PeerProtocolError, before allocating, if the message would exceed its limit.
   */
  expect(size: number): Uint8Array {
    this.#size += size;
    if (this.#size > FORMAT_LIMITS.messageBytesMax) {
      throw new PeerProtocolError(`message of ${this.#size} bytes of data`);
    }
    const buffer = size < ZEROED_SIZE_MAX ? new Uint8Array(size) : allocate(size);
    if (size > 0) this.#buffers.push(buffer);
    return buffer;
  }

  /** Copies the next bytes into place. Throws PeerProtocolError if they are more than expected. */
  fill(bytes: Uint8Array): void {
    if (bytes.length > this.missing) throw new PeerProtocolError('more data than the message has');
    let from = 0;
    while (from < bytes.length) {
      const buffer = this.#buffers[this.#buffer]!;
      const size = Math.min(buffer.length - this.#at, bytes.length - from);
      buffer.set(bytes.subarray(from, from + size), this.#at);
      from += size;
      this.#at += size;
      if (this.#at < buffer.length) break;
      this.#buffer += 1;
      this.#at = 0;
    }
    this.#filled += bytes.length;
  }
}

/** Every byte is written before anyone reads it, so a large buffer need not be zeroed first. */
function allocate(size: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
}
