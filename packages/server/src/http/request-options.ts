// What travels with a write besides its command: its deadline, and the id under which a client repeats
// it (`Idempotency-Key`, decisions D2).

import { hash } from 'node:crypto';

import type { RequestOptions } from '@queen-ts/cluster';
import { BrokerError, clientRequestId, DEFAULT_TENANT } from '@queen-ts/protocol';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import { requestHeader } from './exchange.ts';
import type { Exchange } from './exchange.ts';

/** A write as it came. */
interface Write {
  readonly exchange: Exchange;
  readonly body?: Uint8Array;
  readonly timeoutMs: number;
}

/**
 * Options of a write that must be answered within `timeoutMs`. Throws `bad_request` for a key that is
 * empty or too long.
 */
export function requestOptions(edge: Edge, { exchange, body, timeoutMs }: Write): RequestOptions {
  const deadlineUs = deadlineIn(edge, timeoutMs);
  const key = requestHeader(exchange, 'idempotency-key');
  if (key === undefined) return { deadlineUs };
  const { hashKey } = edge.broker;
  const { method, path } = exchange.req;
  const request = [method, path, hash('sha256', body ?? '')].join(' ');
  const requestId = clientRequestId(key, { hashKey, tenant: DEFAULT_TENANT, request });
  if ('kind' in requestId) throw new BrokerError(requestId.code, requestId.message);
  return { deadlineUs, requestId };
}
