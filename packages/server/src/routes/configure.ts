// POST /api/v1/configure (data-plane reference §6).

import { assert } from '@queen-ts/base';
import { DEFAULT_TENANT, parseConfigure, renderConfigure } from '@queen-ts/protocol';
import type { ConfigureContext } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { jsonBytes } from '../http/answers.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { requestOptions } from '../http/request-options.ts';
import { withBody } from '../http/with-body.ts';
import type { Route } from './route.ts';

/** The configure route. */
export function configureRoutes(edge: Edge): readonly Route[] {
  const context: ConfigureContext = {
    mintIds: (count) => edge.ids.mint(count),
    tenant: DEFAULT_TENANT,
  };
  const admission = { budget: edge.controlBudget, bytesMax: edge.config.bodyBytesMax };
  const handle = (exchange: Exchange, body: Uint8Array): Promise<Response> =>
    configure(edge, context, exchange, body);
  return [
    {
      method: 'POST',
      path: '/api/v1/configure',
      handler: (exchange) => withBody(exchange, admission, handle),
    },
  ];
}

async function configure(
  edge: Edge,
  context: ConfigureContext,
  exchange: Exchange,
  body: Uint8Array,
): Promise<Response> {
  const command = parseConfigure(body, context);
  if (command.kind === 'refused') return refusedAnswer(command, edge.counters);
  const outcome = await edge.broker.submit(
    command,
    requestOptions(edge, { exchange, body, timeoutMs: edge.config.statementTimeoutMs }),
  );
  if (outcome.kind === 'refused') return refusedAnswer(outcome, edge.counters);
  assert(outcome.kind === 'configure', () => `a configuration came to ${outcome.kind}`);
  return jsonBytes(renderConfigure(outcome));
}
