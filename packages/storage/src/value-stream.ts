// The stream of LevelDB values inside a snapshot: {key length 1, value length 4, key, value}, cut into
// pieces anywhere.

import { viewOf } from './big-endian.ts';

const HEAD_BYTES = 5;

/** Longest key and value that are accepted: a value is at most a record's head. */
const KEY_BYTES_MAX = 32;
const VALUE_BYTES_MAX = 142_606_336;

/** One value with its key; views of what was received. */
export interface StreamedValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Frames one value. */
export function frameValue(key: Uint8Array, value: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + key.byteLength + value.byteLength);
  bytes[0] = key.byteLength;
  viewOf(bytes).setUint32(1, value.byteLength);
  bytes.set(key, HEAD_BYTES);
  bytes.set(value, HEAD_BYTES + key.byteLength);
  return bytes;
}

/** Puts the values of a stream together again. */
export class ValueAssembler {
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** Whether a value has begun and is not complete. */
  get isInside(): boolean {
    return this.#bytes > 0;
  }

  /** Takes the next slice; returns the values that it completes, or what is wrong. */
  accept(slice: Uint8Array): StreamedValue[] | string {
    this.#parts.push(slice);
    this.#bytes += slice.byteLength;
    const wanted = this.#wantedBytes();
    if (typeof wanted === 'string') return wanted;
    // A value that spans many slices is put together once, not with every slice.
    if (this.#bytes < wanted) return [];
    const bytes = Buffer.concat(this.#parts);
    const values: StreamedValue[] = [];
    let at = 0;
    for (;;) {
      const size = sizeAt(bytes, at);
      if (typeof size === 'string') return size;
      if (size === undefined || bytes.byteLength - at < size) break;
      const from = at + HEAD_BYTES;
      const valueFrom = from + (bytes[at] ?? 0);
      at += size;
      values.push({ key: bytes.subarray(from, valueFrom), value: bytes.subarray(valueFrom, at) });
    }
    const rest = bytes.subarray(at);
    this.#parts = rest.byteLength === 0 ? [] : [rest];
    this.#bytes = rest.byteLength;
    return values;
  }

  /** Bytes that the value at the front takes; the head's size while that is not here. */
  #wantedBytes(): number | string {
    const first = this.#parts[0];
    if (first === undefined || this.#bytes < HEAD_BYTES) return HEAD_BYTES;
    const head = first.byteLength >= HEAD_BYTES ? first : Buffer.concat(this.#parts);
    return sizeAt(head, 0) ?? HEAD_BYTES;
  }
}

function sizeAt(bytes: Uint8Array, at: number): number | undefined | string {
  if (bytes.byteLength - at < HEAD_BYTES) return undefined;
  const keyBytes = bytes[at] ?? 0;
  const valueBytes = viewOf(bytes).getUint32(at + 1);
  if (keyBytes < 1 || keyBytes > KEY_BYTES_MAX || valueBytes > VALUE_BYTES_MAX) {
    return `a value of ${keyBytes} + ${valueBytes} bytes`;
  }
  return HEAD_BYTES + keyBytes + valueBytes;
}
