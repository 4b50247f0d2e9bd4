// Consumer groups: seek, subscription, deletion (data-plane reference §9).

import { parseTimestampUs, utf8Size } from '@queen-ts/base';
import { readGroupQueues } from '@queen-ts/engine';
import { BrokerError, DEFAULT_TENANT, nameBudgetError } from '@queen-ts/protocol';
import type { SeekTarget } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { bodyHandler, queryOf, readState, submitAdmin } from '../http/control.ts';
import type { Exchange } from '../http/exchange.ts';
import { readJsonBody, readOptionalBody } from '../http/json-body.ts';
import { requestIds } from '../http/request-options.ts';
import { pathSegment } from '../http/target.ts';
import { SeekBody, SubscriptionBody } from '../schemas/consumer-groups.ts';
import type { Route } from './route.ts';

/** Positions in `/api/v1/consumer-groups/:group/queues/:queue/partitions/:partition/seek`. */
const GROUP_SEGMENT = 3;
const QUEUE_SEGMENT = 5;
const PARTITION_SEGMENT = 7;

/** Queues from which a group is deleted at once. */
const DELETIONS_AT_ONCE = 32;

/** The routes that change groups. */
export function groupChangeRoutes(edge: Edge): readonly Route[] {
  const group = '/api/v1/consumer-groups/:group';
  return [
    { method: 'DELETE', path: group, handler: (exchange) => deleteEverywhere(edge, exchange) },
    {
      method: 'DELETE',
      path: `${group}/queues/:queue`,
      handler: (exchange) => deleteFromQueue(edge, exchange),
    },
    {
      method: 'POST',
      path: `${group}/subscription`,
      handler: bodyHandler(edge, (exchange, body) => subscribe(edge, exchange, body)),
    },
    {
      method: 'POST',
      path: `${group}/queues/:queue/seek`,
      handler: bodyHandler(edge, (exchange, body) =>
        seek(edge, { exchange, body, partition: undefined }),
      ),
    },
    {
      method: 'POST',
      path: `${group}/queues/:queue/partitions/:partition/seek`,
      handler: bodyHandler(edge, (exchange, body) =>
        seek(edge, { exchange, body, partition: pathSegment(exchange, PARTITION_SEGMENT) }),
      ),
    },
  ];
}

async function deleteEverywhere(edge: Edge, exchange: Exchange): Promise<Response> {
  const group = pathSegment(exchange, GROUP_SEGMENT);
  const requestIdOf = requestIds(edge, { exchange });
  // A repeat finds the group gone: it asks for what was answered where it was.
  const queues = await readState(
    edge,
    (view) => readGroupQueues(view, group, requestIdOf),
    'leader',
  );
  return json(await deleteGroup(edge, exchange, { group, queues, queueName: null }));
}

async function deleteFromQueue(edge: Edge, exchange: Exchange): Promise<Response> {
  const group = pathSegment(exchange, GROUP_SEGMENT);
  const queueName = pathSegment(exchange, QUEUE_SEGMENT);
  return json(await deleteGroup(edge, exchange, { group, queues: [queueName], queueName }));
}

/** Deletes a group from some queues; a repeated call goes on where a failed one ended. */
async function deleteGroup(
  edge: Edge,
  exchange: Exchange,
  from: {
    readonly group: string;
    readonly queues: readonly string[];
    readonly queueName: string | null;
  },
): Promise<unknown> {
  const { group, queueName } = from;
  const withRegistration = queryOf(exchange).text('deleteMetadata') !== 'false';
  const queues: string[] = [];
  let deletedPartitions = 0;
  let metadataDeleted = false;
  for (let start = 0; start < from.queues.length; start += DELETIONS_AT_ONCE) {
    const names = from.queues.slice(start, start + DELETIONS_AT_ONCE);
    const outcomes = await Promise.all(
      names.map((queue) =>
        submitAdmin(
          edge,
          { exchange, part: queue },
          { kind: 'deleteGroup', queue, group, withRegistration },
        ),
      ),
    );
    for (const [position, outcome] of outcomes.entries()) {
      const { cursorsDeleted, registrationDeleted } = outcome;
      deletedPartitions += cursorsDeleted;
      metadataDeleted ||= registrationDeleted;
      if (cursorsDeleted > 0 || registrationDeleted) queues.push(names[position]!);
    }
  }
  return {
    success: true,
    consumerGroup: group,
    queueName,
    deletedPartitions,
    metadataDeleted,
    queues,
  };
}

