// What an authenticated peer says on one connection: verified frames in, complete messages out. A
// message whose data is not all here yet is known to nobody but this file.

import { ByteReader, CodecError } from '@queen-ts/base';
import { channelOf } from '@queen-ts/raft';
import type { Message } from '@queen-ts/raft';
import { FRAME_KIND } from './frame.ts';
import type { FrameHeader, FrameKind } from './frame.ts';
import type { FrameSink } from './frame-reader.ts';
import type { IncomingData } from './incoming-data.ts';
import { decodeMessage } from './message-codec.ts';
import type { MessageParties } from './message-codec.ts';
import { PeerProtocolError } from './peer-protocol-error.ts';
import { decodeCancel, decodeRequest, decodeResponse } from './request-codec.ts';
import type { RequestFrame, ResponseFrame } from './request-codec.ts';
import type { ConnectionClass } from './transport.ts';

/** Takes what arrived, in order. A kind without a taker is not allowed on the connection. */
export interface IncomingHandlers {
  readonly message?: (message: Message) => void;
  readonly request?: (request: RequestFrame) => void;
  readonly cancel?: (id: number) => void;
  readonly response?: (response: ResponseFrame) => void;
  readonly ping?: () => void;
  readonly pong?: () => void;
}

/** A message whose data is arriving. */
interface Unfinished {
  readonly data: IncomingData;
  readonly deliver: () => void;
}

/** Assembles and hands on. One per connection. */
export class IncomingStream implements FrameSink {
  readonly #connectionClass: ConnectionClass;
  readonly #parties: MessageParties;
  readonly #handlers: IncomingHandlers;
  #unfinished: Unfinished | undefined;

  constructor(options: {
    readonly connectionClass: ConnectionClass;
    readonly parties: MessageParties;
    readonly handlers: IncomingHandlers;
  }) {
    this.#connectionClass = options.connectionClass;
    this.#parties = options.parties;
    this.#handlers = options.handlers;
  }

  frame(header: FrameHeader, body: Uint8Array): void {
    if (this.#unfinished !== undefined) throw new PeerProtocolError('a message was cut short');
    const message = this.#decode(header, body);
    if (message.data !== undefined && message.data.missing > 0) {
      this.#unfinished = { data: message.data, deliver: message.deliver };
      return;
    }
    // Outside of the decoding: what a handler throws is not the peer's doing.
    message.deliver();
  }

  dataBegins(size: number): void {
    if (size === 0 || size > (this.#unfinished?.data.missing ?? 0)) {
      throw new PeerProtocolError('data without a message that waits for it');
    }
  }

  data(bytes: Uint8Array): void {
    this.#unfinished?.data.fill(bytes);
  }

  dataVerified(): void {
    if (this.#unfinished === undefined || this.#unfinished.data.missing > 0) return;
    const { deliver } = this.#unfinished;
    this.#unfinished = undefined;
    deliver();
  }

  #decode(header: FrameHeader, body: Uint8Array): { data?: IncomingData; deliver: () => void } {
    const reader = new ByteReader(body);
    try {
      const message = this.#read(header.kind, reader);
      if (header.hasMore) {
        reader.expectEnd();
        if ((message.data?.missing ?? 0) === 0) throw new CodecError('no data is missing');
      } else {
        message.data?.fill(reader.raw(reader.remaining));
        reader.expectEnd();
        if ((message.data?.missing ?? 0) > 0) throw new CodecError('data is missing');
      }
      return message;
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      throw new PeerProtocolError(error.message, { cause: error });
    }
  }

  #read(kind: FrameKind, reader: ByteReader): { data?: IncomingData; deliver: () => void } {
    const { message, request, response, cancel, ping, pong } = this.#handlers;
    if (kind === FRAME_KIND.controlMessage || kind === FRAME_KIND.bulkMessage) {
      const expected =
        kind === FRAME_KIND.controlMessage ? ('control' as const) : ('bulk' as const);
      if (message === undefined || expected !== this.#connectionClass) throw wrongKind(kind);
      const decoded = decodeMessage(reader, this.#parties);
      if (channelOf(decoded.message) !== expected) throw wrongKind(kind);
      return { data: decoded.data, deliver: () => message(decoded.message) };
    }
    if (kind === FRAME_KIND.request && request !== undefined) {
      const { value, data } = decodeRequest(reader);
      return { data, deliver: () => request(value) };
    }
    if (kind === FRAME_KIND.response && response !== undefined) {
      const { value, data } = decodeResponse(reader);
      return { data, deliver: () => response(value) };
    }
    if (kind === FRAME_KIND.cancel && cancel !== undefined) {
      const id = decodeCancel(reader);
      return { deliver: () => cancel(id) };
    }
    if (kind === FRAME_KIND.ping && ping !== undefined) return { deliver: ping };
    if (kind === FRAME_KIND.pong && pong !== undefined) return { deliver: pong };
    throw wrongKind(kind);
  }
}

function wrongKind(kind: FrameKind): CodecError {
  return new CodecError(`a frame of kind ${kind} does not belong on this connection`);
}
