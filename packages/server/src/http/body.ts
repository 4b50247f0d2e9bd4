// Reads request bodies as bytes, straight from Node's request. The limit holds for what is declared
// and, without a declaration, for what comes. Every piece takes room before it is kept, and while there
// is none, nothing is read. Memory grows with what has come, not with what was announced.

import { BrokerError } from '@queen-ts/protocol';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Grant } from './byte-budget.ts';
import { BodyBytes } from './body-bytes.ts';
import { socketSides } from './exchange.ts';
import type { Exchange } from './exchange.ts';

/** The client went away before its request was complete; nobody is there to be answered. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

const EMPTY = new Uint8Array(0);

/** Undocumented: set while a client waits for «100 Continue». */
interface ExpectingResponse extends ServerResponse {
  _expect_continue?: boolean;
}

/**
 * Returns the declared size of the body in bytes, 0 when there is none, undefined when it comes in
 * chunks. Throws `body_too_large`. Node has refused malformed and contradictory declarations before.
 */
export function declaredSize(exchange: Exchange, bytesMax: number): number | undefined {
  const headers = exchange.env?.incoming?.headers;
  const isSocket = headers !== undefined;
  const length = isSocket ? headers['content-length'] : exchange.req.header('content-length');
  if (length === undefined) {
    // Without a socket nothing tells whether a body comes: it is read like one in chunks.
    return isSocket && headers['transfer-encoding'] === undefined ? 0 : undefined;
  }
  const size = Number(length);
  if (size > bytesMax) throw bodyTooLarge(bytesMax);
  return size;
}

/**
 * Reads the whole body, widening `grant` as it grows. `size` is what {@link declaredSize} returned.
 * Throws `body_too_large`, `overloaded` or ClientGoneError.
 */
export async function readBody(
  exchange: Exchange,
  options: { readonly size: number | undefined; readonly bytesMax: number; readonly grant: Grant },
): Promise<Uint8Array> {
  const { size, bytesMax, grant } = options;
  if (size === 0) return EMPTY;
  const sides = socketSides(exchange);
  if (sides === undefined) return readWithoutSocket(exchange, bytesMax, grant);
  acceptBody(sides);
  const body = await readPieces(sides.incoming, new BodyBytes(size, bytesMax), grant);
  // Node closes the connection behind an answer when the client asked and was not told to go on: its
  // body might still come. Here it is.
  (sides.outgoing as ExpectingResponse)._expect_continue = false;
  return body;
}

/** Tells a client that asked first («Expect: 100-continue») that its body is wanted. */
function acceptBody(sides: {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}): void {
  const { incoming, outgoing } = sides;
  if (incoming.headers.expect === undefined) return;
  // While an earlier request of the connection has its answer to come, this one has no socket yet, and
  // Node would put the interim answer between head and body of the final one.
  if (outgoing.socket !== null) outgoing.writeContinue();
  else {
    outgoing.once('socket', () => {
      if (!outgoing.headersSent) outgoing.writeContinue();
    });
  }
}

function readPieces(incoming: IncomingMessage, body: BodyBytes, grant: Grant): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let isWaiting = false;
    let hasEnded = false;
    const refuse = (refusal: unknown): void => {
      incoming.off('data', take);
      // Whoever answers decides how much of the rest is still read.
      incoming.pause();
      reject(refusal as Error);
    };
    const finish = (): void => {
      if (body.isComplete) resolve(body.finish());
      else reject(new ClientGoneError('incomplete body'));
    };
    const take = (piece: Uint8Array): void => {
      const sizeBytes = body.sizeBytes + piece.byteLength;
      if (sizeBytes > body.sizeBytesMax) {
        refuse(bodyTooLarge(body.sizeBytesMax));
        return;
      }
      const room = grant.widen(sizeBytes);
      if (room === undefined) {
        body.add(piece);
        return;
      }
      incoming.pause();
      isWaiting = true;
      room.then(() => {
        isWaiting = false;
        body.add(piece);
        if (hasEnded) finish();
        else incoming.resume();
      }, refuse);
    };
    incoming.on('data', take);
    incoming.on('end', () => {
      hasEnded = true;
      if (!isWaiting) finish();
    });
    rejectWhenGone(incoming, reject);
  });
}

function rejectWhenGone(incoming: IncomingMessage, reject: (error: Error) => void): void {
  incoming.on('error', (cause) => {
    reject(new ClientGoneError('the connection failed', { cause }));
  });
  incoming.on('close', () => {
    // It comes after every `end` too; an error that nobody needs would cost its stack trace.
    if (!incoming.readableEnded) reject(new ClientGoneError('the connection was closed'));
  });
}

async function readWithoutSocket(
  exchange: Exchange,
  bytesMax: number,
  grant: Grant,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(await exchange.req.arrayBuffer());
  if (bytes.byteLength > bytesMax) throw bodyTooLarge(bytesMax);
  await grant.widen(bytes.byteLength);
  return bytes;
}

function bodyTooLarge(bytesMax: number): BrokerError {
  return new BrokerError('body_too_large', `the request body is larger than ${bytesMax} bytes`);
}
