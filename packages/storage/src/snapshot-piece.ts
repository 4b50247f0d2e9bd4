// The pieces that a snapshot travels in from one store to another. Integers are big-endian.
//
//   offset  size  field
//   0       4     CRC-32 of bytes [4, end), continued from the checksum of the piece before
//   4       1     kind
//   5       …     body
//
//   kind 1, begin, first and once:
//   5       1     snapshot format version, 1
//   6       8     index that the snapshot covers
//   14      8     term of that record
//   22      4     checksum of that record: the chain of the log up to there
//   kind 2, values: a slice of one stream of {key length 1, value length 4, key, value}: the pages of the
//     map of purges, then every record up to the index, in the order and in the form of the log (keys.ts)
//   kind 3, state: a slice of the checkpoint file at the index (checkpoint-file.ts)
//   kind 4, end, last and once: number of values (8), size of the checkpoint file (8)
//
// The checksums form a chain, so that a piece is accepted only after those it was sent after.

import { crc32 } from 'node:zlib';

import type { LogPosition } from '@queen-ts/raft';

import { readU64, viewOf, writeU64 } from './big-endian.ts';

/** Bytes before the body. */
export const PIECE_HEAD_BYTES = 5;

const VERSION = 1;
const BEGIN_BYTES = 26;
const END_BYTES = 21;
const KIND = { begin: 1, values: 2, state: 3, end: 4 } as const;

/** A decoded piece; bodies are views of it. */
export type SnapshotPiece =
  | { readonly kind: 'begin'; readonly position: LogPosition }
  | { readonly kind: 'values'; readonly bytes: Uint8Array }
  | { readonly kind: 'state'; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly valueCount: number; readonly stateBytes: number };

/** Writes and reads the pieces of one snapshot, in order. */
export class PieceChain {
  #checksum = 0;

  /** Encodes the next piece. */
  encode(piece: SnapshotPiece): Uint8Array {
    const bytes = bodyOf(piece);
    bytes[4] = KIND[piece.kind];
    this.#checksum = crc32(bytes.subarray(4), this.#checksum);
    viewOf(bytes).setUint32(0, this.#checksum);
    return bytes;
  }

  /** Decodes the next piece; what is wrong comes back as a string. */
  decode(bytes: Uint8Array): SnapshotPiece | string {
    if (bytes.byteLength < PIECE_HEAD_BYTES) return `a piece of ${bytes.byteLength} bytes`;
    const view = viewOf(bytes);
    const checksum = crc32(bytes.subarray(4), this.#checksum);
    if (checksum !== view.getUint32(0)) return 'a piece has a checksum mismatch';
    this.#checksum = checksum;
    switch (view.getUint8(4)) {
      case KIND.begin:
        return decodeBegin(bytes);
      case KIND.values:
        return { kind: 'values', bytes: bytes.subarray(PIECE_HEAD_BYTES) };
      case KIND.state:
        return { kind: 'state', bytes: bytes.subarray(PIECE_HEAD_BYTES) };
      case KIND.end:
        return decodeEnd(bytes);
      default:
        return `a piece of unknown kind ${view.getUint8(4)}`;
    }
  }
}

/** The piece with room for its head. */
function bodyOf(piece: SnapshotPiece): Uint8Array {
  switch (piece.kind) {
    case 'begin':
      return encodeBegin(piece.position);
    case 'values':
    case 'state': {
      const bytes = new Uint8Array(PIECE_HEAD_BYTES + piece.bytes.byteLength);
      bytes.set(piece.bytes, PIECE_HEAD_BYTES);
      return bytes;
    }
    case 'end': {
      const bytes = new Uint8Array(END_BYTES);
      writeU64(viewOf(bytes), 5, piece.valueCount);
      writeU64(viewOf(bytes), 13, piece.stateBytes);
      return bytes;
    }
  }
}

function encodeBegin({ index, term, checksum }: LogPosition): Uint8Array {
  const bytes = new Uint8Array(BEGIN_BYTES);
  const view = viewOf(bytes);
  view.setUint8(5, VERSION);
  writeU64(view, 6, index);
  writeU64(view, 14, term);
  view.setUint32(22, checksum);
  return bytes;
}

function decodeBegin(bytes: Uint8Array): SnapshotPiece | string {
  if (bytes.byteLength !== BEGIN_BYTES) return 'a first piece of a wrong length';
  const view = viewOf(bytes);
  if (view.getUint8(5) !== VERSION) return `snapshot format version ${view.getUint8(5)}`;
  const index = readU64(view, 6);
  const term = readU64(view, 14);
  if (index === undefined || term === undefined || index < 1) return 'a position out of range';
  return { kind: 'begin', position: { index, term, checksum: view.getUint32(22) } };
}

function decodeEnd(bytes: Uint8Array): SnapshotPiece | string {
  if (bytes.byteLength !== END_BYTES) return 'a last piece of a wrong length';
  const view = viewOf(bytes);
  const valueCount = readU64(view, 5);
  const stateBytes = readU64(view, 13);
  if (valueCount === undefined || stateBytes === undefined) return 'a count out of range';
  return { kind: 'end', valueCount, stateBytes };
}
