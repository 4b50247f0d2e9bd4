// The frame of the peer protocol: kinds and header. Every frame on a connection is
//
//   u32 body size · u8 kind · u8 flags · u8 format version · u8 zero
//   u32 CRC-32 of the body · u32 CRC-32 of the twelve bytes before · body
//
// little-endian (docs/format/peer-protocol.md). The header proves itself, so that a damaged size is
// noticed before anything is allocated or waited for.

import { crc32 } from 'node:zlib';
import { PeerProtocolError } from './peer-protocol-error.ts';

/** The one format version so far; raised when a node can no longer be read by the one before. */
export const PEER_FORMAT_VERSION = 1;

/** Bytes before the body of a frame. */
export const FRAME_HEADER_SIZE = 16;

/** Header bytes that the header's own checksum covers. */
const CHECKED_SIZE = 12;

/** Flag: the body is the head of a message whose data follows in `data` frames. */
const FLAG_MORE = 1;

/** What a frame is. */
export const FRAME_KIND = {
  hello: 1,
  challenge: 2,
  proof: 3,
  ready: 4,
  refused: 5,
  ping: 6,
  pong: 7,
  controlMessage: 8,
  bulkMessage: 9,
  request: 10,
  response: 11,
  cancel: 12,
  data: 13,
} as const;

/** A number of {@link FRAME_KIND}. */
export type FrameKind = (typeof FRAME_KIND)[keyof typeof FRAME_KIND];

const KIND_MAX = FRAME_KIND.data;

/** A verified header. */
export interface FrameHeader {
  readonly kind: FrameKind;
  readonly hasMore: boolean;
  readonly bodySize: number;
  readonly bodyCrc: number;
}

/** Writes a header to `bytes[0, 16)`. */
export function writeFrameHeader(bytes: Uint8Array, header: FrameHeader): void {
  writeU32(bytes, 0, header.bodySize);
  bytes[4] = header.kind;
  bytes[5] = header.hasMore ? FLAG_MORE : 0;
  bytes[6] = PEER_FORMAT_VERSION;
  bytes[7] = 0;
  writeU32(bytes, 8, header.bodyCrc);
  writeU32(bytes, CHECKED_SIZE, crc32(bytes.subarray(0, CHECKED_SIZE)));
}

/**
 * Reads the header at `bytes[at]`, where its 16 bytes are known to be.
 * Throws PeerProtocolError if it is damaged, unknown, or announces more than `bodyBytesMax`.
 */
export function readFrameHeader(bytes: Uint8Array, at: number, bodyBytesMax: number): FrameHeader {
  const crc = crc32(bytes.subarray(at, at + CHECKED_SIZE));
  if (readU32(bytes, at + CHECKED_SIZE) !== crc)
    throw new PeerProtocolError('frame header is damaged');
  if (bytes[at + 6] !== PEER_FORMAT_VERSION) {
    throw new PeerProtocolError(`frame of format version ${bytes[at + 6]}`);
  }
  const kind = bytes[at + 4]!;
  const flags = bytes[at + 5]!;
  const isKnown = kind >= 1 && kind <= KIND_MAX && (flags & ~FLAG_MORE) === 0;
  if (!isKnown || bytes[at + 7] !== 0)
    throw new PeerProtocolError(`unknown frame ${kind}/${flags}`);
  const bodySize = readU32(bytes, at);
  if (bodySize > bodyBytesMax) {
    throw new PeerProtocolError(`frame of ${bodySize} bytes exceeds the limit of ${bodyBytesMax}`);
  }
  const hasMore = flags === FLAG_MORE;
  return { kind: kind as FrameKind, hasMore, bodySize, bodyCrc: readU32(bytes, at + 8) };
}

/** Returns a frame with a short body in one buffer. */
export function encodeFrame(kind: FrameKind, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_SIZE + body.length);
  bytes.set(body, FRAME_HEADER_SIZE);
  writeFrameHeader(bytes, { kind, hasMore: false, bodySize: body.length, bodyCrc: crc32(body) });
  return bytes;
}

function writeU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

function readU32(bytes: Uint8Array, at: number): number {
  const high = (bytes[at + 3]! << 24) | (bytes[at + 2]! << 16);
  return (high | (bytes[at + 1]! << 8) | bytes[at]!) >>> 0;
}
