// Requests, their answers and their cancellation as bytes: a head of varints, the caller's bytes
// behind it as data. Byte tables: docs/format/peer-protocol.md.

import { ByteWriter, CodecError } from '@queen-ts/base';
import type { ByteReader } from '@queen-ts/base';
import { FRAME_KIND } from './frame.ts';
import type { OutgoingMessage } from './frame-writer.ts';
import { IncomingData } from './incoming-data.ts';

/** How an answered request went: `overloaded` was not begun, `failed` may have had an effect. */
export type ResponseStatus = 'ok' | 'overloaded' | 'failed';

const STATUSES: readonly ResponseStatus[] = ['ok', 'overloaded', 'failed'];

const HEAD_CAPACITY = 32;

/** A request on the wire. */
export interface RequestFrame {
  /** Names the request on its connection; a number is used once. */
  readonly id: number;
  readonly kind: number;
  /** How much longer the asker waits, in microseconds from when the request was queued. */
  readonly timeoutUs: number;
  readonly bytes: Uint8Array;
}

/** An answer on the wire. */
export interface ResponseFrame {
  readonly id: number;
  readonly status: ResponseStatus;
  readonly bytes: Uint8Array;
}

/** A frame whose bytes are still to be filled. */
export interface Decoded<T> {
  readonly value: T;
  readonly data: IncomingData;
}

/** Encodes a request; its bytes are not copied. */
export function encodeRequest(request: RequestFrame): OutgoingMessage {
  const writer = new ByteWriter({ capacity: HEAD_CAPACITY });
  writer.varint(request.id);
  writer.u8(request.kind);
  writer.varint(request.timeoutUs);
  return withBytes(FRAME_KIND.request, writer, request.bytes);
}

/** Encodes an answer; its bytes are not copied. */
export function encodeResponse(response: ResponseFrame): OutgoingMessage {
  const writer = new ByteWriter({ capacity: HEAD_CAPACITY });
  writer.varint(response.id);
  writer.u8(STATUSES.indexOf(response.status));
  return withBytes(FRAME_KIND.response, writer, response.bytes);
}

/** Encodes that nobody waits for the answer of `id` any more. */
export function encodeCancel(id: number): OutgoingMessage {
  const writer = new ByteWriter({ capacity: HEAD_CAPACITY });
  writer.varint(id);
  return { kind: FRAME_KIND.cancel, head: writer.written(), parts: [], dataSize: 0 };
}

/** Reads a request's head; the reader may hold its bytes behind it. Throws CodecError. */
export function decodeRequest(reader: ByteReader): Decoded<RequestFrame> {
  const id = reader.varint();
  const kind = reader.u8();
  const timeoutUs = reader.varint();
  const data = new IncomingData();
  return { value: { id, kind, timeoutUs, bytes: data.expect(reader.varint()) }, data };
}

/** Reads an answer's head; the reader may hold its bytes behind it. Throws CodecError. */
export function decodeResponse(reader: ByteReader): Decoded<ResponseFrame> {
  const id = reader.varint();
  const status = STATUSES[reader.u8()];
  if (status === undefined) throw new CodecError('unknown response status');
  const data = new IncomingData();
  return { value: { id, status, bytes: data.expect(reader.varint()) }, data };
}

/** Reads the id of a cancelled request. Throws CodecError. */
export function decodeCancel(reader: ByteReader): number {
  const id = reader.varint();
  reader.expectEnd();
  return id;
}

function withBytes(
  kind: OutgoingMessage['kind'],
  writer: ByteWriter,
  bytes: Uint8Array,
): OutgoingMessage {
  writer.varint(bytes.length);
  return { kind, head: writer.written(), parts: [bytes], dataSize: bytes.length };
}
