// POST /api/v1/transaction (data-plane reference §5): acks and pushes, all of them or none.

import { assert } from '@queen-ts/base';
import {
  DEFAULT_TENANT,
  parseTransaction,
  renderRolledBack,
  renderTransaction,
} from '@queen-ts/protocol';
import type { TransactionContext } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { jsonBytes } from '../http/answers.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import type { Grant } from '../http/byte-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { takeItemRoom } from '../http/item-room.ts';
import { requestOptions } from '../http/request-options.ts';
import { withBody } from '../http/with-body.ts';
import type { Route } from './route.ts';

/** The transaction route. Its bodies may store messages: they are admitted like pushes. */
export function transactionRoutes(edge: Edge): readonly Route[] {
  const context: TransactionContext = {
    hashKey: edge.broker.hashKey,
    mintIds: (count) => edge.ids.mint(count),
    producerSub: null,
    tenant: DEFAULT_TENANT,
  };
  const admission = { budget: edge.pushBudget, bytesMax: edge.config.bodyBytesMax };
  const handle = (exchange: Exchange, body: Uint8Array, grant: Grant): Promise<Response> =>
    commit(edge, context, { exchange, body, grant });
  return [
    {
      method: 'POST',
      path: '/api/v1/transaction',
      handler: (exchange) => withBody(exchange, admission, handle),
    },
  ];
}

async function commit(
  edge: Edge,
  context: TransactionContext,
  from: { readonly exchange: Exchange; readonly body: Uint8Array; readonly grant: Grant },
): Promise<Response> {
  const { exchange, body, grant } = from;
  const { config, counters, encryption } = edge;
  const request = parseTransaction(body, context);
  if (request.kind === 'refused') return refusedAnswer(request, counters);
  if (request.kind === 'rolledBack') {
    counters.countError('bad_request');
    return jsonBytes(renderRolledBack(request), request.status);
  }
  const { command } = request;
  await takeItemRoom(grant, request.echo.positions.length);
  const outcome = await encryption.submit(
    command,
    requestOptions(edge, { exchange, body, timeoutMs: config.statementTimeoutMs }),
  );
  if (outcome.kind === 'refused') return refusedAnswer(outcome, counters);
  if (outcome.kind === 'rolledBack') return jsonBytes(renderRolledBack(outcome));
  assert(outcome.kind === 'transaction', () => `a transaction came to ${outcome.kind}`);
  counters.pushMessages += command.push?.itemCount ?? 0;
  counters.ackMessages += command.acks.reduce((sum, { itemCount }) => sum + itemCount, 0);
  return jsonBytes(renderTransaction(outcome, request));
}
