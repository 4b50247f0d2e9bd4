// A route as data: the app registers them, and the answer to a wrong method is derived from them.

import type { Exchange } from '../http/exchange.ts';

/** One method of one path. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Hono pattern; `:name` takes one undecoded segment. */
  readonly path: string;
  readonly handler: (exchange: Exchange) => Response | Promise<Response>;
}
