// Where frames go before a connection is authenticated: only single short ones are a handshake.

import type { FrameHeader, FrameKind } from './frame.ts';
import type { FrameSink } from './frame-reader.ts';
import { PeerProtocolError } from './peer-protocol-error.ts';

/** Hands the frames of a handshake on. */
export class HandshakeSink implements FrameSink {
  readonly #take: (kind: FrameKind, body: Uint8Array) => void;

  constructor(take: (kind: FrameKind, body: Uint8Array) => void) {
    this.#take = take;
  }

  frame(header: FrameHeader, body: Uint8Array): void {
    if (header.hasMore) throw new PeerProtocolError('data announced in a handshake');
    this.#take(header.kind, body);
  }

  dataBegins(): void {
    throw new PeerProtocolError('data in a handshake');
  }

  data(): void {}

  dataVerified(): void {}
}
