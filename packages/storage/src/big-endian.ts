// 64-bit integers of the on-disk formats. Terms, indexes and sequences are plain safe integers, so
// eight bytes are read and written as two 32-bit halves and never as bigint.

import { assert } from '@queen-ts/base';

const HALF = 2 ** 32;

/** Writes `value`, a safe integer >= 0, as eight big-endian bytes at `offset`. */
export function writeU64(view: DataView, offset: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, () => `u64 out of range: ${value}`);
  view.setUint32(offset, Math.floor(value / HALF));
  view.setUint32(offset + 4, value % HALF);
}

/** Reads eight big-endian bytes; `undefined` when the value is not a safe integer. */
export function readU64(view: DataView, offset: number): number | undefined {
  const value = view.getUint32(offset) * HALF + view.getUint32(offset + 4);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** A view over exactly the bytes of `bytes`. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
