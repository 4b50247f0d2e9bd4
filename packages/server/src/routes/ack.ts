// POST /api/v1/ack and /api/v1/ack/batch (data-plane reference §3): either takes either body.

import { assert } from '@queen-ts/base';
import {
  AckItems,
  DEFAULT_TENANT,
  EMPTY_ACK_ANSWER,
  parseAck,
  renderAck,
} from '@queen-ts/protocol';
import type { AckContext } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { jsonBytes } from '../http/answers.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { requestOptions } from '../http/request-options.ts';
import { withBody } from '../http/with-body.ts';
import type { Route } from './route.ts';

/** Both ack routes. */
export function ackRoutes(edge: Edge): readonly Route[] {
  const context: AckContext = {
    hashKey: edge.broker.hashKey,
    tenant: DEFAULT_TENANT,
    scratch: new AckItems(),
  };
  const admission = { budget: edge.controlBudget, bytesMax: edge.config.bodyBytesMax };
  const handle = (exchange: Exchange, body: Uint8Array): Promise<Response> =>
    ack(edge, context, exchange, body);
  const handler = (exchange: Exchange): Promise<Response> => withBody(exchange, admission, handle);
  return [
    { method: 'POST', path: '/api/v1/ack', handler },
    { method: 'POST', path: '/api/v1/ack/batch', handler },
  ];
}

async function ack(
  edge: Edge,
  context: AckContext,
  exchange: Exchange,
  body: Uint8Array,
): Promise<Response> {
  const { broker, config, counters } = edge;
  counters.ackRequests += 1;
  const request = parseAck(body, context);
  if (request.kind === 'refused') return refusedAnswer(request, counters);
  if (request.kind === 'nothing') return jsonBytes(EMPTY_ACK_ANSWER);
  const outcome = await broker.submit(
    request.command,
    requestOptions(edge, { exchange, body, timeoutMs: config.statementTimeoutMs }),
  );
  if (outcome.kind === 'refused') return refusedAnswer(outcome, counters);
  assert(outcome.kind === 'ack', () => `an ack came to ${outcome.kind}`);
  counters.ackMessages += request.command.itemCount;
  return jsonBytes(renderAck(outcome, request.echo));
}
