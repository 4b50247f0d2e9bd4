// What travels with a write besides its command: its deadline, and the id under which a client repeats
// it (`Idempotency-Key`, decisions D2).

import type { RequestOptions } from '@queen-ts/cluster';
import { BrokerError, clientRequestId, DEFAULT_TENANT } from '@queen-ts/protocol';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import { requestHeader } from './exchange.ts';
import type { Exchange } from './exchange.ts';

/**
 * Options of a write that must be answered within `timeoutMs`. Throws `bad_request` for a key that is
 * empty or too long.
 */
export function requestOptions(edge: Edge, exchange: Exchange, timeoutMs: number): RequestOptions {
  const deadlineUs = deadlineIn(edge, timeoutMs);
  const key = requestHeader(exchange, 'idempotency-key');
  if (key === undefined) return { deadlineUs };
  const { hashKey } = edge.broker;
  const requestId = clientRequestId(key, { hashKey, tenant: DEFAULT_TENANT });
  if ('kind' in requestId) throw new BrokerError(requestId.code, requestId.message);
  return { deadlineUs, requestId };
}
