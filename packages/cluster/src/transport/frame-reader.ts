// Cuts a byte stream into verified frames. Keeps at most one unfinished frame; the bytes of `data`
// frames are passed on as they arrive, everything else only when its checksum was right.

import { assert } from '@queen-ts/base';
import { crc32 } from 'node:zlib';
import { FRAME_HEADER_SIZE, FRAME_KIND, readFrameHeader } from './frame.ts';
import type { FrameHeader } from './frame.ts';
import { PeerProtocolError } from './peer-protocol-error.ts';

/** Takes what the reader found. May throw PeerProtocolError, which ends the reading. */
export interface FrameSink {
  /** A verified frame other than `data`. The body may be read only during the call. */
  frame(header: FrameHeader, body: Uint8Array): void;
  /** A `data` frame of that many bytes begins. */
  dataBegins(size: number): void;
  /** The next bytes of the `data` frame, not verified yet; may be read only during the call. */
  data(bytes: Uint8Array): void;
  /** The bytes of the `data` frame were what the sender wrote. */
  dataVerified(): void;
}

/** One per connection. After a throw it must not be used again. */
export class FrameReader {
  #sink: FrameSink;
  #bodyBytesMax: number;
  readonly #headerBytes = new Uint8Array(FRAME_HEADER_SIZE);
  #headerFill = 0;
  #header: FrameHeader | undefined;
  /** Bytes of the current body seen so far, and their checksum. */
  #bodyFill = 0;
  #bodyCrc = 0;
  /** The current body, if it did not arrive in one piece. */
  #body: Uint8Array | undefined;
  #isStopped = false;

  /** @param bodyBytesMax larger frames are refused by their header. */
  constructor(sink: FrameSink, bodyBytesMax: number) {
    this.#sink = sink;
    this.#bodyBytesMax = bodyBytesMax;
  }

  /** Bytes of unfinished frames held here. */
  get heldBytes(): number {
    return this.#body?.length ?? 0;
  }

  /** Gives later frames to another sink, under another limit: the peer proved who it is. */
  hand(sink: FrameSink, bodyBytesMax: number): void {
    this.#sink = sink;
    this.#bodyBytesMax = bodyBytesMax;
  }

  /** Ignores whatever follows, the rest of the current chunk included. */
  stop(): void {
    this.#isStopped = true;
    this.#body = undefined;
  }

  /** Takes the next bytes of the stream. Throws PeerProtocolError if they are no valid frames. */
  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && !this.#isStopped) {
      at = this.#header === undefined ? this.#readHeader(chunk, at) : this.#readBody(chunk, at);
    }
  }

  #readHeader(chunk: Uint8Array, at: number): number {
    if (this.#headerFill === 0 && chunk.length - at >= FRAME_HEADER_SIZE) {
      this.#begin(readFrameHeader(chunk, at, this.#bodyBytesMax));
      return at + FRAME_HEADER_SIZE;
    }
    const size = Math.min(FRAME_HEADER_SIZE - this.#headerFill, chunk.length - at);
    this.#headerBytes.set(chunk.subarray(at, at + size), this.#headerFill);
    this.#headerFill += size;
    if (this.#headerFill === FRAME_HEADER_SIZE) {
      this.#headerFill = 0;
      this.#begin(readFrameHeader(this.#headerBytes, 0, this.#bodyBytesMax));
    }
    return at + size;
  }

  #begin(header: FrameHeader): void {
    this.#header = header;
    this.#bodyFill = 0;
    this.#bodyCrc = 0;
    if (header.kind === FRAME_KIND.data) this.#sink.dataBegins(header.bodySize);
    if (header.bodySize === 0) this.#end(header, this.#headerBytes.subarray(0, 0));
  }

  #readBody(chunk: Uint8Array, at: number): number {
    const header = this.#header;
    assert(header !== undefined, 'a body without a header');
    const rest = header.bodySize - this.#bodyFill;
    const toExclusive = Math.min(at + rest, chunk.length);
    const piece = chunk.subarray(at, toExclusive);
    this.#bodyCrc = crc32(piece, this.#bodyCrc);
    if (header.kind === FRAME_KIND.data) this.#sink.data(piece);
    else if (piece.length < header.bodySize) this.#hold(header, piece);
    this.#bodyFill += piece.length;
    if (this.#bodyFill === header.bodySize) this.#end(header, this.#body ?? piece);
    return toExclusive;
  }

  #hold(header: FrameHeader, piece: Uint8Array): void {
    this.#body ??= new Uint8Array(header.bodySize);
    this.#body.set(piece, this.#bodyFill);
  }

  #end(header: FrameHeader, body: Uint8Array): void {
    if (this.#bodyCrc !== header.bodyCrc) throw new PeerProtocolError('frame body is damaged');
    this.#header = undefined;
    this.#body = undefined;
    if (header.kind === FRAME_KIND.data) this.#sink.dataVerified();
    else this.#sink.frame(header, body);
  }
}
