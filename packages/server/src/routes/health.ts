// Readiness and liveness (control-plane reference §4).

import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { raftView } from '../metrics/raft-view.ts';
import { VERSION } from '../version.ts';
import type { Route } from './route.ts';

/** GET /health and GET /health/live. */
export function healthRoutes(edge: Edge): readonly Route[] {
  return [
    { method: 'GET', path: '/health', handler: () => health(edge) },
    { method: 'GET', path: '/health/live', handler: () => live(edge) },
  ];
}

/** 200 when this node can serve, 503 while it settles or once it has failed. */
function health(edge: Edge): Response {
  const status = edge.broker.status();
  const isReady = status.failure === undefined && status.leaderId !== 0;
  const body = {
    status: isReady ? 'healthy' : 'settling',
    engine: 'raft',
    version: VERSION,
    raft: raftView(status),
  };
  return json(body, isReady ? 200 : 503);
}

/** 200 as long as the process should go on running. */
function live(edge: Edge): Response {
  const isAlive = edge.broker.status().failure === undefined;
  return json({ status: isAlive ? 'alive' : 'stopped' }, isAlive ? 200 : 503);
}
