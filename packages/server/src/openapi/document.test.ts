// The document against the routes: nothing undocumented, nothing made up, every example valid.

import { z } from 'zod';
import { describe, expect, test } from 'vitest';
import { testEdge } from '../testing/test-edge.ts';
import { buildDocument } from './document.ts';
import { SECTIONS } from './operation.ts';
import { OPERATIONS } from './operations/index.ts';

/** What the router has, as `METHOD /path/{parameter}`. */
function routes(): Set<string> {
  const { app } = testEdge();
  return new Set(app.routes.map(({ method, path }) => routeKey(method, path)));
}

function routeKey(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
}

describe('the document', () => {
  test('describes every route: add an operation to openapi/operations/', () => {
    const described = new Set(
      OPERATIONS.map(({ method, path, routePath }) => routeKey(method, routePath ?? path)),
    );
    expect([...routes()].filter((route) => !described.has(route))).toEqual([]);
  });

  test('describes no route that does not exist', () => {
    const existing = routes();
    const made = OPERATIONS.map(({ method, path, routePath }) =>
      routeKey(method, routePath ?? path),
    );
    expect(made.filter((route) => !existing.has(route))).toEqual([]);
  });

  test('has one operation for each method of a path, each with its own id and a known section', () => {
    const ids = OPERATIONS.map(({ id }) => id);
    const places = OPERATIONS.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(places).size).toBe(places.length);
    expect(SECTIONS.filter((name) => !OPERATIONS.some(({ section }) => section === name))).toEqual(
      [],
    );
  });

  test('refers only to what it has, and has nothing that it does not refer to', () => {
    const document = buildDocument();
    const text = JSON.stringify(document);
    const referred = new Set(
      [...text.matchAll(/"\$ref":"#\/components\/(schemas|headers)\/([^"]+)"/g)].map(
        ([, kind, name]) => `${kind}/${name}`,
      ),
    );
    const { schemas, headers } = document.components;
    const had = [
      ...Object.keys(schemas).map((name) => `schemas/${name}`),
      ...Object.keys(headers).map((name) => `headers/${name}`),
    ];
    expect([...referred].toSorted()).toEqual(had.toSorted());
  });

  test('says something about every parameter of a path', () => {
    const parameters = Object.values(buildDocument().paths).flatMap((methods) =>
      Object.values(methods).flatMap((operation) => operation.parameters ?? []),
    );
    expect(parameters.filter(({ description }) => description === '')).toEqual([]);
  });
});

describe.each(OPERATIONS)('$id', ({ answers, body }) => {
  test('has examples that fit their schemas', () => {
    for (const [name, value] of Object.entries(body?.examples ?? {})) {
      expect(body?.schema.safeParse(value).error, name).toBeUndefined();
    }
    for (const [status, { schema, example }] of Object.entries(answers)) {
      if (schema === undefined || example === undefined) continue;
      const parsed = schema.safeParse(example);
      expect(parsed.error && z.prettifyError(parsed.error), status).toBeUndefined();
      // What a schema does not name is dropped: an example must not have it.
      expect(parsed.data, status).toEqual(example);
    }
  });
});

describe('the routes', () => {
  test('GET /api/v1/openapi.json answers the document', async () => {
    const answer = await testEdge().app.request('/api/v1/openapi.json');
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(buildDocument())));
  });

  test('GET /docs shows every operation and loads nothing', async () => {
    const answer = await testEdge().app.request('/docs');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    const page = await answer.text();
    for (const { id, path } of OPERATIONS) {
      expect(page).toContain(`<article id="${id}">`);
      expect(page).toContain(`</span> ${path}</h3>`);
    }
    expect(page).not.toMatch(/<script|<link|<img|@import|url\(|https?:\/\//);
    expect(page).not.toContain('[object Object]');
    expect(page).not.toContain('undefined');
  });
});
