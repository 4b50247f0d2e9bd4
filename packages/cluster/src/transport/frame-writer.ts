// Turns one outgoing message into frames, lazily: a large message is checksummed and handed to the
// socket a piece at a time, and its data is never copied into one buffer.

import { crc32 } from 'node:zlib';
import { encodeFrame, FRAME_HEADER_SIZE, FRAME_KIND, writeFrameHeader } from './frame.ts';
import type { FrameHeader, FrameKind } from './frame.ts';

/** Messages with at most this much data travel in one frame. */
const INLINE_DATA_BYTES_MAX = 16 * 1024;

/** Body size of the `data` frames of a larger one. */
const DATA_FRAME_BYTES = 256 * 1024;

/** A frame of more pieces is copied together: a copy costs less than many small writes. */
const PIECES_MAX = 16;

/** A message on its way out: a head that says what it is, then data verbatim. */
export interface OutgoingMessage {
  readonly kind: FrameKind;
  readonly head: Uint8Array;
  /** The data, in order. Nobody may change the bytes before they are sent. */
  readonly parts: readonly Uint8Array[];
  /** Summed size of the parts. */
  readonly dataSize: number;
}

/** Bytes that a message counts for in a queue, and nearly those it takes on the wire. */
export function outgoingSize(message: OutgoingMessage): number {
  return FRAME_HEADER_SIZE + message.head.length + message.dataSize;
}

/** Gives out the frames of one message, in order. */
export class FrameWriter {
  readonly #message: OutgoingMessage;
  #isHeadOut = false;
  #dataOut = 0;
  /** The next byte of data: part and position in it. */
  #part = 0;
  #at = 0;

  constructor(message: OutgoingMessage) {
    this.#message = message;
  }

  /** True when every frame was given out. */
  get isDone(): boolean {
    return this.#isHeadOut && this.#dataOut === this.#message.dataSize;
  }

  /** The pieces of the next frame, to be written one after the other. Not called when done. */
  next(): readonly Uint8Array[] {
    if (this.#isHeadOut) return this.#dataFrame();
    this.#isHeadOut = true;
    const { kind, head, dataSize } = this.#message;
    if (dataSize === 0) return [encodeFrame(kind, head)];
    if (dataSize <= INLINE_DATA_BYTES_MAX) return [this.#inlineFrame()];
    const bytes = new Uint8Array(FRAME_HEADER_SIZE + head.length);
    bytes.set(head, FRAME_HEADER_SIZE);
    const header = { kind, hasMore: true, bodySize: head.length, bodyCrc: crc32(head) };
    writeFrameHeader(bytes, header);
    return [bytes];
  }

  #inlineFrame(): Uint8Array {
    const { kind, head, parts, dataSize } = this.#message;
    this.#dataOut = dataSize;
    return joinFrame(kind, [head, ...parts], head.length + dataSize);
  }

  #dataFrame(): readonly Uint8Array[] {
    const pieces: Uint8Array[] = [];
    let room = DATA_FRAME_BYTES;
    let part = this.#message.parts[this.#part];
    while (part !== undefined && room > 0) {
      const piece = part.subarray(this.#at, this.#at + room);
      if (piece.length > 0) pieces.push(piece);
      room -= piece.length;
      this.#at += piece.length;
      if (this.#at < part.length) break;
      this.#part += 1;
      this.#at = 0;
      part = this.#message.parts[this.#part];
    }
    const bodySize = DATA_FRAME_BYTES - room;
    this.#dataOut += bodySize;
    if (pieces.length > PIECES_MAX) return [joinFrame(FRAME_KIND.data, pieces, bodySize)];
    const bodyCrc = pieces.reduce((crc, piece) => crc32(piece, crc), 0);
    const header = new Uint8Array(FRAME_HEADER_SIZE);
    writeFrameHeader(header, { kind: FRAME_KIND.data, hasMore: false, bodySize, bodyCrc });
    return [header, ...pieces];
  }
}

function joinFrame(kind: FrameKind, pieces: readonly Uint8Array[], bodySize: number): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_SIZE + bodySize);
  let at = FRAME_HEADER_SIZE;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  const bodyCrc = crc32(bytes.subarray(FRAME_HEADER_SIZE));
  const header: FrameHeader = { kind, hasMore: false, bodySize, bodyCrc };
  writeFrameHeader(bytes, header);
  return bytes;
}
