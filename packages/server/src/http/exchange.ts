// What a handler sees of the connection: Node's own request and answer behind Hono's context. Both
// are absent when the app is called without a socket (`app.request()`).

import type { Context } from 'hono';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LongWaits } from './long-waits.ts';

/** Bindings of the Hono app. */
export interface EdgeBindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
  /** Where an exchange waits that may have to wait long. */
  readonly waits?: LongWaits;
}

/** Environment type of the Hono app. */
export interface EdgeEnv {
  readonly Bindings: EdgeBindings;
}

/** A request in the hands of a handler. */
export type Exchange = Context<EdgeEnv>;

/** Both ends of the exchange, or undefined when there is no socket behind it. */
export function socketSides(
  exchange: Exchange,
): { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse } | undefined {
  // Without a socket Hono passes no bindings at all.
  const bindings: EdgeBindings | undefined = exchange.env;
  const incoming = bindings?.incoming;
  const outgoing = bindings?.outgoing;
  return incoming === undefined || outgoing === undefined ? undefined : { incoming, outgoing };
}

/** A request header by its lower-case name. Node's own headers cost nothing to look at; Hono's are built. */
export function requestHeader(exchange: Exchange, name: string): string | undefined {
  const headers = socketSides(exchange)?.incoming.headers;
  if (headers === undefined) return exchange.req.header(name);
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
}
