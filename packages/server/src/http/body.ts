// Reads request bodies as bytes, straight from Node's request, with one allocation at most when the
// length is known. The limit holds for what is declared and, without a declaration, for what comes.

import { BrokerError } from '@queen-ts/protocol';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Grant } from './byte-budget.ts';
import { socketSides } from './exchange.ts';
import type { Exchange } from './exchange.ts';

/** The client went away before its request was complete; nobody is there to be answered. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

const EMPTY = new Uint8Array(0);

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
 * Reads the whole body. `size` is what {@link declaredSize} returned; a body in chunks widens
 * `grant` as it grows. Throws `body_too_large`, `overloaded` or ClientGoneError.
 */
export async function readBody(
  exchange: Exchange,
  options: { readonly size: number | undefined; readonly bytesMax: number; readonly grant: Grant },
): Promise<Uint8Array> {
  const { size, bytesMax, grant } = options;
  if (size === 0) return EMPTY;
  const sides = socketSides(exchange);
  if (sides === undefined) return readWithoutSocket(exchange, bytesMax);
  acceptBody(sides);
  if (size !== undefined) return readDeclared(sides.incoming, size);
  return readChunked(sides.incoming, bytesMax, grant);
}

/** Tells a client that asked first («Expect: 100-continue») that its body is wanted. */
function acceptBody(sides: {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}): void {
  if (sides.incoming.headers.expect !== undefined) sides.outgoing.writeContinue();
}

function readDeclared(incoming: IncomingMessage, size: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let body: Uint8Array | undefined;
    let filled = 0;
    incoming.on('data', (chunk: Uint8Array) => {
      if (body === undefined) {
        // Node hands every chunk over for good: a body in one piece needs no copy.
        body = chunk.byteLength === size ? chunk : Buffer.allocUnsafeSlow(size);
      }
      if (body !== chunk) body.set(chunk, filled);
      filled += chunk.byteLength;
    });
    incoming.on('end', () => {
      if (body === undefined || filled !== size) reject(new ClientGoneError('incomplete body'));
      else resolve(body);
    });
    rejectWhenGone(incoming, reject);
  });
}

function readChunked(
  incoming: IncomingMessage,
  bytesMax: number,
  grant: Grant,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const take = (chunk: Uint8Array): void => {
      size += chunk.byteLength;
      const refusal = size > bytesMax ? bodyTooLarge(bytesMax) : grant.widen(size);
      if (refusal !== undefined) {
        incoming.off('data', take);
        // Whoever answers decides how much of the rest is still read.
        incoming.pause();
        reject(refusal);
        return;
      }
      chunks.push(chunk);
    };
    incoming.on('data', take);
    incoming.on('end', () => {
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
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

async function readWithoutSocket(exchange: Exchange, bytesMax: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await exchange.req.arrayBuffer());
  if (bytes.byteLength > bytesMax) throw bodyTooLarge(bytesMax);
  return bytes;
}

function bodyTooLarge(bytesMax: number): BrokerError {
  return new BrokerError('body_too_large', `the request body is larger than ${bytesMax} bytes`);
}
