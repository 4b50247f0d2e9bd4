// Readiness and liveness (control-plane reference §4).

import type { BrokerStatus, NodeView } from '@queen-ts/cluster';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { raftView } from '../metrics/raft-view.ts';
import { VERSION } from '../version.ts';
import type { Route } from './route.ts';

/** A node whose leader had no quorum for longer than this, as far as it knows, is not ready. */
const QUORUM_AGE_MS_MAX = 5000;

/** Why a node is not ready. */
type Unready = 'stopped' | 'identity_refused' | 'no_leader' | 'quorum_lost' | 'apply_lag';

/** GET /health and GET /health/live. */
export function healthRoutes(edge: Edge): readonly Route[] {
  return [
    { method: 'GET', path: '/health', handler: () => health(edge) },
    { method: 'GET', path: '/health/live', handler: () => live(edge) },
  ];
}

/** 200 when this node can serve, 503 with the reason otherwise. */
function health({ broker, admin, config }: Edge): Response {
  const status = broker.status();
  const view = admin.view();
  const reason = unreadiness(status, view, config.readyLagEntriesMax);
  const body = {
    status: reason === undefined ? 'healthy' : 'settling',
    ...(reason === undefined ? {} : { reason }),
    engine: 'raft',
    version: VERSION,
    raft: raftView(status, view),
  };
  return json(body, reason === undefined ? 200 : 503);
}

function unreadiness(
  status: BrokerStatus,
  view: NodeView,
  lagEntriesMax: number,
): Unready | undefined {
  if (status.failure !== undefined) return 'stopped';
  if (view.isIdentityRefused) return 'identity_refused';
  if (status.leaderId === 0) return 'no_leader';
  if (view.quorumAgeMs === null || view.quorumAgeMs > QUORUM_AGE_MS_MAX) return 'quorum_lost';
  if (status.commitIndex - status.appliedIndex > lagEntriesMax) return 'apply_lag';
  return undefined;
}

/** 200 as long as the process should go on running. */
function live(edge: Edge): Response {
  const isAlive = edge.broker.status().failure === undefined;
  return json({ status: isAlive ? 'alive' : 'stopped' }, isAlive ? 200 : 503);
}
