// Answers for what no route takes: 405 for a known path, else 404, always JSON.

import { codeAnswer } from '../http/error-answer.ts';
import { json } from '../http/answers.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Route } from './route.ts';

/** Builds Hono's `notFound` for the given routes. */
export function createUnknownHandler(routes: readonly Route[]): (exchange: Exchange) => Response {
  const methodsByPath = new Map<string, string[]>();
  for (const { path, method } of routes) {
    const methods = methodsByPath.get(path) ?? [];
    methods.push(method);
    methodsByPath.set(path, methods);
  }
  const known = [...methodsByPath].map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/:[a-zA-Z]+/g, '[^/]+')}$`),
    allow: methods.join(', '),
  }));
  return (exchange) => {
    const { path } = exchange.req;
    const match = known.find(({ pattern }) => pattern.test(path));
    if (match !== undefined) return methodNotAllowed(exchange, match.allow);
    return json({ code: 'no_such_route', error: 'not found', path }, 404);
  };
}

/** Answers 405. `allow` lists the methods that the path has. */
export function methodNotAllowed(exchange: Exchange, allow: string): Response {
  const text = `${exchange.req.path} does not take ${exchange.req.method}, only ${allow}`;
  return codeAnswer('method_not_allowed', text, { Allow: allow });
}
