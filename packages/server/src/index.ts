// The public door of @queen-ts/server: what tests and benchmarks build a node from.

export { createApp } from './app.ts';
export { routedApp } from './routed-app.ts';
export { readConfig } from './config/config.ts';
export { ConfigError } from './config/config-error.ts';
export { createEdge } from './edge.ts';
export { jsonBytes } from './http/answers.ts';
export { ByteBudget } from './http/byte-budget.ts';
export { withBody } from './http/with-body.ts';
export { EdgeCounters } from './metrics/edge-counters.ts';
export { HTTP_LIMITS_DEFAULT, HttpServer } from './http-server.ts';
export { createLog } from './process/log.ts';
export { createRegistry } from './metrics/registry.ts';
export { buildDocument } from './openapi/document.ts';
export { startNode } from './process/start-node.ts';
export type { Config } from './config/config.ts';
export type { Edge, EdgeParts } from './edge.ts';
export type { ErrorAnswering } from './http/error-answer.ts';
export type { Route } from './routes/route.ts';
export type { HttpLimits } from './http-server.ts';
export type { OpenApiDocument } from './openapi/document.ts';
export type { RunningNode } from './process/start-node.ts';
