// POST /api/v1/lease/:leaseId/extend (data-plane reference §4).

import { assert } from '@queen-ts/base';
import { parseExtend, renderExtend } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { jsonBytes } from '../http/answers.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { pathSegment } from '../http/target.ts';
import { requestOptions } from '../http/request-options.ts';
import { withBody } from '../http/with-body.ts';
import type { Route } from './route.ts';

/** Position of the lease id in the path. */
const LEASE_SEGMENT = 3;

/** The lease route. */
export function leaseRoutes(edge: Edge): readonly Route[] {
  const admission = { budget: edge.controlBudget, bytesMax: edge.config.bodyBytesMax };
  const handle = (exchange: Exchange, body: Uint8Array): Promise<Response> =>
    extend(edge, exchange, body);
  return [
    {
      method: 'POST',
      path: '/api/v1/lease/:leaseId/extend',
      handler: (exchange) => withBody(exchange, admission, handle),
    },
  ];
}

async function extend(edge: Edge, exchange: Exchange, body: Uint8Array): Promise<Response> {
  const leaseId = pathSegment(exchange, LEASE_SEGMENT);
  const outcome = await edge.broker.submit(
    parseExtend(leaseId, body),
    requestOptions(edge, { exchange, body, timeoutMs: edge.config.statementTimeoutMs }),
  );
  if (outcome.kind === 'refused') return refusedAnswer(outcome, edge.counters);
  assert(outcome.kind === 'extend', () => `an extension came to ${outcome.kind}`);
  return jsonBytes(renderExtend(outcome, leaseId));
}
