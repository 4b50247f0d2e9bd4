// The stored form of one log entry. It is split over several LevelDB values (keys.ts): chunk 0 holds
// the header and the head, the other chunks hold the payload bytes verbatim. Integers are big-endian.
//
//   chunk 0
//   offset  size  field
//   0       4     checksum: CRC-32 of bytes [4, end) of this chunk
//   4       1     record format version, 1
//   5       1     entry type: 1 command, 2 noop, 3 membership
//   6       2     zero
//   8       8     term
//   16      8     index, equal to the one in the key
//   24      4     checksum of the record before it (the chain); of the log start for the first one
//   28      4     head length in bytes
//   32      4     payload length in bytes
//   36      4n    CRC-32 of each of the n payload chunks, n = ceil(payload length / 65,536)
//   36+4n   …     head
//
// The checksum covers the payload checksums and the previous record's checksum, so the last record's
// checksum stands for the whole log. Reading and writing of values is left to the store.

import { crc32 } from 'node:zlib';

import { assert } from '@queen-ts/base';
import type { Entry, EntryType } from '@queen-ts/raft';

import { readU64, viewOf, writeU64 } from './big-endian.ts';
import { PAYLOAD_CHUNK_BYTES, payloadChunkCount } from './keys.ts';

/** Version written into every record. */
const RECORD_FORMAT_VERSION = 1;

/** Most bytes of head and payload of one entry together. */
export const ENTRY_BYTES_MAX = 134_217_728;

const HEADER_BYTES = 36;
const TYPE_CODES = { command: 1, noop: 2, membership: 3 } as const;
const TYPES_BY_CODE: readonly (EntryType | undefined)[] = [
  undefined,
  'command',
  'noop',
  'membership',
];

/** What is needed to verify and chain a record without its head and payload. */
export interface RecordHeader {
  readonly type: EntryType;
  readonly term: number;
  readonly index: number;
  /** Checksum of the record before this one. */
  readonly previousChecksum: number;
  /** Checksum of this record's chunk 0. */
  readonly checksum: number;
  readonly headBytes: number;
  readonly payloadBytes: number;
  /** CRC-32 of each payload chunk; position 0 belongs to chunk 1. */
  readonly payloadChecksums: Uint32Array;
}

/** A header with the chunk-0 bytes it was encoded to. */
export interface EncodedRecord {
  readonly header: RecordHeader;
  readonly chunk0: Uint8Array;
}

/** A verified chunk 0; `head` is a view of the chunk. */
export interface DecodedRecord {
  readonly header: RecordHeader;
  readonly head: Uint8Array;
}

/** Encodes chunk 0 of `entry`, chained to the record before it. The payload is only checksummed. */
export function encodeRecord(entry: Entry, previousChecksum: number): EncodedRecord {
  const { type, term, index, head, payload } = entry;
  assert(Number.isSafeInteger(term) && term >= 1, () => `entry ${index} has term ${term}`);
  assert(Number.isSafeInteger(index) && index >= 1, () => `entry index ${index}`);
  assert(
    head.byteLength + payload.byteLength <= ENTRY_BYTES_MAX,
    () => `entry ${index} has ${head.byteLength} + ${payload.byteLength} bytes`,
  );
  const payloadChecksums = new Uint32Array(payloadChunkCount(payload.byteLength));
  const headOffset = HEADER_BYTES + 4 * payloadChecksums.length;
  const chunk0 = new Uint8Array(headOffset + head.byteLength);
  const view = viewOf(chunk0);
  view.setUint8(4, RECORD_FORMAT_VERSION);
  view.setUint8(5, TYPE_CODES[type]);
  writeU64(view, 8, term);
  writeU64(view, 16, index);
  view.setUint32(24, previousChecksum);
  view.setUint32(28, head.byteLength);
  view.setUint32(32, payload.byteLength);
  for (let i = 0; i < payloadChecksums.length; i++) {
    const checksum = crc32(payloadChunk(payload, i + 1));
    payloadChecksums[i] = checksum;
    view.setUint32(HEADER_BYTES + 4 * i, checksum);
  }
  chunk0.set(head, headOffset);
  const checksum = crc32(chunk0.subarray(4));
  view.setUint32(0, checksum);
  const header = {
    type,
    term,
    index,
    previousChecksum,
    checksum,
    headBytes: head.byteLength,
    payloadBytes: payload.byteLength,
    payloadChecksums,
  };
  return { header, chunk0 };
}

/**
 * Verifies chunk 0 by itself: checksum, version, lengths, ranges. The chain, the order and the payload
 * are the caller's to check. Returns what is wrong as a string.
 */
export function decodeRecord(chunk0: Uint8Array): DecodedRecord | string {
  if (chunk0.byteLength < HEADER_BYTES) return `only ${chunk0.byteLength} bytes of header`;
  const view = viewOf(chunk0);
  const checksum = view.getUint32(0);
  if (crc32(chunk0.subarray(4)) !== checksum) return 'checksum mismatch';
  const version = view.getUint8(4);
  if (version !== RECORD_FORMAT_VERSION) return `unknown record version ${version}`;
  const type = TYPES_BY_CODE[view.getUint8(5)];
  if (type === undefined) return `unknown entry type ${view.getUint8(5)}`;
  const term = readU64(view, 8);
  const index = readU64(view, 16);
  if (term === undefined || term < 1) return 'term out of range';
  if (index === undefined || index < 1) return 'index out of range';
  const headBytes = view.getUint32(28);
  const payloadBytes = view.getUint32(32);
  if (headBytes + payloadBytes > ENTRY_BYTES_MAX) return 'lengths out of range';
  const payloadChecksums = new Uint32Array(payloadChunkCount(payloadBytes));
  const headOffset = HEADER_BYTES + 4 * payloadChecksums.length;
  if (chunk0.byteLength !== headOffset + headBytes) {
    return `${chunk0.byteLength} bytes where ${headOffset + headBytes} are announced`;
  }
  for (let i = 0; i < payloadChecksums.length; i++) {
    payloadChecksums[i] = view.getUint32(HEADER_BYTES + 4 * i);
  }
  const previousChecksum = view.getUint32(24);
  const header = {
    type,
    term,
    index,
    previousChecksum,
    checksum,
    headBytes,
    payloadBytes,
    payloadChecksums,
  };
  return { header, head: chunk0.subarray(headOffset) };
}

/** Bytes of payload chunk `chunk` (1-based), a view of `payload`. */
export function payloadChunk(payload: Uint8Array, chunk: number): Uint8Array {
  const from = (chunk - 1) * PAYLOAD_CHUNK_BYTES;
  return payload.subarray(from, from + PAYLOAD_CHUNK_BYTES);
}

/** Verifies one payload chunk against its header. Returns what is wrong, or `undefined`. */
export function checkPayloadChunk(
  header: RecordHeader,
  chunk: number,
  bytes: Uint8Array,
): string | undefined {
  const expected = header.payloadChecksums[chunk - 1];
  assert(expected !== undefined, () => `chunk ${chunk} of record ${header.index}`);
  const from = (chunk - 1) * PAYLOAD_CHUNK_BYTES;
  const length = Math.min(PAYLOAD_CHUNK_BYTES, header.payloadBytes - from);
  if (bytes.byteLength !== length) return `${bytes.byteLength} bytes where ${length} are announced`;
  return crc32(bytes) === expected ? undefined : 'checksum mismatch';
}
