// Refusing a request whose body has not arrived yet. Closing at once would make the kernel reset the
// connection and the client, still sending, would never see the answer. So the whole answer goes
// out first, then what the client sends is thrown away for a while, and only then the connection ends.

import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { JSON_TYPE } from './answers.ts';

/** How long a refused body is still read. */
const LINGER_MS_MAX = 5_000;

/** How much of a refused body is still read. */
const LINGER_BYTES_MAX = 256 * 1024 * 1024;

/** A rest of this size is left to Node, which reads and drops it and keeps the connection. */
const SMALL_BODY_BYTES = 64 * 1024;

/** True when most of a large body is still to come. */
export function hasLargeUnreadBody(incoming: IncomingMessage): boolean {
  if (incoming.complete || incoming.destroyed) return false;
  const declared = incoming.headers['content-length'];
  if (declared === undefined) return incoming.headers['transfer-encoding'] !== undefined;
  // Who waits for «100 Continue» will not send the body: the next request must not be taken for it.
  return Number(declared) > SMALL_BODY_BYTES || incoming.headers.expect !== undefined;
}

/** Sends the answer, reads on within limits, then ends the connection. */
export function refuseUnread(
  sides: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
  answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
  },
): Response {
  const { incoming, outgoing } = sides;
  outgoing.writeHead(answer.status, {
    'Content-Type': JSON_TYPE,
    ...answer.headers,
    'Content-Length': answer.body.byteLength,
    Connection: 'close',
  });
  outgoing.write(answer.body);
  let dropped = 0;
  const finish = (): void => {
    clearTimeout(timer);
    incoming.off('data', drop);
    outgoing.end();
  };
  const drop = (chunk: Uint8Array): void => {
    dropped += chunk.byteLength;
    if (dropped > LINGER_BYTES_MAX) finish();
  };
  const timer = setTimeout(finish, LINGER_MS_MAX);
  incoming.on('data', drop);
  incoming.resume();
  incoming.once('end', finish);
  incoming.once('close', finish);
  incoming.on('error', () => {
    // The client hung up, which `close` reports too; there is nobody left to tell.
  });
  return RESPONSE_ALREADY_SENT;
}
