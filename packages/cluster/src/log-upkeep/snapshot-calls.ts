// What members say to each other about one snapshot, as bytes of a peer request and its answer. The
// sender asks, one call at a time; the answer says which piece the receiver wants next, so that a call
// may be repeated after a broken connection. Little-endian; integers are varints unless said otherwise.
//
//   call:   u8 version (1), u8 kind, transfer, then
//     offer:  term, incarnation, index, term and checksum of the last record covered, membership (size, bytes)
//     piece:  number from 0, bytes up to the end
//     finish: nothing
//   answer: u8 version (1), u8 status, next piece

import { ByteReader, ByteWriter, CodecError } from '@queen-ts/base';
import type { LogPosition } from '@queen-ts/raft';

/** Kind of the peer requests that carry these calls. */
export const SNAPSHOT_REQUEST_KIND = 16;

const VERSION = 1;
const KIND = { offer: 1, piece: 2, finish: 3 } as const;

/** Begins a transfer, or asks where it stands. */
export interface SnapshotOffer {
  readonly kind: 'offer';
  /** Random name of the transfer. */
  readonly transfer: number;
  /** The sender's term, and the incarnation of its disk. */
  readonly term: number;
  readonly incarnation: number;
  readonly position: LogPosition;
  readonly membership: Uint8Array;
}

/** One call. */
export type SnapshotCall =
  | SnapshotOffer
  | {
      readonly kind: 'piece';
      readonly transfer: number;
      readonly number: number;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'finish'; readonly transfer: number };

/**
 * `go`: on with piece `next`. `done`: the receiver has everything up to the index, from here or from
 * elsewhere. `busy`: not now. `unknown`: there is no such transfer. `invalid`: a piece was damaged.
 */
export const SNAPSHOT_STATUSES = ['go', 'done', 'busy', 'unknown', 'invalid'] as const;
export type SnapshotStatus = (typeof SNAPSHOT_STATUSES)[number];

/** The answer to a call. */
export interface SnapshotAnswer {
  readonly status: SnapshotStatus;
  readonly next: number;
}

/** Encodes a call. */
export function encodeSnapshotCall(call: SnapshotCall): Uint8Array {
  const writer = new ByteWriter({ capacity: call.kind === 'piece' ? call.bytes.length + 32 : 128 });
  writer.u8(VERSION);
  writer.u8(KIND[call.kind]);
  writer.varint(call.transfer);
  if (call.kind === 'piece') {
    writer.varint(call.number);
    writer.raw(call.bytes);
  }
  if (call.kind === 'offer') {
    const { term, incarnation, position, membership } = call;
    const numbers = [term, incarnation, position.index, position.term, position.checksum];
    for (const number of numbers) writer.varint(number);
    writer.varint(membership.length);
    writer.raw(membership);
  }
  return writer.written();
}

/** Decodes a call; its bytes are views. Throws CodecError. */
export function decodeSnapshotCall(bytes: Uint8Array): SnapshotCall {
  const reader = new ByteReader(bytes);
  readVersion(reader);
  const kind = reader.u8();
  const transfer = reader.varint();
  if (kind === KIND.piece) {
    const number = reader.varint();
    return { kind: 'piece', transfer, number, bytes: reader.raw(reader.remaining) };
  }
  if (kind === KIND.finish) {
    reader.expectEnd();
    return { kind: 'finish', transfer };
  }
  if (kind !== KIND.offer) throw new CodecError(`snapshot call ${kind}`);
  const term = reader.varint();
  const incarnation = reader.varint();
  const position = { index: reader.varint(), term: reader.varint(), checksum: reader.varint() };
  const membership = reader.raw(reader.varint());
  reader.expectEnd();
  return { kind: 'offer', transfer, term, incarnation, position, membership };
}

/** Encodes an answer. */
export function encodeSnapshotAnswer({ status, next }: SnapshotAnswer): Uint8Array {
  const writer = new ByteWriter({ capacity: 16 });
  writer.u8(VERSION);
  writer.u8(SNAPSHOT_STATUSES.indexOf(status));
  writer.varint(next);
  return writer.written();
}

/** Decodes an answer. Throws CodecError. */
export function decodeSnapshotAnswer(bytes: Uint8Array): SnapshotAnswer {
  const reader = new ByteReader(bytes);
  readVersion(reader);
  const status = SNAPSHOT_STATUSES[reader.u8()];
  const next = reader.varint();
  reader.expectEnd();
  if (status === undefined) throw new CodecError('unknown status of a snapshot');
  return { status, next };
}

function readVersion(reader: ByteReader): void {
  const version = reader.u8();
  if (version !== VERSION) throw new CodecError(`snapshot call version ${version}`);
}
