// The stored form of one state checkpoint. The state itself is opaque pieces; everything here is about
// noticing what is not exactly as it was written. Integers are big-endian.
//
//   header, 64 bytes, written last: until then it is zeros, and the file is no checkpoint
//   offset  size  field
//   0       4     CRC-32 of bytes [4, 64)
//   4       4     "QCKP"
//   8       2     version, 1
//   10      2     zero
//   12      4     number of pieces, without the description
//   16      8     index that the state stands at
//   24      8     term of the log record at that index
//   32      4     checksum of that record: the chain of the log up to there
//   36      4     CRC-32 of the 8-byte headers of all pieces, the description included, in order
//   40      8     length of the file
//   48      4     length of the description
//   52      12    zero
//
//   then pieces, and the description as the last one:
//   0       4     length n, 1 to 1,048,576
//   4       4     CRC-32 of the content
//   8       n     content
//
//   description: cluster id and digest as texts (length 1, bytes), membership (length 4, bytes)
//
// Nothing in it says which node wrote it: equal logs make equal states.

import { crc32 } from 'node:zlib';

import { assert } from '@queen-ts/base';
import { CHECKPOINT_PIECE_BYTES_MAX, type CheckpointMeta, type LogPosition } from '@queen-ts/raft';

import { readU64, viewOf, writeU64 } from './big-endian.ts';

/** Size of the header. */
export const CHECKPOINT_HEADER_BYTES = 64;

/** Size of what stands before each piece. */
export const PIECE_HEADER_BYTES = 8;

const MAGIC = 0x51434b50;
const VERSION = 1;
const TEXT_BYTES_MAX = 64;

/** The header's fields. */
export interface CheckpointHeader {
  readonly position: LogPosition;
  readonly pieceCount: number;
  readonly piecesChecksum: number;
  readonly sizeBytes: number;
  readonly descriptionBytes: number;
}

/** Encodes the header. */
export function encodeHeader(header: CheckpointHeader): Uint8Array {
  const bytes = new Uint8Array(CHECKPOINT_HEADER_BYTES);
  const view = viewOf(bytes);
  view.setUint32(4, MAGIC);
  view.setUint16(8, VERSION);
  view.setUint32(12, header.pieceCount);
  writeU64(view, 16, header.position.index);
  writeU64(view, 24, header.position.term);
  view.setUint32(32, header.position.checksum);
  view.setUint32(36, header.piecesChecksum);
  writeU64(view, 40, header.sizeBytes);
  view.setUint32(48, header.descriptionBytes);
  view.setUint32(0, crc32(bytes.subarray(4)));
  return bytes;
}

/** Decodes and verifies the header; what is wrong comes back as a string, another version as a number. */
export function decodeHeader(bytes: Uint8Array): CheckpointHeader | string | number {
  if (bytes.byteLength < CHECKPOINT_HEADER_BYTES) return 'too short for a checkpoint';
  const view = viewOf(bytes);
  const isSound = crc32(bytes.subarray(4)) === view.getUint32(0) && view.getUint32(4) === MAGIC;
  if (!isSound) return 'the header has a checksum mismatch';
  if (view.getUint16(8) !== VERSION) return view.getUint16(8);
  const index = readU64(view, 16);
  const term = readU64(view, 24);
  const sizeBytes = readU64(view, 40);
  if (index === undefined || term === undefined || sizeBytes === undefined || index < 1) {
    return 'a field out of range under a valid checksum';
  }
  return {
    position: { index, term, checksum: view.getUint32(32) },
    pieceCount: view.getUint32(12),
    piecesChecksum: view.getUint32(36),
    sizeBytes,
    descriptionBytes: view.getUint32(48),
  };
}

/** What stands before a piece. */
export function pieceHeader(piece: Uint8Array): Uint8Array {
  assert(
    piece.byteLength >= 1 && piece.byteLength <= CHECKPOINT_PIECE_BYTES_MAX,
    () => `checkpoint piece of ${piece.byteLength} bytes`,
  );
  const bytes = new Uint8Array(PIECE_HEADER_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, piece.byteLength);
  view.setUint32(4, crc32(piece));
  return bytes;
}

/** Encodes the description of a checkpoint; its index is in the header. */
export function encodeDescription(meta: CheckpointMeta): Uint8Array {
  const texts = [meta.clusterId, meta.digest].map((text) => Buffer.from(text, 'utf8'));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(meta.membership.byteLength);
  for (const { byteLength } of texts) {
    assert(byteLength <= TEXT_BYTES_MAX, () => `text of ${byteLength} bytes in a checkpoint`);
  }
  const framed = texts.flatMap((text) => [Buffer.of(text.byteLength), text]);
  return Buffer.concat([...framed, length, meta.membership]);
}

/** Decodes a verified description; `undefined` when it makes no sense. */
export function decodeDescription(bytes: Uint8Array, index: number): CheckpointMeta | undefined {
  const view = viewOf(bytes);
  let at = 0;
  const texts: string[] = [];
  for (let i = 0; i < 2; i++) {
    if (at >= bytes.byteLength) return undefined;
    const toExclusive = at + 1 + view.getUint8(at);
    texts.push(Buffer.from(bytes.subarray(at + 1, toExclusive)).toString('utf8'));
    at = toExclusive;
  }
  const isComplete = at + 4 <= bytes.byteLength && at + 4 + view.getUint32(at) === bytes.byteLength;
  const [clusterId, digest] = texts;
  if (!isComplete || clusterId === undefined || digest === undefined) return undefined;
  // A copy: the caller keeps it, and `slice` of a Buffer is a view.
  const membership = Uint8Array.from(bytes.subarray(at + 4));
  return { index, clusterId, digest, membership };
}
