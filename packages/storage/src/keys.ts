// Keys of the log database. Ten bytes, fixed width, so LevelDB's byte order is log order and new
// records only ever extend the key space at its end:
//
//   offset  size  field
//   0       8     index, big-endian; 0 is the origin record, entries start at 1
//   8       2     chunk, big-endian; 0 = header and head, 1.. = payload slices of PAYLOAD_CHUNK_BYTES,
//                 65,535 = which slices were purged (holes.ts)
//
// One other kind, 18 bytes, lies between the origin and the first entry: a page of the map of purged
// records (purge-map.ts):
//
//   0       10    key of index 0, chunk 65,535
//   10      8     number of the page, big-endian

import { assert } from '@queen-ts/base';

import { readU64, viewOf, writeU64 } from './big-endian.ts';

/** Length of every key. */
const LOG_KEY_BYTES = 10;

/** Size of every payload slice but the last of a record, in bytes. */
export const PAYLOAD_CHUNK_BYTES = 65_536;

/** Chunk of a record that says which payload slices were purged. */
export const HOLES_CHUNK = 0xffff;

const PAGE_KEY_BYTES = LOG_KEY_BYTES + 8;

/** Index of the record that says which node's log this is. */
export const ORIGIN_INDEX = 0;

/** Position of a value in the log database. */
export interface LogKey {
  readonly index: number;
  readonly chunk: number;
}

/** Encodes a key. */
export function logKey(index: number, chunk: number): Uint8Array {
  assert(chunk >= 0 && chunk <= HOLES_CHUNK, () => `chunk ${chunk} of ${index}`);
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

/** Encodes the key of a page of the map of purged records. */
export function purgePageKey(page: number): Uint8Array {
  const key = new Uint8Array(PAGE_KEY_BYTES);
  key.set(logKey(ORIGIN_INDEX, HOLES_CHUNK));
  writeU64(viewOf(key), LOG_KEY_BYTES, page);
  return key;
}

/** Decodes the key of a page; `undefined` when the bytes are not one. */
export function parsePurgePageKey(key: Uint8Array): number | undefined {
  if (key.byteLength !== PAGE_KEY_BYTES) return undefined;
  const prefix = parseLogKey(key.subarray(0, LOG_KEY_BYTES));
  if (prefix?.index !== ORIGIN_INDEX || prefix.chunk !== HOLES_CHUNK) return undefined;
  return readU64(viewOf(key), LOG_KEY_BYTES);
}

/** Number of payload slices of a payload of `payloadBytes`. */
export function payloadChunkCount(payloadBytes: number): number {
  return Math.ceil(payloadBytes / PAYLOAD_CHUNK_BYTES);
}
