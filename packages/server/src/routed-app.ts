// Routes behind Hono's router, with the answers for everything that is none of them.

import { Hono } from 'hono';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import { createErrorHandler } from './http/error-answer.ts';
import type { ErrorAnswering } from './http/error-answer.ts';
import type { EdgeEnv } from './http/exchange.ts';
import { rawPath } from './http/target.ts';
import type { Route } from './routes/route.ts';
import { createUnknownHandler } from './routes/unknown.ts';

/** Builds an app of `routes`. One handler a route and no middleware: Hono then calls it directly. */
export function routedApp(routes: readonly Route[], errors: ErrorAnswering): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>({ router: new RegExpRouter(), getPath: rawPath });
  for (const { method, path, handler } of routes) app.on(method, path, handler);
  app.notFound(createUnknownHandler(routes));
  app.onError(createErrorHandler(errors));
  return app;
}
