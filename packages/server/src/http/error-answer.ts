// The one place where errors become answers: stable codes by the table of `protocol`, everything
// else a 500 that is logged with its stack, once. A client's own mistake is a debug line at most.

import { CodecError, InvariantError } from '@queen-ts/base';
import { BrokerError, ERRORS, QueryError, renderError } from '@queen-ts/protocol';
import type { ErrorCode, Refused } from '@queen-ts/protocol';
import { StorageError } from '@queen-ts/storage';
import type { Logger } from 'pino';
import type { EdgeCounters } from '../metrics/edge-counters.ts';
import { jsonBytes, text } from './answers.ts';
import { ClientGoneError } from './body.ts';
import type { Sides } from './detach.ts';
import { socketSides } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { hasLargeUnreadBody, refuseUnread } from './unread-body.ts';

/** Statuses that tell the client to come back, and after how many seconds. */
const RETRY_AFTER_SECONDS: ReadonlyMap<number, string> = new Map([
  [429, '1'],
  [503, '1'],
  // Room comes back by what people and consumers do, and is looked for once a second.
  [507, '5'],
]);

/** What turning errors into answers needs. */
export interface ErrorAnswering {
  readonly log: Logger;
  readonly counters: EdgeCounters;
  /** Ends the process: an invariant is broken. */
  readonly crash: (error: unknown) => void;
}

/** Builds Hono's `onError`. */
export function createErrorHandler(
  options: ErrorAnswering,
): (error: Error, exchange: Exchange) => Response {
  return (error, exchange) =>
    errorAnswer(options, error, { path: exchange.req.path, sides: socketSides(exchange) });
}

/** Where an error ended a request. */
export interface ErrorSite {
  /** For the log. */
  readonly path: string;
  /** Absent when nothing of the request can be unread any more. */
  readonly sides?: Sides | undefined;
}

/** Answers with what an error says to a client. */
export function errorAnswer(
  options: ErrorAnswering,
  error: Error,
  { path, sides }: ErrorSite,
): Response {
  if (error instanceof BrokerError) {
    options.counters.countError(error.code);
    options.log.debug({ code: error.code, path }, 'request refused');
    return brokerErrorAnswer(error, sides);
  }
  if (error instanceof QueryError) {
    options.counters.countError('bad_request');
    return text(error.message, 400);
  }
  if (error instanceof ClientGoneError) {
    options.log.debug({ path }, 'client gone');
    return codeAnswer('bad_body', 'the request was not complete');
  }
  if (isFinal(error)) options.crash(error);
  else options.log.error({ err: error, path }, 'request failed');
  return codeAnswer('internal', 'internal error');
}

/** Answers with a code of the table and a text. */
export function codeAnswer(
  code: ErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { status } = ERRORS[code];
  return jsonBytes(renderError({ code, message }), status, { ...retryHeaders(status), ...headers });
}

/** True when the node must not go on: a broken invariant, or stored data that cannot be read. */
function isFinal(error: Error): boolean {
  if (error instanceof StorageError) return error.code !== 'STORE_CLOSED';
  // Clients' bytes never go through the codecs of stored data.
  return error instanceof InvariantError || error instanceof CodecError;
}

/** Answers with a refusal that a parser or the planner returned. */
export function refusedAnswer(refused: Refused, counters: EdgeCounters): Response {
  counters.countError(refused.code);
  return codeAnswer(refused.code, refused.message);
}

function brokerErrorAnswer(error: BrokerError, sides: Sides | undefined): Response {
  const { status } = ERRORS[error.code];
  const body = renderError(error);
  const headers = retryHeaders(status);
  if (sides !== undefined && hasLargeUnreadBody(sides.incoming)) {
    return refuseUnread(sides, { status, headers, body });
  }
  return jsonBytes(body, status, headers);
}

function retryHeaders(status: number): Readonly<Record<string, string>> {
  const seconds = RETRY_AFTER_SECONDS.get(status);
  return seconds === undefined ? {} : { 'Retry-After': seconds };
}
