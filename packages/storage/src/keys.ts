// Keys of the log database. Ten bytes, fixed width, so LevelDB's byte order is log order and new
// records only ever extend the key space at its end:
//
//   offset  size  field
//   0       8     index, big-endian; 0 is the origin record, entries start at 1
//   8       2     chunk, big-endian; 0 = header and head, 1.. = payload slices of PAYLOAD_CHUNK_BYTES

import { assert } from '@queen-ts/base';

import { readU64, viewOf, writeU64 } from './big-endian.ts';

/** Length of every key. */
const LOG_KEY_BYTES = 10;

/** Size of every payload slice but the last of a record, in bytes. */
export const PAYLOAD_CHUNK_BYTES = 65_536;

/** Most payload slices one record can have: chunk numbers are 16 bits and 0 is the header. */
const PAYLOAD_CHUNK_COUNT_MAX = 0xffff;

/** Index of the record that says which node's log this is. */
export const ORIGIN_INDEX = 0;

/** Position of a value in the log database. */
export interface LogKey {
  readonly index: number;
  readonly chunk: number;
}

/** Encodes a key. */
export function logKey(index: number, chunk: number): Uint8Array {
  assert(chunk >= 0 && chunk <= PAYLOAD_CHUNK_COUNT_MAX, () => `chunk ${chunk} of ${index}`);
  const key = new Uint8Array(LOG_KEY_BYTES);
  const view = viewOf(key);
  writeU64(view, 0, index);
  view.setUint16(8, chunk);
  return key;
}

/** Decodes a key; `undefined` when the bytes are not one. */
export function parseLogKey(key: Uint8Array): LogKey | undefined {
  if (key.byteLength !== LOG_KEY_BYTES) return undefined;
  const view = viewOf(key);
  const index = readU64(view, 0);
  return index === undefined ? undefined : { index, chunk: view.getUint16(8) };
}

/** Number of payload slices of a payload of `payloadBytes`. */
export function payloadChunkCount(payloadBytes: number): number {
  return Math.ceil(payloadBytes / PAYLOAD_CHUNK_BYTES);
}
