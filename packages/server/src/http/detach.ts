// Takes Node's HTTP machinery off a connection whose one request waits for its answer, and puts it on
// again. Parser, request and answer make up most of what an idle long poll costs (ADR 0012).
//
// Node offers the first step for protocol upgrades only, so a request is declared to be one. If another
// Node does not play along, nothing changes on the connection and `detach` says so.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Both ends of an exchange. */
export interface Sides {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** What must be known of a request to attach its connection again. */
export interface DetachedRequest {
  readonly socket: Socket;
  readonly httpVersion: string;
  /** Whether the connection goes on after the answer. */
  readonly isKeptAlive: boolean;
}

/** What Node keeps on a server's sockets. */
interface ServedSocket extends Socket {
  readonly parser?: Parser | null;
  /** The answer that is due next. */
  readonly _httpMessage?: ServerResponse | null;
}

interface Parser {
  /** The request whose head came last. */
  readonly incoming: IncomingMessage | null;
  /** What the end of the connection would mean now: an Error in the middle of a request. */
  finish(): unknown;
}

interface Upgradable {
  upgrade: boolean;
}

const NOTHING = Buffer.alloc(0);

/**
 * Detaches a connection from its server. Returns undefined, with nothing changed, unless its one
 * request is complete, unanswered, and nothing of another has come. Afterwards the socket has no
 * listeners of the server, not even for errors, and `sides` must not be used any more; neither emits
 * `close`.
 */
export function detach(server: Server, { incoming, outgoing }: Sides): DetachedRequest | undefined {
  const socket = incoming.socket as ServedSocket;
  if (!isAtRest(socket, { incoming, outgoing })) return undefined;
  const { httpVersion } = incoming;
  const isKeptAlive = outgoing.shouldKeepAlive;
  let isDetached = false;
  const note = (): void => {
    isDetached = true;
  };
  // The listener is there during this call only: real wishes to upgrade are answered without one.
  server.on('upgrade', note);
  const upgradable = incoming as IncomingMessage & Upgradable;
  upgradable.upgrade = true;
  socket.emit('data', NOTHING);
  server.off('upgrade', note);
  if (!isDetached) {
    upgradable.upgrade = false;
    return undefined;
  }
  outgoing.detachSocket(socket);
  return { socket, httpVersion, isKeptAlive };
}

/**
 * Gives the connection back to its server, which then hears, before this returns, of a request in the
 * place of the one that was detached, and of what has come behind it. The socket must not be destroyed,
 * and whoever listened to it since {@link detach} has left.
 */
export function attach(server: Server, request: DetachedRequest, received?: Uint8Array): void {
  const { socket, httpVersion, isKeptAlive } = request;
  const connection = isKeptAlive ? 'keep-alive' : 'close';
  const head = `GET / HTTP/${httpVersion}\r\nHost: localhost\r\nConnection: ${connection}\r\n\r\n`;
  const bytes = Buffer.from(head);
  // Documented: the way to have a server serve a connection that it has not accepted.
  server.emit('connection', socket);
  socket.emit('data', received === undefined ? bytes : Buffer.concat([bytes, received]));
}

function isAtRest(socket: ServedSocket, { incoming, outgoing }: Sides): boolean {
  const { parser } = socket;
  return (
    incoming.complete &&
    !outgoing.headersSent &&
    socket.readable &&
    socket.writable &&
    socket.writableLength === 0 &&
    !socket.isPaused() &&
    socket._httpMessage === outgoing &&
    parser?.incoming === incoming &&
    !(parser.finish() instanceof Error)
  );
}
