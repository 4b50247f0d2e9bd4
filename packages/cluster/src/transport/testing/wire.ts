// Messages through the real frames without a connection.

import type { Message } from '@queen-ts/raft';
import { FrameReader } from '../frame-reader.ts';
import { FrameWriter } from '../frame-writer.ts';
import type { OutgoingMessage } from '../frame-writer.ts';
import { IncomingStream } from '../incoming-stream.ts';
import type { IncomingHandlers } from '../incoming-stream.ts';
import { encodeMessage } from '../message-codec.ts';
import type { MessageParties } from '../message-codec.ts';
import { FORMAT_LIMITS } from '../transport-limits.ts';
import type { ConnectionClass } from '../transport.ts';

/** The bytes of a message on the wire, and where its frames begin. */
export function framesOf(message: OutgoingMessage): { bytes: Uint8Array; starts: number[] } {
  const writer = new FrameWriter(message);
  const pieces: Uint8Array[] = [];
  const starts: number[] = [];
  let size = 0;
  while (!writer.isDone) {
    starts.push(size);
    for (const piece of writer.next()) {
      pieces.push(piece);
      size += piece.length;
    }
  }
  return { bytes: Buffer.concat(pieces), starts };
}

/** A reader of one connection that hands what arrives to `handlers`. */
export function readerFor(
  connectionClass: ConnectionClass,
  parties: MessageParties,
  handlers: IncomingHandlers,
): FrameReader {
  const stream = new IncomingStream({ connectionClass, parties, handlers });
  return new FrameReader(stream, FORMAT_LIMITS.frameBodyBytesMax);
}

/** Feeds `bytes` in chunks of at most `chunkSize`. */
export function feed(reader: FrameReader, bytes: Uint8Array, chunkSize: number): void {
  for (let at = 0; at < bytes.length; at += chunkSize) {
    reader.push(bytes.subarray(at, at + chunkSize));
  }
}

/** The message as its addressee gets it: nothing is shared with the sender. */
export function throughTheWire(message: Message, connectionClass: ConnectionClass): Message {
  const arrived: Message[] = [];
  const reader = readerFor(connectionClass, message, { message: (got) => arrived.push(got) });
  reader.push(framesOf(encodeMessage(message)).bytes);
  const [got] = arrived;
  if (got === undefined) throw new Error('the message did not arrive');
  return got;
}
