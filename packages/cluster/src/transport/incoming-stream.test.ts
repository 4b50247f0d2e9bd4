// What may be said on which connection, and what a reader holds while a message is incomplete.

import { CodecError } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { encodeFrame, FRAME_HEADER_SIZE, FRAME_KIND, writeFrameHeader } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { IncomingStream } from './incoming-stream.ts';
import { encodeMessage } from './message-codec.ts';
import { PeerProtocolError } from './peer-protocol-error.ts';
import { encodeCancel, encodeRequest, encodeResponse } from './request-codec.ts';
import type { RequestFrame } from './request-codec.ts';
import { entryOf, PARTIES } from './testing/arbitrary-message.ts';
import { feed, framesOf, readerFor } from './testing/wire.ts';
import { FORMAT_LIMITS } from './transport-limits.ts';

const HEADER = { ...PARTIES, term: 3 };
const HEARTBEAT = framesOf(encodeMessage({ ...HEADER, kind: 'heartbeat', readRound: 1 })).bytes;
const APPEND = framesOf(
  encodeMessage({
    ...HEADER,
    kind: 'append',
    prevIndex: 0,
    prevTerm: 0,
    commitIndex: 0,
    entries: [entryOf({ index: 1, payloadSize: 100_000 })],
  }),
).bytes;
const REQUEST: RequestFrame = { id: 5, kind: 9, timeoutUs: 1000, bytes: new Uint8Array(70_000) };

const ignore = (): void => {};

describe('a connection', () => {
  it.each([
    ['a heartbeat on bulk', 'bulk', HEARTBEAT, { message: ignore }],
    ['an append on control', 'control', APPEND, { message: ignore }],
    ['a message where only answers are due', 'bulk', APPEND, { response: ignore }],
    ['a request where only answers are due', 'bulk', framesOf(encodeRequest(REQUEST)).bytes, {}],
    ['a cancellation where none is due', 'control', framesOf(encodeCancel(1)).bytes, {}],
    ['a second handshake', 'control', encodeFrame(FRAME_KIND.hello, new Uint8Array(9)), {}],
    [
      'a ping with something in it',
      'control',
      encodeFrame(FRAME_KIND.ping, Uint8Array.of(1)),
      {
        ping: ignore,
      },
    ],
    [
      'data that nobody announced',
      'bulk',
      encodeFrame(FRAME_KIND.data, Uint8Array.of(1)),
      {
        message: ignore,
      },
    ],
  ] as const)('does not take %s', (_, connectionClass, bytes, handlers) => {
    const reader = readerFor(connectionClass, PARTIES, handlers);
    expect(() => reader.push(bytes)).toThrow(PeerProtocolError);
  });

  it('does not take a control message under the kind of the other class', () => {
    const forged = HEARTBEAT.slice();
    const body = forged.subarray(FRAME_HEADER_SIZE);
    const frame = encodeFrame(FRAME_KIND.bulkMessage, body);
    const reader = readerFor('bulk', PARTIES, { message: ignore });
    expect(() => reader.push(frame)).toThrow(PeerProtocolError);
  });

  it('takes requests, answers and cancellations whole, byte by byte', () => {
    const seen: unknown[] = [];
    const note = (value: unknown): void => {
      seen.push(value);
    };
    const handlers = { request: note, response: note, cancel: note, ping: () => note('ping') };
    const reader = readerFor('bulk', PARTIES, handlers);
    const small = { ...REQUEST, bytes: Uint8Array.of(1, 2, 3) };
    const response = { id: 6, status: 'failed' as const, bytes: new Uint8Array(0) };
    for (const message of [encodeRequest(small), encodeCancel(77), encodeResponse(response)]) {
      feed(reader, framesOf(message).bytes, 1);
    }
    feed(reader, encodeFrame(FRAME_KIND.ping, new Uint8Array(0)), 1);
    feed(reader, framesOf(encodeRequest(REQUEST)).bytes, 1000);
    expect(seen).toEqual([small, 77, response, 'ping', REQUEST]);
    expect(reader.heldBytes).toBe(0);
  });

  it('says nothing more once it is stopped, not even the rest of the same chunk', () => {
    let count = 0;
    const reader = readerFor('control', PARTIES, {
      message: () => {
        count += 1;
        reader.stop();
      },
    });
    reader.push(Buffer.concat([HEARTBEAT, HEARTBEAT]));
    reader.push(HEARTBEAT);
    expect(count).toBe(1);
  });

  it('lets an error of a handler through as it is: that is not the peer’s doing', () => {
    const error = new CodecError('of the handler');
    const fail = (): never => {
      throw error;
    };
    expect(() => readerFor('control', PARTIES, { message: fail }).push(HEARTBEAT)).toThrow(error);
    expect(() => readerFor('bulk', PARTIES, { message: fail }).push(APPEND)).toThrow(error);
  });

  it('refuses a frame over the limit by its header, before it holds a byte of it', () => {
    const header = new Uint8Array(FRAME_HEADER_SIZE);
    const bodySize = FORMAT_LIMITS.frameBodyBytesMax + 1;
    const kind = FRAME_KIND.bulkMessage;
    writeFrameHeader(header, { kind, hasMore: false, bodySize, bodyCrc: 0 });
    const reader = readerFor('bulk', PARTIES, { message: ignore });
    expect(() => reader.push(header)).toThrow(/exceeds the limit/);
    expect(reader.heldBytes).toBe(0);
    writeFrameHeader(header, { kind, hasMore: false, bodySize: bodySize - 1, bodyCrc: 0 });
    expect(() => readerFor('bulk', PARTIES, { message: ignore }).push(header)).not.toThrow();
  });

  it('holds no second copy of a large message while it arrives', () => {
    const stream = new IncomingStream({
      connectionClass: 'bulk',
      parties: PARTIES,
      handlers: { message: ignore },
    });
    const reader = new FrameReader(stream, FORMAT_LIMITS.frameBodyBytesMax);
    for (let at = 0; at < APPEND.length; at += 1500) {
      reader.push(APPEND.subarray(at, at + 1500));
      expect(reader.heldBytes).toBeLessThan(100);
    }
  });
});
