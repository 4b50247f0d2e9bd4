// Which payload chunks of an archived record were deleted on purpose, while others of them stay. The
// value under chunk 65,535 of the record, integers big-endian:
//
//   offset  size  field
//   0       4     CRC-32 of bytes [4, end)
//   4       1     format version, 1
//   5       3     zero
//   8       8     index of the record
//   16      n     bit i % 8 of byte i / 8: chunk i + 1 is purged; n = ceil(chunks / 8)

import { crc32 } from 'node:zlib';

import { readU64, viewOf, writeU64 } from './big-endian.ts';

const VERSION = 1;
const HEADER_BYTES = 16;

/** Encodes the purged chunks, 1-based, of a record with `chunkCount` of them. */
export function encodeHoles(
  index: number,
  chunkCount: number,
  holes: ReadonlySet<number>,
): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + Math.ceil(chunkCount / 8));
  const view = viewOf(bytes);
  view.setUint8(4, VERSION);
  writeU64(view, 8, index);
  for (const chunk of holes) {
    const at = HEADER_BYTES + ((chunk - 1) >> 3);
    bytes[at] = (bytes[at] ?? 0) | (1 << ((chunk - 1) & 7));
  }
  view.setUint32(0, crc32(bytes.subarray(4)));
  return bytes;
}

/** Decodes and verifies; what is wrong comes back as a string. */
export function decodeHoles(
  index: number,
  chunkCount: number,
  bytes: Uint8Array,
): ReadonlySet<number> | string {
  const size = HEADER_BYTES + Math.ceil(chunkCount / 8);
  if (bytes.byteLength !== size) return `${bytes.byteLength} bytes where ${size} belong`;
  const view = viewOf(bytes);
  if (crc32(bytes.subarray(4)) !== view.getUint32(0)) return 'checksum mismatch';
  if (view.getUint8(4) !== VERSION) return `unknown version ${view.getUint8(4)}`;
  if (readU64(view, 8) !== index) return 'belongs to another record';
  const holes = new Set<number>();
  for (let chunk = 1; chunk <= chunkCount; chunk++) {
    const byte = bytes[HEADER_BYTES + ((chunk - 1) >> 3)] ?? 0;
    if ((byte & (1 << ((chunk - 1) & 7))) !== 0) holes.add(chunk);
  }
  return holes;
}
