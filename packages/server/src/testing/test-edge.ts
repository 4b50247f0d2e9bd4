// An edge over a fake broker, with a clock that stands still and a log that is kept.

import { SeededRng } from '@queen-ts/base';
import type { Hono } from 'hono';
import { createApp } from '../app.ts';
import { createEdge } from '../edge.ts';
import type { Edge, EdgeConfig } from '../edge.ts';
import type { EdgeEnv } from '../http/exchange.ts';
import { HTTP_LIMITS_DEFAULT, HttpServer } from '../http-server.ts';
import type { HttpLimits } from '../http-server.ts';
import { createRegistry } from '../metrics/registry.ts';
import { createLog } from '../process/log.ts';
import { fakeAdmin } from './fake-admin.ts';
import { FakeBroker } from './fake-broker.ts';
import { RawClient } from './raw-client.ts';

/** Monotonic time of every test edge, in microseconds. */
export const TEST_NOW_US = 5_000_000;

/** What a test works with. */
export interface TestEdge {
  readonly broker: FakeBroker;
  readonly admin: ReturnType<typeof fakeAdmin>;
  readonly edge: Edge;
  readonly app: Hono<EdgeEnv>;
  /** Records of the log, as JSON. */
  readonly lines: string[];
  readonly crashes: unknown[];
}

/** Builds the edge. */
export function testEdge(
  options: {
    readonly config?: Partial<EdgeConfig>;
    readonly popsMax?: number;
    readonly wallUs?: () => number;
    readonly hashKey?: Uint32Array<ArrayBuffer>;
  } = {},
): TestEdge {
  const broker = new FakeBroker();
  broker.hashKey = options.hashKey ?? broker.hashKey;
  const lines: string[] = [];
  const crashes: unknown[] = [];
  const config: EdgeConfig = {
    bodyBytesMax: 1024 * 1024,
    popTimeoutMs: 30_000,
    pushTimeoutMs: 20_000,
    statementTimeoutMs: 10_000,
    defaultSubscriptionMode: 'all',
    admitBytesMax: 4 * 1024 * 1024,
    admitHoldMs: 50,
    promoteLagEntriesMax: 1000,
    readyLagEntriesMax: 1000,
    electionTimeoutMs: 1000,
    encryptionKey: undefined,
    storesPlaintextWithoutKey: false,
    ...options.config,
  };
  const admin = fakeAdmin();
  const edge = createEdge({
    broker,
    admin,
    clock: {
      wallUs: options.wallUs ?? ((): number => 1_700_000_000_000_000),
      monotonicUs: () => TEST_NOW_US,
    },
    rng: new SeededRng(7),
    config,
    log: createLog(
      { logLevel: 'info', logJson: true, nodeId: 1 },
      { write: (line) => void lines.push(line) },
    ),
    crash: (error) => void crashes.push(error),
    ...(options.popsMax === undefined ? {} : { popsMax: options.popsMax }),
  });
  return { broker, admin, edge, app: createApp(edge, createRegistry(edge)), lines, crashes };
}

/** Serves an app on a free port until `close`. */
export async function serveApp(
  app: Hono<EdgeEnv>,
  limits: HttpLimits = HTTP_LIMITS_DEFAULT,
): Promise<{
  readonly server: HttpServer;
  readonly connect: () => Promise<RawClient>;
  readonly close: () => Promise<void>;
}> {
  const server = new HttpServer(app.fetch, limits);
  const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
  return { server, connect: () => RawClient.open(port), close: () => server.close(0) };
}
