// What travels with a write besides its command: its deadline, and the id under which a client repeats
// it (`Idempotency-Key`, decisions D2).

import { hash } from 'node:crypto';

import type { RequestOptions } from '@queen-ts/cluster';
import { BrokerError, clientRequestId, DEFAULT_TENANT } from '@queen-ts/protocol';
import type { RequestId } from '@queen-ts/protocol';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import { requestHeader, socketSides } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { rawQuery } from './target.ts';

const HEADER = 'idempotency-key';

/** A write as it came. */
export interface Write {
  readonly exchange: Exchange;
  readonly body?: Uint8Array | undefined;
}

/**
 * Options of a write that must be answered within `timeoutMs`. Throws `bad_request` for a key that is
 * empty, too long or given twice.
 * @param write `part` tells the commands apart that one request sends.
 */
export function requestOptions(
  edge: Edge,
  write: Write & { readonly timeoutMs: number; readonly part?: string },
): RequestOptions {
  const { part = '', timeoutMs } = write;
  const deadlineUs = deadlineIn(edge, timeoutMs);
  const requestIdOf = requestIds(edge, write);
  return requestIdOf === undefined ? { deadlineUs } : { deadlineUs, requestId: requestIdOf(part) };
}

/** How the commands of a write are named; undefined when it has no key. Throws as {@link requestOptions}. */
export function requestIds(
  edge: Edge,
  { exchange, body }: Write,
): ((part: string) => RequestId) | undefined {
  const key = keyOf(exchange);
  if (key === undefined) return undefined;
  const { hashKey } = edge.broker;
  const { method } = exchange.req;
  const target = `${exchange.req.path}?${rawQuery(exchange)}`;
  const request = [method, target, hash('sha256', body ?? '')].join(' ');
  return (part) => {
    const id = clientRequestId(key, {
      hashKey,
      tenant: DEFAULT_TENANT,
      request: `${request} ${part}`,
    });
    if ('kind' in id) throw new BrokerError(id.code, id.message);
    return id;
  };
}

function keyOf(exchange: Exchange): string | undefined {
  const key = requestHeader(exchange, HEADER);
  const { incoming } = socketSides(exchange) ?? {};
  // Node joins repeated headers: taken as one key, two requests could share it without meaning to.
  if (key !== undefined && (incoming?.headersDistinct[HEADER]?.length ?? 1) > 1) {
    throw new BrokerError('bad_request', 'send one Idempotency-Key, not several');
  }
  return key;
}
