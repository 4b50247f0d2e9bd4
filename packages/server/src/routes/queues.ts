// Queue resources: list, detail, depth, sizes, deletion (data-plane reference §7).

import { assert } from '@queen-ts/base';
import { readQueueDepth, readQueueDetail, readQueueLanes, readQueues } from '@queen-ts/engine';
import { readQueueSizes } from '@queen-ts/engine';
import type { QueueFilter } from '@queen-ts/engine';
import { renderDeleteQueue } from '@queen-ts/protocol';
import type { QueryReader } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { json, jsonBytes } from '../http/answers.ts';
import { queryOf, readState } from '../http/control.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { queryPage } from '../http/json-body.ts';
import { objectPieces, pacedJson, Pieces } from '../http/paced-json.ts';
import { pathSegment } from '../http/target.ts';
import { fullQueueList, laneQueueList, queueDepth, queueDetail } from './queue-list.ts';
import { requestOptions } from '../http/request-options.ts';
import type { Route } from './route.ts';

/** Position of the queue in the path. */
const QUEUE_SEGMENT = 4;

/** Most partitions that one answer shows; `limit` and `offset` page through more. */
const PARTITIONS_MAX = 10_000;

/** The queue routes. */
export function queueRoutes(edge: Edge): readonly Route[] {
  const queue = '/api/v1/resources/queues/:queue';
  return [
    {
      method: 'GET',
      path: '/api/v1/resources/queues',
      handler: (exchange) => listQueues(edge, exchange),
    },
    { method: 'GET', path: queue, handler: (exchange) => showQueue(edge, exchange) },
    { method: 'GET', path: `${queue}/depth`, handler: (exchange) => showDepth(edge, exchange) },
    { method: 'GET', path: `${queue}/sizes`, handler: (exchange) => showSizes(edge, exchange) },
    { method: 'DELETE', path: queue, handler: (exchange) => deleteQueue(edge, exchange) },
  ];
}

async function listQueues(edge: Edge, exchange: Exchange): Promise<Response> {
  const query = queryOf(exchange);
  const filter = readFilter(query);
  if (query.text('stats') === 'lanes') {
    const lanes = await readState(edge, (view) => readQueueLanes(view, filter));
    return pacedJson(edge.clock, laneQueueList(lanes));
  }
  const queues = await readState(edge, (view) => readQueues(view, filter));
  return pacedJson(edge.clock, fullQueueList(queues));
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

async function showQueue(edge: Edge, exchange: Exchange): Promise<Response> {
  const name = pathSegment(exchange, QUEUE_SEGMENT);
  const page = partitionPage(queryOf(exchange));
  const queue = await readState(edge, (view) => readQueueDetail(view, name, page));
  return queue === undefined ? notFound() : pacedJson(edge.clock, queueDetail(queue));
}

async function showDepth(edge: Edge, exchange: Exchange): Promise<Response> {
  const name = pathSegment(exchange, QUEUE_SEGMENT);
  const query = queryOf(exchange);
  const asked = query.text('group');
  const group = asked === '' ? undefined : asked;
  const filter = { ...partitionPage(query), group };
  const depth = await readState(edge, (view) => readQueueDepth(view, name, filter), 'leader');
  return depth === undefined ? notFound() : pacedJson(edge.clock, queueDepth(depth, group));
}

async function showSizes(edge: Edge, exchange: Exchange): Promise<Response> {
  const queue = pathSegment(exchange, QUEUE_SEGMENT);
  const page = partitionPage(queryOf(exchange));
  const sizes = await readState(edge, (view) => readQueueSizes(view, queue, page));
  if (sizes === undefined) return notFound();
  const partitions = objectPieces(sizes.map(({ name, bytes }) => [name, bytes]));
  return pacedJson(
    edge.clock,
    objectPieces([
      ['queue', queue],
      ['partitions', new Pieces(partitions)],
    ]),
  );
}

function partitionPage(query: QueryReader): { readonly limit: number; readonly offset: number } {
  return queryPage(query, { limitDefault: PARTITIONS_MAX, limitMax: PARTITIONS_MAX });
}

function notFound(): Response {
  return json({ error: 'Queue not found' }, 404);
}

async function deleteQueue(edge: Edge, exchange: Exchange): Promise<Response> {
  const queue = pathSegment(exchange, QUEUE_SEGMENT);
  const outcome = await edge.broker.submit(
    { kind: 'deleteQueue', queue },
    requestOptions(edge, { exchange, timeoutMs: edge.config.statementTimeoutMs }),
  );
  if (outcome.kind === 'refused') return refusedAnswer(outcome, edge.counters);
  assert(outcome.kind === 'deleteQueue', () => `a deletion came to ${outcome.kind}`);
  return jsonBytes(renderDeleteQueue(outcome));
}
