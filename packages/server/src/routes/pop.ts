// The three pop routes (data-plane reference §2): wildcard, pinned, discovery. What a pop has claimed
// goes back at once when the client is not there to receive it.

import { assert } from '@queen-ts/base';
import {
  BrokerError,
  DEFAULT_TENANT,
  parsePop,
  renderPop,
  renderPopRefusal,
} from '@queen-ts/protocol';
import type { EmptyReason, PopContext, PopOutcome, PopPath, PopRequest } from '@queen-ts/protocol';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import { empty, jsonBytes, text } from '../http/answers.ts';
import { clientSignal, watchDelivery } from '../http/delivery.ts';
import { refusedAnswer } from '../http/error-answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { paced } from '../http/paced.ts';
import { parseQuery } from '../http/query.ts';
import { requestIds } from '../http/request-options.ts';
import { pathSegment, rawQuery } from '../http/target.ts';
import type { Route } from './route.ts';
import { methodNotAllowed } from './unknown.ts';

/** Positions of the names in `/api/v1/pop/queue/:queue/partition/:partition`. */
const QUEUE_SEGMENT = 4;
const PARTITION_SEGMENT = 6;

/** Headers of a 204 by its reason (decisions D2). */
const REASON_HEADERS: Readonly<Record<EmptyReason, Readonly<Record<string, string>>>> = {
  empty: { 'Queen-Pop-Reason': 'empty' },
  paused: { 'Queen-Pop-Reason': 'paused' },
  delayed: { 'Queen-Pop-Reason': 'delayed' },
  window: { 'Queen-Pop-Reason': 'window' },
  leased: { 'Queen-Pop-Reason': 'leased' },
};

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
    counters.popRequests += 1;
    if (this.#inHand >= popsMax) throw tooManyPops();
    this.#inHand += 1;
    try {
      return await this.#claim(request, path, exchange);
    } finally {
      this.#inHand -= 1;
    }
  }

  async #claim(
    { command, wait, timeoutMs }: PopRequest,
    path: PopPath,
    exchange: Exchange,
  ): Promise<Response> {
    const { broker, counters } = this.#edge;
    const outgoing = exchange.env?.outgoing;
    const signal = outgoing === undefined ? new AbortController().signal : clientSignal(outgoing);
    const deadlineUs = deadlineIn(this.#edge, timeoutMs);
    // A claim under a lease needs no key: unless it is acked it comes back.
    const requestId = command.autoAck ? requestIds(this.#edge, { exchange })?.('') : undefined;
    const outcome = await broker.pop(command, { deadlineUs, wait, signal, requestId });
    if (outcome.kind === 'refused') return refusedAnswer(outcome, counters);
    assert(outcome.kind === 'pop', () => `a pop came to ${outcome.kind}`);
    const body = await this.#render(outcome, path.kind === 'labels' ? '' : path.queue);
    if (outcome.claims.length === 0) counters.popEmpty += 1;
    if (body === undefined) return empty(204, REASON_HEADERS[outcome.emptyReason ?? 'empty']);
    counters.popMessages += outcome.messageCount;
    if (outgoing !== undefined && isLeased(outcome)) {
      watchDelivery(outgoing, () => this.#takeBack(outcome));
    }
    return jsonBytes(body);
  }

  async #render(outcome: PopOutcome, queue: string): Promise<Uint8Array | undefined> {
    const { broker, clock, encryption } = this.#edge;
    const source = { payloads: broker.payloads, opener: encryption.opener, queue };
    try {
      return await paced(clock, renderPop(outcome, source));
    } catch (error) {
      if (isLeased(outcome)) broker.release(outcome.leaseId);
      throw error;
    }
  }

  #takeBack(outcome: PopOutcome): void {
    const { broker, counters } = this.#edge;
    counters.popUndelivered += 1;
    broker.release(outcome.leaseId);
  }
}

/** True when the outcome holds a lease that can be given back. */
function isLeased(outcome: PopOutcome): boolean {
  return outcome.claims.length > 0 && !outcome.autoAck;
}

function tooManyPops(): BrokerError {
  return new BrokerError('overloaded', 'too many pops wait at this node; try again later');
}