async function subscribe(edge: Edge, exchange: Exchange, body: Uint8Array): Promise<Response> {
  const group = pathSegment(exchange, GROUP_SEGMENT);
  const { subscriptionTimestamp } = readJsonBody(SubscriptionBody, body);
  const fromUs = parseTimestampUs(subscriptionTimestamp);
  if (fromUs === undefined) {
    throw new BrokerError('bad_request', 'subscriptionTimestamp must be an ISO 8601 time');
  }
  const command = { kind: 'subscribe', group, fromUs } as const;
  const { queuesUpdated } = await submitAdmin(edge, { exchange, body }, command);
  return json({
    success: true,
    consumerGroup: group,
    newTimestamp: subscriptionTimestamp,
    rowsUpdated: queuesUpdated,
  });
}

async function seek(
  edge: Edge,
  request: {
    readonly exchange: Exchange;
    readonly body: Uint8Array;
    readonly partition: string | undefined;
  },
): Promise<Response> {
  const { exchange, body, partition } = request;
  const consumerGroup = pathSegment(exchange, GROUP_SEGMENT);
  const queueName = pathSegment(exchange, QUEUE_SEGMENT);
  const target = readTarget(body);
  if (target === undefined) {
    edge.counters.countError('bad_request');
    const error = 'send {"toEnd":true} or {"timestamp":"<ISO 8601 time>"}';
    return json({ success: false, error }, 400);
  }
  refuseLongNames({ queue: queueName, partition: partition ?? '', group: consumerGroup });
  const command = {
    kind: 'seek',
    queue: queueName,
    partition,
    group: consumerGroup,
    target: target.to,
  } as const;
  const { found, partitionsUpdated } = await submitAdmin(edge, { exchange, body }, command);
  if (!found) {
    const error = `${partition === undefined ? 'Queue' : 'Queue or partition'} not found`;
    return json({ success: false, error, consumerGroup, queueName, partitionsUpdated: 0 }, 404);
  }
  return json({
    success: true,
    consumerGroup,
    queueName,
    partitionName: partition ?? null,
    seekToEnd: target.to.kind === 'end',
    targetTimestamp: target.timestamp,
    partitionsUpdated,
    updated: true,
  });
}

/** Where a seek goes, with the time as it was sent; undefined when the body does not say. */
function readTarget(
  body: Uint8Array,
): { readonly to: SeekTarget; readonly timestamp: string | null } | undefined {
  const sent = readOptionalBody(SeekBody, body) ?? { toEnd: true };
  if (sent.toEnd === true) return { to: { kind: 'end' }, timestamp: null };
  const { timestamp } = sent;
  const atUs = typeof timestamp === 'string' ? parseTimestampUs(timestamp) : undefined;
  if (typeof timestamp !== 'string' || atUs === undefined) return undefined;
  return { to: { kind: 'instant', atUs }, timestamp };
}

/** A seek makes the group known, so its name must fit. */
function refuseLongNames(names: {
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
}): void {
  const tooLong = nameBudgetError({
    tenant: utf8Size(DEFAULT_TENANT),
    queue: utf8Size(names.queue),
    partition: utf8Size(names.partition),
    group: utf8Size(names.group),
  });
  if (tooLong !== undefined) throw new BrokerError('name_too_long', tooLong);
}
