// Counts over many queues: labels, overview, busiest partitions; and the refresh of statistics, which
// are never stale here (data-plane reference §7, control-plane §3.1, §3.2, §3.6).

import { formatTimestampMs } from '@queen-ts/base';
import { readBusiestPartitions, readLabels, readOverview } from '@queen-ts/engine';
import type { BusyPartition, LabelRollup, LagRange } from '@queen-ts/engine';
import { partitionIdText } from '@queen-ts/protocol';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { queryOf, readState } from '../http/control.ts';
import type { Exchange } from '../http/exchange.ts';
import { queryPage } from '../http/json-body.ts';
import { arrayPieces, objectPieces, pacedJson, Pieces } from '../http/paced-json.ts';
import type { Route } from './route.ts';

/** Rows of the busiest partitions. */
const BUSIEST_DEFAULT = 610;
const BUSIEST_MAX = 10_000;

/** The routes. */
export function rollupRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/resources/namespaces',
      handler: () => listLabels(edge, 'namespace', 'namespaces'),
    },
    {
      method: 'GET',
      path: '/api/v1/resources/tasks',
      handler: () => listLabels(edge, 'task', 'tasks'),
    },
    { method: 'GET', path: '/api/v1/resources/overview', handler: () => showOverview(edge) },
    {
      method: 'GET',
      path: '/api/v1/resources/partitions',
      handler: (exchange) => listBusiest(edge, exchange),
    },
    {
      method: 'POST',
      path: '/api/v1/stats/refresh',
      handler: () => json({ success: true, refreshed: false, engine: 'raft' }),
    },
  ];
}

async function listLabels(
  edge: Edge,
  label: 'namespace' | 'task',
  member: string,
): Promise<Response> {
  const rollups = await readState(edge, (view) => readLabels(view, label));
  const row = ({ label: name, queues, partitions, total, pending }: LabelRollup): unknown => ({
    [label]: name,
    queues,
    partitions,
    messages: { total, pending },
  });
  return pacedJson(edge.clock, objectPieces([[member, new Pieces(arrayPieces(rollups, row))]]));
}

async function showOverview(edge: Edge): Promise<Response> {
  const { queues, partitions, namespaces, tasks, messages, lag } = await readState(
    edge,
    readOverview,
  );
  const { total, pending, processing, completed, deadLetter } = messages;
  return json({
    queues,
    partitions,
    namespaces,
    tasks,
    messages: { total, pending, processing, completed, failed: 0, deadLetter },
    lag: { time: rangeOf(lag.time), offset: rangeOf(lag.offset) },
    timestamp: formatTimestampMs(edge.clock.wallUs()),
    statsAge: 0,
  });
}

function rangeOf({ avg, max }: LagRange): unknown {
  return { avg: Math.round(avg), median: 0, min: 0, max: Math.round(max) };
}

async function listBusiest(edge: Edge, exchange: Exchange): Promise<Response> {
  const query = queryOf(exchange);
  const queue = query.text('queue') ?? '';
  const { limit } = queryPage(query, { limitDefault: BUSIEST_DEFAULT, limitMax: BUSIEST_MAX });
  const busiest = await readState(edge, (view) => readBusiestPartitions(view, { queue, limit }));
  const rows = new Pieces(arrayPieces(busiest, busiestRow));
  return pacedJson(edge.clock, objectPieces([['partitions', rows]]));
}

function busiestRow(row: BusyPartition): unknown {
  const { queue, partition, pending, processing, lagSeconds } = row;
  return {
    queue,
    partition,
    partitionId: partitionIdText(row.number),
    pending,
    processing,
    lagSeconds: lagSeconds === undefined ? null : Math.round(lagSeconds),
  };
}
