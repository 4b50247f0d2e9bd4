// GET /metrics (a JSON summary) and GET /metrics/prometheus.

import type { Registry } from 'prom-client';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { raftView } from '../metrics/raft-view.ts';
import type { Route } from './route.ts';

/** Both metrics routes; `registry` holds what Prometheus sees. */
export function metricsRoutes(edge: Edge, registry: Registry): readonly Route[] {
  return [
    { method: 'GET', path: '/metrics', handler: () => summary(edge) },
    { method: 'GET', path: '/metrics/prometheus', handler: () => prometheus(registry) },
  ];
}

function summary({ admin, broker, clock, counters, startedUs }: Edge): Response {
  const { pushRequests, popRequests, ackRequests, pushMessages, popMessages } = counters;
  const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return json({
    uptime: Math.floor((clock.monotonicUs() - startedUs) / 1e6),
    // `rate` is always 0, as clients of 2.x expect: rates come from differences of `total`.
    requests: { total: pushRequests + popRequests + ackRequests, rate: 0 },
    messages: { total: pushMessages + popMessages, rate: 0 },
    memory: { rss, heapTotal, heapUsed, external, arrayBuffers },
    cpu: { user, system },
    engine: 'raft',
    raft: raftView(broker.status(), admin.view()),
  });
}

async function prometheus(registry: Registry): Promise<Response> {
  const text = await registry.metrics();
  return new Response(text, { headers: { 'Content-Type': registry.contentType } });
}
