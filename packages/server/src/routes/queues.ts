// GET /api/v1/resources/queues and DELETE /api/v1/resources/queues/:queue (data-plane reference §7).

import { assert } from '@queen-ts/base';
import type { QueueFilter } from '@queen-ts/engine';
import { QueryReader, renderDeleteQueue } from '@queen-ts/protocol';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import { json, jsonBytes } from '../http/answers.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { parseQuery } from '../http/query.ts';
import { pathSegment, rawQuery } from '../http/target.ts';
import { fullQueueList, laneQueueList } from './queue-list.ts';
import type { Route } from './route.ts';

/** Position of the queue in the path. */
const QUEUE_SEGMENT = 4;

/** Both queue routes. */
export function queueRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/resources/queues',
      handler: (exchange) => listQueues(edge, exchange),
    },
    {
      method: 'DELETE',
      path: '/api/v1/resources/queues/:queue',
      handler: (exchange) => deleteQueue(edge, exchange),
    },
  ];
}

async function listQueues({ broker }: Edge, exchange: Exchange): Promise<Response> {
  const parameters = parseQuery(rawQuery(exchange));
  const query = new QueryReader((name) => parameters.get(name));
  const queues = await broker.listQueues(readFilter(query));
  return json(query.text('stats') === 'lanes' ? laneQueueList(queues) : fullQueueList(queues));
}

function readFilter(query: QueryReader): QueueFilter {
  const limit = query.unsigned('limit');
  return {
    namespace: query.text('namespace') ?? '',
    task: query.text('task') ?? '',
    search: query.text('search') ?? '',
    offset: query.unsigned('offset') ?? 0,
    ...(limit === undefined ? {} : { limit }),
  };
}

async function deleteQueue(edge: Edge, exchange: Exchange): Promise<Response> {
  const queue = pathSegment(exchange, QUEUE_SEGMENT);
  const outcome = await edge.broker.submit(
    { kind: 'deleteQueue', queue },
    { deadlineUs: deadlineIn(edge, edge.config.statementTimeoutMs) },
  );
  if (outcome.kind === 'refused') return refusedAnswer(outcome, edge.counters);
  assert(outcome.kind === 'deleteQueue', () => `a deletion came to ${outcome.kind}`);
  return jsonBytes(renderDeleteQueue(outcome));
}
