// Dead letters: list, replay, removal (data-plane reference §8).

import { parseUuid, utf8Size } from '@queen-ts/base';
import { readDeadLetterById, readDeadLetterId, readDeadLetters } from '@queen-ts/engine';
import {
  BrokerError,
  DEFAULT_TENANT,
  nameBudgetError,
  NO_PARTITION,
  parsePartitionId,
  renderDeadLetters,
  renderReplay,
  REPLAY_GONE,
  ZERO_ID,
} from '@queen-ts/protocol';
import type { Id128, ReplayDeadLetterCommand, ReplayDeadLetterOutcome } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { json, jsonBytes } from '../http/answers.ts';
import { bodyHandler, queryOf, readState, submitAdmin } from '../http/control.ts';
import type { Exchange } from '../http/exchange.ts';
import { queryPage, readOptionalBody } from '../http/json-body.ts';
import { pacedJson } from '../http/paced-json.ts';
import { requestIds } from '../http/request-options.ts';
import type { Write } from '../http/request-options.ts';
import { pathSegment } from '../http/target.ts';
import { ReplayBody } from '../schemas/dead-letters.ts';
import type { Route } from './route.ts';

/** Position of the id in `/api/v1/dlq/:id/replay`. */
const ID_SEGMENT = 3;

/** Positions in `/api/v1/messages/:partitionId/:transactionId`. */
const PARTITION_SEGMENT = 3;
const TRANSACTION_SEGMENT = 4;

/** Rows of a page. */
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;

/** Size of the payloads of a page; a page with larger ones is shorter. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** The routes. */
export function deadLetterRoutes(edge: Edge): readonly Route[] {
  const message = '/api/v1/messages/:partitionId/:transactionId';
  return [
    {
      method: 'GET',
      path: '/api/v1/dlq',
      handler: (exchange) => listDeadLetters(edge, exchange),
    },
    {
      method: 'DELETE',
      path: '/api/v1/dlq',
      handler: (exchange) => purgeDeadLetters(edge, exchange),
    },
    {
      method: 'POST',
      path: '/api/v1/dlq/:id/replay',
      handler: bodyHandler(edge, (exchange, body) => replayById(edge, exchange, body)),
    },
    {
      method: 'POST',
      path: `${message}/retry`,
      handler: bodyHandler(edge, (exchange, body) => replayByMessage(edge, exchange, body)),
    },
    {
      method: 'DELETE',
      path: message,
      handler: (exchange) => deleteByMessage(edge, exchange),
    },
  ];
}

async function listDeadLetters(edge: Edge, exchange: Exchange): Promise<Response> {
  const query = queryOf(exchange);
  const page = queryPage(query, { limitDefault: LIMIT_DEFAULT, limitMax: LIMIT_MAX });
  const filter = {
    queue: query.text('queue') ?? '',
    group: query.text('consumerGroup') ?? '',
    bytesMax: PAGE_BYTES_MAX,
    ...page,
  };
  const list = await readState(edge, (view) => readDeadLetters(view, filter));
  // A page that its payloads have cut short says so: the next one starts at offset + limit.
  const isCut =
    list.deadLetters.length < page.limit && page.offset + list.deadLetters.length < list.total;
  const limit = isCut && list.deadLetters.length > 0 ? list.deadLetters.length : page.limit;
  const shown = { ...list, limit, offset: page.offset };
  return pacedJson(edge.clock, renderDeadLetters(shown, edge.encryption.opener));
}

async function purgeDeadLetters(edge: Edge, exchange: Exchange): Promise<Response> {
  const query = queryOf(exchange);
  const queue = query.text('queue') ?? '';
  const group = query.text('consumerGroup') ?? '';
  if (queue === '') {
    edge.counters.countError('bad_request');
    const message = 'name the queue whose dead letters are to be removed';
    return json({ success: false, error: 'queue is required', message }, 400);
  }
  const { deleted } = await submitAdmin(
    edge,
    { exchange },
    { kind: 'purgeDeadLetters', queue, group: group === '' ? undefined : group },
  );
  return json({ success: true, queue, consumerGroup: group === '' ? null : group, deleted });
}

