// What a node answers while it still opens its log: it is alive, it is not ready, and everybody else
// should come back. Listening first keeps a port conflict from touching the data directory.

import { BrokerError } from '@queen-ts/protocol';
import { Hono } from 'hono';
import { json } from '../http/answers.ts';
import { createErrorHandler } from '../http/error-answer.ts';
import type { ErrorAnswering } from '../http/error-answer.ts';
import type { EdgeEnv } from '../http/exchange.ts';
import { rawPath } from '../http/target.ts';
import { VERSION } from '../version.ts';

/** Builds the app. */
export function createStartingApp(errors: ErrorAnswering): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>({ getPath: rawPath });
  app.get('/health', () =>
    json({ status: 'settling', reason: 'starting', engine: 'raft', version: VERSION }, 503),
  );
  app.get('/health/live', () => json({ status: 'alive' }));
  app.all('*', () => {
    throw new BrokerError('no_leader', 'this node is starting; nothing was stored');
  });
  app.onError(createErrorHandler(errors));
  return app;
}
