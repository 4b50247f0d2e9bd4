// The request target as it was sent. Routing looks at the undecoded path, so that an encoded slash
// stays inside its segment; segments are decoded one by one, strictly.

import { BrokerError } from '@queen-ts/protocol';
import type { EdgeBindings, Exchange } from './exchange.ts';

const SLASH = 0x2f;

/** Hono's `getPath`: the undecoded path, which `exchange.req.path` then is. */
export function rawPath(request: Request, options?: { readonly env?: EdgeBindings }): string {
  const target = options?.env?.incoming?.url;
  // Proxies may send the absolute form; the URL of the request has it taken apart.
  const text = target?.charCodeAt(0) === SLASH ? target : pathAndQuery(request.url);
  const end = text.indexOf('?');
  return end < 0 ? text : text.slice(0, end);
}

/** The undecoded text behind the first question mark, or an empty one. */
export function rawQuery(exchange: Exchange): string {
  const target = exchange.env?.incoming?.url ?? exchange.req.url;
  const start = target.indexOf('?');
  if (start < 0) return '';
  const end = target.indexOf('#', start);
  return end < 0 ? target.slice(start + 1) : target.slice(start + 1, end);
}

/** The undecoded path segment at `position`; 0 is the one behind the first slash. */
export function rawSegment(exchange: Exchange, position: number): string {
  return exchange.req.path.split('/')[position + 1] ?? '';
}

/**
 * Decodes the path segment at `position`; 0 is the one behind the first slash.
 * Throws `bad_request` when it is not valid percent-encoded UTF-8.
 */
export function pathSegment(exchange: Exchange, position: number): string {
  const segment = rawSegment(exchange, position);
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new BrokerError('bad_request', 'a path segment is not valid percent-encoded UTF-8', {
      cause,
    });
  }
}

function pathAndQuery(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  return start < 0 ? '/' : url.slice(start);
}