async function replayById(edge: Edge, exchange: Exchange, body: Uint8Array): Promise<Response> {
  return replay(edge, { exchange, body }, async () => parseUuid(pathSegment(exchange, ID_SEGMENT)));
}

async function replayByMessage(
  edge: Edge,
  exchange: Exchange,
  body: Uint8Array,
): Promise<Response> {
  return replay(edge, { exchange, body }, async () => {
    const address = addressOf(exchange);
    if (address.partition === NO_PARTITION) return undefined;
    const id = await readState(edge, (view) => readDeadLetterId(view, address), 'leader');
    // A repeat finds the dead letter gone: no other has this id, but its key may be remembered.
    return id ?? (requestIds(edge, { exchange, body }) === undefined ? undefined : ZERO_ID);
  });
}

async function replay(
  edge: Edge,
  write: Write & { readonly body: Uint8Array },
  findId: () => Promise<Id128 | undefined>,
): Promise<Response> {
  const destination = readDestination(write.body);
  if (destination === undefined) {
    edge.counters.countError('bad_request');
    const error = 'the body must be {} or {"queue"?, "partition"?} with names that are not empty';
    return json({ success: false, error }, 400);
  }
  const { queue, partition } = destination;
  const tooLong = nameBudgetError({
    tenant: utf8Size(DEFAULT_TENANT),
    queue: utf8Size(queue ?? ''),
    partition: utf8Size(partition ?? ''),
    group: 0,
  });
  if (tooLong !== undefined) throw new BrokerError('name_too_long', tooLong);
  const id = await findId();
  if (id === undefined) return jsonBytes(REPLAY_GONE.body, REPLAY_GONE.status);
  const messageId = edge.ids.mint(1);
  const command = { kind: 'replayDeadLetter', id, queue, partition, messageId } as const;
  const outcome = await submitReplay(edge, write, command);
  if (outcome === undefined) return jsonBytes(REPLAY_GONE.body, REPLAY_GONE.status);
  const answer = renderReplay(outcome);
  return jsonBytes(answer.body, answer.status);
}

/**
 * Submits a replay; its payload is sealed for the destination once the leader has asked for that.
 * Undefined when the dead letter is gone.
 */
async function submitReplay(
  edge: Edge,
  write: Write,
  command: ReplayDeadLetterCommand,
): Promise<ReplayDeadLetterOutcome | undefined> {
  try {
    return await submitAdmin(edge, write, command);
  } catch (error) {
    if (!(error instanceof BrokerError) || error.code !== 'encryption_required') throw error;
  }
  const letter = await readState(edge, (view) => readDeadLetterById(view, command.id), 'leader');
  if (letter === undefined) return undefined;
  return submitAdmin(edge, write, edge.encryption.sealReplay({ letter, command }));
}

interface Destination {
  readonly queue: string | undefined;
  readonly partition: string | undefined;
}

/** The destination of a replay; undefined when the body is not as described. */
function readDestination(body: Uint8Array): Destination | undefined {
  try {
    const read = readOptionalBody(ReplayBody, body);
    return { queue: read?.queue ?? undefined, partition: read?.partition ?? undefined };
  } catch (error) {
    // This route has an answer of its own for what others answer with the error envelope.
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}

async function deleteByMessage(edge: Edge, exchange: Exchange): Promise<Response> {
  const { partition, transactionId } = addressOf(exchange);
  const partitionId = pathSegment(exchange, PARTITION_SEGMENT);
  const { deleted } =
    partition === NO_PARTITION
      ? { deleted: 0 }
      : await submitAdmin(
          edge,
          { exchange },
          { kind: 'deleteDeadLetters', partition, transactionId },
        );
  if (deleted > 0) return json({ success: true, partitionId, transactionId, deleted });
  const error = 'Message not found';
  const message = 'no dead letter has this address, and live messages cannot be deleted';
  return json({ success: false, partitionId, transactionId, error, message }, 404);
}

/** The address in the path; `NO_PARTITION` when the id is none. */
export function addressOf(exchange: Exchange): {
  readonly partition: number;
  readonly transactionId: string;
} {
  return {
    partition: parsePartitionId(pathSegment(exchange, PARTITION_SEGMENT)),
    transactionId: pathSegment(exchange, TRANSACTION_SEGMENT),
  };
}
