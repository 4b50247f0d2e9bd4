// Paths, unknown routes and errors, for any set of routes.

import { InvariantError } from '@queen-ts/base';
import { BrokerError } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { json } from './http/answers.ts';
import { pathSegment, rawQuery } from './http/target.ts';
import { EdgeCounters } from './metrics/edge-counters.ts';
import { createLog } from './process/log.ts';
import { routedApp } from './routed-app.ts';
import type { Route } from './routes/route.ts';

function app(options: { readonly error?: Error } = {}) {
  const lines: string[] = [];
  const crashes: unknown[] = [];
  const counters = new EdgeCounters();
  const routes: Route[] = [
    {
      method: 'GET',
      path: '/api/v1/things/:a/of/:b',
      handler: (exchange) =>
        json([pathSegment(exchange, 3), pathSegment(exchange, 5), rawQuery(exchange)]),
    },
    { method: 'POST', path: '/api/v1/things', handler: () => json('posted') },
    { method: 'DELETE', path: '/api/v1/things', handler: () => json('deleted') },
    {
      method: 'GET',
      path: '/fails',
      handler: () => {
        throw options.error ?? new Error('unused');
      },
    },
  ];
  const sink = { write: (line: string) => void lines.push(line) };
  const log = createLog({ logLevel: 'info', logJson: true, nodeId: 1 }, sink);
  const crash = (error: unknown) => void crashes.push(error);
  return { app: routedApp(routes, { log, counters, crash }), lines, crashes, counters };
}

describe('path segments', () => {
  test.each([
    ['/api/v1/things/plain/of/x', ['plain', 'x', '']],
    ['/api/v1/things/a%2Fb/of/%25', ['a/b', '%', '']],
    ['/api/v1/things/%C3%A9%20+/of/x?q=%2F&r', ['é +', 'x', 'q=%2F&r']],
    ['/api/v1/things/:a/of/*', [':a', '*', '']],
  ])('of %s are decoded one by one', async (path, expected) => {
    const answer = await app().app.request(path);
    expect(await answer.json()).toEqual(expected);
  });

  test.each(['%', '%zz', '%E9', '%C3'])('that say %s are refused', async (segment) => {
    const { app: under, lines, counters } = app();
    const answer = await under.request(`/api/v1/things/${segment}/of/x`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({
      error: 'a path segment is not valid percent-encoded UTF-8',
      code: 'bad_request',
    });
    expect(counters.errors.get('bad_request')).toBe(1);
    expect(lines).toEqual([]);
  });
});

describe('what no route takes', () => {
  test.each(['GET', 'POST', 'DELETE', 'PATCH', 'OPTIONS'])(
    '%s of an unknown API path is 404 no_such_route',
    async (method) => {
      for (const path of ['/api/v1/nothing', '/streams/v1/x', '/api/v1/things/', '/elsewhere']) {
        const answer = await app().app.request(path, { method });
        expect(answer.status).toBe(404);
        expect(answer.headers.get('content-type')).toBe('application/json');
        expect(await answer.json()).toEqual({ code: 'no_such_route', error: 'not found', path });
      }
    },
  );

  test('a known path with another method is 405 and lists what it takes', async () => {
    const answer = await app().app.request('/api/v1/things', { method: 'PUT' });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST, DELETE');
    expect(await answer.json()).toEqual({
      error: '/api/v1/things does not take PUT, only POST, DELETE',
      code: 'method_not_allowed',
    });
    const pattern = await app().app.request('/api/v1/things/x/of/y', { method: 'POST' });
    expect(pattern.headers.get('allow')).toBe('GET');
  });
});

describe('errors', () => {
  test.each([
    ['overloaded', 429, '1'],
    ['no_leader', 503, '1'],
    ['timeout', 503, '1'],
    ['storage_full', 507, '5'],
    ['name_too_long', 413, null],
    ['bad_body', 400, null],
  ] as const)('%s becomes %i and is not logged', async (code, status, retryAfter) => {
    const { app: under, lines, counters } = app({ error: new BrokerError(code, 'some text') });
    const answer = await under.request('/fails');
    expect(answer.status).toBe(status);
    expect(answer.headers.get('retry-after')).toBe(retryAfter);
    expect(await answer.json()).toEqual({ error: 'some text', code });
    expect(lines).toEqual([]);
    expect([...counters.errors]).toEqual([[code, 1]]);
  });

  test('anything unforeseen becomes 500 without details and is logged once with its stack', async () => {
    const { app: under, lines, crashes } = app({ error: new TypeError('secret detail') });
    const answer = await under.request('/fails');
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({ error: 'internal error', code: 'internal' });
    expect(lines).toHaveLength(1);
    const record = JSON.parse(lines[0]!) as { err: { stack: string }; path: string };
    expect(record.err.stack).toContain('TypeError: secret detail\n');
    expect(record.path).toBe('/fails');
    expect(crashes).toEqual([]);
  });

  test('a broken invariant goes to the crash handler', async () => {
    const error = new InvariantError('2 + 2');
    const { app: under, crashes } = app({ error });
    await under.request('/fails');
    expect(crashes).toEqual([error]);
  });
});
