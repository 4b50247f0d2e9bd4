// Consumer groups: what they are and how far they are (data-plane reference §9).

import { formatTimestampMs, formatTimestampUs, formatUuid } from '@queen-ts/base';
import { readGroup, readGroups, readLagging, readPositions } from '@queen-ts/engine';
import type { CursorView, GroupView, LaggingCursor, PositionView } from '@queen-ts/engine';
import { GROUP_MODE, partitionIdText, QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { bodyHandler, queryOf, readState } from '../http/control.ts';
import type { Exchange } from '../http/exchange.ts';
import { queryPage, readJsonBody } from '../http/json-body.ts';
import { arrayPieces, objectPieces, pacedJson, Pieces } from '../http/paced-json.ts';
import { pathSegment, rawSegment } from '../http/target.ts';
import { POSITIONS_MAX, PositionsBody } from '../schemas/consumer-groups.ts';
import type { Route } from './route.ts';
import { methodNotAllowed } from './unknown.ts';

/** Position of the group in the path. */
const GROUP_SEGMENT = 3;

/** A group that is farther behind counts as lagging. */
const LAGGING_SECONDS = 300;

const MIN_LAG_SECONDS_DEFAULT = 3600;
const SECONDS_PER_HOUR = 3600;

/** Most cursors that one answer shows. */
const CURSORS_MAX = 10_000;

const MODE_NAMES = {
  [GROUP_MODE.ALL]: 'all',
  [GROUP_MODE.NEW]: 'new',
  [GROUP_MODE.FROM]: 'timestamp',
} as const;

/** Literal segments that win over a group's name; the router takes none beside a parameter. */
const LAGGING = 'lagging';
const POSITIONS = 'positions';

/** The routes that only read. */
export function consumerGroupRoutes(edge: Edge): readonly Route[] {
  const takePositions = bodyHandler(edge, (_exchange, body) => listPositions(edge, body));
  return [
    { method: 'GET', path: '/api/v1/consumer-groups', handler: () => listGroups(edge) },
    {
      method: 'GET',
      path: '/api/v1/consumer-groups/:group',
      handler: (exchange) => {
        // As it was sent: a group of this name can be asked for as `%6Cagging`.
        if (rawSegment(exchange, GROUP_SEGMENT) === LAGGING) return listLagging(edge, exchange);
        return showGroup(edge, pathSegment(exchange, GROUP_SEGMENT));
      },
    },
    {
      method: 'POST',
      path: '/api/v1/consumer-groups/:group',
      handler: (exchange) =>
        pathSegment(exchange, GROUP_SEGMENT) === POSITIONS
          ? takePositions(exchange)
          : methodNotAllowed(exchange, 'GET, DELETE'),
    },
  ];
}

async function listGroups(edge: Edge): Promise<Response> {
  const groups = await readState(edge, readGroups);
  return pacedJson(edge.clock, arrayPieces(groups, groupRow));
}

function groupRow(view: GroupView): unknown {
  const { group, queue, cursors, subscription } = view;
  const named = group === QUEUE_MODE_GROUP ? undefined : subscription;
  return {
    name: group,
    topics: [queue],
    queueName: queue,
    members: cursors,
    partitionCursors: cursors,
    partitionsWithLag: view.partitionsWithLag,
    totalLag: view.totalLag,
    maxTimeLag: Math.round(view.maxLagSeconds),
    state: stateOf(view),
    storage: 'segments',
    kind: 'queen',
    subscriptionMode: named === undefined ? null : MODE_NAMES[named.mode],
    subscriptionTimestamp: named === undefined ? null : formatTimestampUs(named.fromUs),
    subscriptionCreatedAt: named === undefined ? null : formatTimestampUs(named.registeredUs),
    conflation: view.conflation,
  };
}

function stateOf(view: GroupView): string {
  if (view.maxLagSeconds > LAGGING_SECONDS) return 'Lagging';
  return view.hasConsumed ? 'Stable' : 'Dead';
}

async function showGroup(edge: Edge, group: string): Promise<Response> {
  const filter = { group, limit: CURSORS_MAX };
  const queues = await readState(edge, (view) => readGroup(view, filter));
  if (queues.length === 0) return json({ error: 'Consumer group not found' }, 404);
  const members = queues.map(({ queue, conflation, cursors }) => {
    const partitions = new Pieces(arrayPieces(cursors, cursorRow));
    const value = objectPieces([
      ['conflation', conflation],
      ['kind', 'queen'],
      ['partitions', partitions],
    ]);
    return [queue, new Pieces(value)] as const;
  });
  return pacedJson(edge.clock, objectPieces(members));
}

function cursorRow(cursor: CursorView): unknown {
  return {
    partition: cursor.partition,
    workerId: workerOf(cursor),
    lastConsumedAt: null,
    totalConsumed: cursor.next,
    offsetLag: cursor.lag,
    timeLagSeconds: Math.round(cursor.lagSeconds),
    leaseActive: cursor.leaseId !== undefined,
  };
}

/** Workers have no names here: the id of the live lease tells them apart. */
function workerOf({ leaseId }: CursorView): string | null {
  return leaseId === undefined ? null : formatUuid(leaseId);
}

async function listLagging(edge: Edge, exchange: Exchange): Promise<Response> {
  const query = queryOf(exchange);
  const minSeconds = Math.max(0, query.int32('minLagSeconds') ?? MIN_LAG_SECONDS_DEFAULT);
  const { limit } = queryPage(query, { limitDefault: CURSORS_MAX, limitMax: CURSORS_MAX });
  const cursors = await readState(edge, (view) => readLagging(view, { minSeconds, limit }));
  return pacedJson(edge.clock, arrayPieces(cursors, laggingRow));
}

function laggingRow(cursor: LaggingCursor): unknown {
  const { lagSeconds } = cursor;
  return {
    consumer_group: cursor.group,
    queue_name: cursor.queue,
    partition_name: cursor.partition,
    partition_id: partitionIdText(cursor.partitionNumber),
    worker_id: workerOf(cursor),
    kind: 'queen',
    offset_lag: cursor.lag,
    time_lag_seconds: Math.round(lagSeconds),
    lag_hours: Math.round((lagSeconds / SECONDS_PER_HOUR) * 100) / 100,
    oldest_unconsumed_at: formatTimestampMs(cursor.oldestUs),
    last_consumed_at: null,
  };
}

async function listPositions(edge: Edge, body: Uint8Array): Promise<Response> {
  const { consumerGroup, entries } = readJsonBody(PositionsBody, body);
  const filter = { group: consumerGroup, entries: entries ?? undefined, limit: POSITIONS_MAX };
  const positions = await readState(edge, (view) => readPositions(view, filter), 'leader');
  return pacedJson(
    edge.clock,
    objectPieces([
      ['consumerGroup', consumerGroup],
      ['entries', new Pieces(arrayPieces(positions, positionRow))],
    ]),
  );
}

/** No metadata is stored with a position, so where there is one it is empty. */
function positionRow({ queue, partition, offset }: PositionView): unknown {
  if (offset === undefined) return { queue, partition, offset: null };
  return { queue, partition, offset, metadata: '' };
}
