// Messages: list and detail (data-plane reference §10). They take nothing and change nothing.

import { MESSAGE_STATUSES, readMessage, readMessages } from '@queen-ts/engine';
import type { MessageFilter } from '@queen-ts/engine';
import { BrokerError, NO_PARTITION, renderMessage, renderMessages } from '@queen-ts/protocol';
import type { QueryReader } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { queryOf, readState } from '../http/control.ts';
import type { Exchange } from '../http/exchange.ts';
import { queryInstant, queryPage } from '../http/json-body.ts';
import { pacedJson } from '../http/paced-json.ts';
import { addressOf } from './dead-letters.ts';
import type { Route } from './route.ts';

/** Rows of a page, and how deep pages go: what is skipped is kept in order meanwhile. */
const LIMIT_DEFAULT = 200;
const LIMIT_MAX = 1000;
const OFFSET_MAX = 100_000;

/** Size of the payloads of a page; later ones are shown as not available. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** The range of time without `from`, and the step to which `to` is rounded. */
const RANGE_DEFAULT_US = 3_600_000_000;
const MINUTE_US = 60_000_000;

/** The routes. */
export function messageRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/messages',
      handler: (exchange) => listMessages(edge, exchange),
    },
    {
      method: 'GET',
      path: '/api/v1/messages/:partitionId/:transactionId',
      handler: (exchange) => showMessage(edge, exchange),
    },
  ];
}

async function listMessages(edge: Edge, exchange: Exchange): Promise<Response> {
  const query = queryOf(exchange);
  const filter = readFilter(query, edge.clock.wallUs());
  if (filter.offset > OFFSET_MAX) {
    throw new BrokerError('bad_request', `offset is larger than ${OFFSET_MAX}: narrow the range`);
  }
  const list = await readState(edge, (view) => readMessages(view, filter));
  const { limit, offset } = filter;
  const source = {
    payloads: edge.broker.payloads,
    opener: edge.encryption.opener,
    hashKey: edge.broker.hashKey,
    payloadBytesMax: PAGE_BYTES_MAX,
  };
  return pacedJson(edge.clock, renderMessages({ ...list, limit, offset }, source));
}

function readFilter(query: QueryReader, nowUs: number): MessageFilter {
  const asked = query.text('status') ?? '';
  const status = MESSAGE_STATUSES.find((name) => name === asked);
  const toUs = queryInstant(query, 'to') ?? nowUs;
  // A status that no message has matches none.
  const isNothing = asked !== '' && status === undefined;
  const toUsExclusive = isNothing ? 0 : Math.floor(toUs / MINUTE_US + 1) * MINUTE_US;
  return {
    queue: query.text('queue') ?? '',
    partition: query.text('partition') ?? '',
    namespace: query.text('namespace') ?? '',
    task: query.text('task') ?? '',
    status,
    fromUs: queryInstant(query, 'from') ?? nowUs - RANGE_DEFAULT_US,
    toUsExclusive,
    ...queryPage(query, { limitDefault: LIMIT_DEFAULT, limitMax: LIMIT_MAX }),
  };
}

async function showMessage(edge: Edge, exchange: Exchange): Promise<Response> {
  const address = addressOf(exchange);
  const message =
    address.partition === NO_PARTITION
      ? undefined
      : await readState(edge, (view) => readMessage(view, address));
  if (message === undefined) return json({ error: 'Message not found' }, 404);
  const source = { payloads: edge.broker.payloads, opener: edge.encryption.opener };
  const pieces = renderMessage(message, message.readers, source);
  return pacedJson(edge.clock, pieces);
}
