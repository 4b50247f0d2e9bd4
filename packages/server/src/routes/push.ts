// POST /api/v1/push (data-plane reference §1).

import { assert } from '@queen-ts/base';
import {
  DEFAULT_TENANT,
  EMPTY_PUSH_ANSWER,
  parsePush,
  PushItems,
  renderPush,
} from '@queen-ts/protocol';
import type { PushContext } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { jsonBytes } from '../http/answers.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import type { Grant } from '../http/byte-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { takeItemRoom } from '../http/item-room.ts';
import { requestOptions } from '../http/request-options.ts';
import { withBody } from '../http/with-body.ts';
import type { Route } from './route.ts';

/** The push route. */
export function pushRoutes(edge: Edge): readonly Route[] {
  const context: PushContext = {
    hashKey: edge.broker.hashKey,
    mintIds: (count) => edge.ids.mint(count),
    producerSub: null,
    tenant: DEFAULT_TENANT,
    scratch: new PushItems(),
  };
  const admission = { budget: edge.pushBudget, bytesMax: edge.config.bodyBytesMax };
  const handle = (exchange: Exchange, body: Uint8Array, grant: Grant): Promise<Response> =>
    push(edge, context, { exchange, body, grant });
  return [
    {
      method: 'POST',
      path: '/api/v1/push',
      handler: (exchange) => withBody(exchange, admission, handle),
    },
  ];
}

async function push(
  edge: Edge,
  context: PushContext,
  request: { readonly exchange: Exchange; readonly body: Uint8Array; readonly grant: Grant },
): Promise<Response> {
  const { exchange, body, grant } = request;
  const { config, counters, encryption } = edge;
  counters.pushRequests += 1;
  const command = parsePush(body, context);
  if (command.kind === 'refused') return refusedAnswer(command, counters);
  if (command.kind === 'nothing') return jsonBytes(EMPTY_PUSH_ANSWER, 201);
  await takeItemRoom(grant, command.itemCount);
  const outcome = await encryption.submit(
    command,
    requestOptions(edge, { exchange, body, timeoutMs: config.pushTimeoutMs }),
  );
  if (outcome.kind === 'refused') return refusedAnswer(outcome, counters);
  assert(outcome.kind === 'push', () => `a push came to ${outcome.kind}`);
  counters.pushMessages += command.itemCount;
  return jsonBytes(renderPush(outcome, command), 201);
}
