// The socket side of the edge: Node's HTTP server around the Hono app, with every wait bounded, and
// a close that lets requests in flight finish.

import { getRequestListener } from '@hono/node-server';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { codeAnswer } from './http/error-answer.ts';
import {
  answerBrokenRequest,
  refuseExpectation,
  refuseWithoutHost,
} from './http/broken-request.ts';
import { LongWaits } from './http/long-waits.ts';
import type { LongWaitLimits } from './http/long-waits.ts';

/** Bounds of the server; durations in milliseconds. */
export interface HttpLimits {
  /** A request's head must arrive within this time. */
  readonly headersTimeoutMs: number;
  /** A whole request, body included, must arrive within this time. */
  readonly requestTimeoutMs: number;
  /** A connection without a request is closed after this time. */
  readonly keepAliveTimeoutMs: number;
  /** How often the first two are checked. */
  readonly checkIntervalMs: number;
  /** More connections are answered 503 and closed. */
  readonly connectionsMax: number;
  /** When exchanges that wait long go to sleep. */
  readonly longWaits: LongWaitLimits;
}

/** What a node runs with. */
export const HTTP_LIMITS_DEFAULT: HttpLimits = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  checkIntervalMs: 5_000,
  connectionsMax: 60_000,
  longWaits: { awakeMax: 64, sleepAfterMs: 50 },
};

/** Queue of connections that the system has accepted and this process has not. */
const BACKLOG = 4096;

/** How often idle connections are looked for while closing. */
const CLOSE_POLL_MS = 20;

const FULL_ANSWER =
  'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n';

/** What answers requests: a Hono app's `fetch`. */
export type FetchCallback = Parameters<typeof getRequestListener>[0];

type Bindings = Parameters<FetchCallback>[1];

/** An HTTP server that listens. */
export class HttpServer {
  readonly #server: Server;
  readonly #limits: HttpLimits;
  readonly #waits: LongWaits;
  #fetch: FetchCallback;
  #connectionCount = 0;
  #isClosing = false;

  constructor(fetch: FetchCallback, limits: HttpLimits = HTTP_LIMITS_DEFAULT) {
    this.#limits = limits;
    this.#fetch = fetch;
    const listener = createListener((request, { incoming, outgoing }) =>
      this.#fetch(request, { incoming, outgoing, waits: this.#waits } as Bindings),
    );
    const resume = createListener((_request, { outgoing }) =>
      this.#waits.resume(outgoing as ServerResponse),
    );
    const answer = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      if (this.#isClosing) outgoing.shouldKeepAlive = false;
      if (this.#waits.isWaking) void resume(incoming, outgoing);
      else if (!refuseWithoutHost(incoming, outgoing)) void listener(incoming, outgoing);
    };
    this.#server = createServer(
      {
        headersTimeout: limits.headersTimeoutMs,
        requestTimeout: limits.requestTimeoutMs,
        keepAliveTimeout: limits.keepAliveTimeoutMs,
        connectionsCheckingInterval: limits.checkIntervalMs,
        noDelay: true,
        // Node's own refusal has no body.
        requireHostHeader: false,
      },
      answer,
    );
    this.#waits = new LongWaits(this.#server, limits.longWaits);
    // Whoever reads the body says «100 Continue» first: a refused body is never sent at all.
    this.#server.on('checkContinue', answer);
    this.#server.on('checkExpectation', refuseExpectation);
    this.#server.on('clientError', answerBrokenRequest);
    this.#server.on('connection', (socket: Socket) => this.#admit(socket));
  }

  /** Lets another app answer from now on. */
  serve(fetch: FetchCallback): void {
    this.#fetch = fetch;
  }

  /** Connections that are open now. */
  get connectionCount(): number {
    return this.#connectionCount;
  }

  /** Exchanges that sleep until their answer is due. */
  get asleepCount(): number {
    return this.#waits.asleepCount;
  }

  /** Starts to listen; rejects when the address is not available. Returns where it listens. */
  listen(options: { readonly port: number; readonly host: string }): Promise<AddressInfo> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ ...options, backlog: BACKLOG }, () => {
        server.off('error', reject);
        resolve(server.address() as AddressInfo);
      });
    });
  }

  /**
   * Stops accepting connections, lets requests in flight finish, and resolves when every connection
   * is closed: by itself, or by force after `graceMs`.
   */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const server = this.#server;
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    // A connection becomes idle when its answer is out; Node looks for those only once by itself.
    const poll = setInterval(() => server.closeIdleConnections(), CLOSE_POLL_MS);
    const force = setTimeout(() => {
      server.closeAllConnections();
      this.#waits.destroyAll();
    }, graceMs);
    await closed;
    clearInterval(poll);
    clearTimeout(force);
  }

  #admit(socket: Socket): void {
    // It was admitted before it slept.
    if (this.#waits.isWaking) return;
    if (this.#connectionCount >= this.#limits.connectionsMax) {
      socket.end(FULL_ANSWER);
      return;
    }
    this.#connectionCount += 1;
    socket.once('close', () => {
      this.#connectionCount -= 1;
    });
  }
}

function createListener(
  fetch: FetchCallback,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  return getRequestListener(fetch, {
    // HTTP/1.0 clients send no Host; nothing here depends on it.
    hostname: 'localhost',
    // What is left of a body is handled where it is refused.
    autoCleanupIncoming: false,
    // Only a request target or Host that is no URL comes here: the app answers its own errors.
    errorHandler: () => codeAnswer('bad_request', 'the request target or Host is not valid'),
  });
}
