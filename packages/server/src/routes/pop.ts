// The three pop routes (data-plane reference §2): wildcard, pinned, discovery.

import { BrokerError, DEFAULT_TENANT, parsePop, renderPopRefusal } from '@queen-ts/protocol';
import type { PopContext, PopPath } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { jsonBytes, text } from '../http/answers.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import { socketSides } from '../http/exchange.ts';
import type { Exchange } from '../http/exchange.ts';
import { parseQuery } from '../http/query.ts';
import { requestIds } from '../http/request-options.ts';
import { pathSegment, rawQuery } from '../http/target.ts';
import type { Route } from './route.ts';
import { methodNotAllowed } from './unknown.ts';
import { WaitingPop } from './waiting-pop.ts';

/** Positions of the names in `/api/v1/pop/queue/:queue/partition/:partition`. */
const QUEUE_SEGMENT = 4;
const PARTITION_SEGMENT = 6;

/** The pop routes. */
export function popRoutes(edge: Edge): readonly Route[] {
  const pops = new PopHandler(edge);
  return [
    {
      method: 'GET',
      path: '/api/v1/pop/queue/:queue',
      handler: (exchange) =>
        pops.handle(exchange, { kind: 'queue', queue: pathSegment(exchange, QUEUE_SEGMENT) }),
    },
    {
      method: 'GET',
      path: '/api/v1/pop/queue/:queue/partition/:partition',
      handler: (exchange) =>
        pops.handle(exchange, {
          kind: 'partition',
          queue: pathSegment(exchange, QUEUE_SEGMENT),
          partition: pathSegment(exchange, PARTITION_SEGMENT),
        }),
    },
    {
      method: 'GET',
      path: '/api/v1/pop',
      handler: (exchange) => pops.handle(exchange, { kind: 'labels' }),
    },
  ];
}

/** Pops of one node, bounded in number. */
class PopHandler {
  readonly #edge: Edge;
  readonly #context: PopContext;
  /** Pops that have no answer yet, parked ones included. */
  #inHand = 0;

  constructor(edge: Edge) {
    this.#edge = edge;
    this.#context = {
      mintIds: (count) => edge.ids.mint(count),
      tenant: DEFAULT_TENANT,
      defaultTimeoutMs: edge.config.popTimeoutMs,
      defaultSubscriptionMode: edge.config.defaultSubscriptionMode,
      keyId: edge.encryption.keyIdBytes,
    };
  }

  async handle(exchange: Exchange, path: PopPath): Promise<Response> {
    // Hono answers HEAD by the GET route: that would claim messages and drop them.
    if (exchange.req.method === 'HEAD') return methodNotAllowed(exchange, 'GET');
    const { counters, popsMax } = this.#edge;
    const query = parseQuery(rawQuery(exchange));
    const request = parsePop(path, (name) => query.get(name), this.#context);
    if (request.kind === 'refused') return refusedAnswer(request, counters);
    if (request.kind !== 'request') {
      counters.countError('bad_request');
      if (request.kind === 'badQuery') return text(request.message, 400);
      return jsonBytes(renderPopRefusal(request.message), 400);
    }
    // A claim under a lease needs no key: unless it is acked it comes back.
    const isFinal = request.command.autoAck;
    const requestId = isFinal ? requestIds(this.#edge, { exchange })?.('') : undefined;
    counters.popRequests += 1;
    if (this.#inHand >= popsMax) throw tooManyPops();
    this.#inHand += 1;
    const pop = new WaitingPop(this.#edge, path, { ...request, requestId });
    void pop.due.then(() => {
      this.#inHand -= 1;
    });
    const sides = socketSides(exchange);
    const { waits } = exchange.env ?? {};
    if (request.wait && sides !== undefined && waits !== undefined) return waits.answer(sides, pop);
    if (sides !== undefined) pop.client.watch(sides.outgoing);
    await pop.due;
    return pop.answer(sides?.outgoing);
  }
}

function tooManyPops(): BrokerError {
  return new BrokerError('overloaded', 'too many pops wait at this node; try again later');
}
