// The HTTP surface of a node: every route, as one Hono app. Opens no socket: `app.request()` tests
// it, `http-server.ts` serves it.

import type { Hono } from 'hono';
import type { Registry } from 'prom-client';
import type { Edge } from './edge.ts';
import type { EdgeEnv } from './http/exchange.ts';
import { ackRoutes } from './routes/ack.ts';
import { configureRoutes } from './routes/configure.ts';
import { consumerGroupRoutes } from './routes/consumer-groups.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { docsRoutes } from './routes/docs.ts';
import { groupChangeRoutes } from './routes/group-changes.ts';
import { healthRoutes } from './routes/health.ts';
import { leaseRoutes } from './routes/lease.ts';
import { maintenanceRoutes } from './routes/maintenance.ts';
import { membershipRoutes } from './routes/membership.ts';
import { messageRoutes } from './routes/messages.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { offsetReadRoutes } from './routes/offset-reads.ts';
import { popRoutes } from './routes/pop.ts';
import { pushRoutes } from './routes/push.ts';
import { queueRoutes } from './routes/queues.ts';
import { raftViewRoutes } from './routes/raft-views.ts';
import { rollupRoutes } from './routes/rollups.ts';
import { transactionRoutes } from './routes/transaction.ts';
import { routedApp } from './routed-app.ts';

/** Builds the app. `registry` is what `/metrics/prometheus` shows. */
export function createApp(edge: Edge, registry: Registry): Hono<EdgeEnv> {
  const routes = [
    ...pushRoutes(edge),
    ...popRoutes(edge),
    ...ackRoutes(edge),
    ...leaseRoutes(edge),
    ...transactionRoutes(edge),
    ...configureRoutes(edge),
    ...queueRoutes(edge),
    ...rollupRoutes(edge),
    ...deadLetterRoutes(edge),
    ...messageRoutes(edge),
    ...consumerGroupRoutes(edge),
    ...groupChangeRoutes(edge),
    ...offsetReadRoutes(edge),
    ...maintenanceRoutes(edge),
    ...membershipRoutes(edge),
    ...raftViewRoutes(edge),
    ...healthRoutes(edge),
    ...metricsRoutes(edge, registry),
    ...docsRoutes(),
  ];
  return routedApp(routes, edge);
}
