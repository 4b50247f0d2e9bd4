// GET /api/v1/openapi.json and GET /docs: the interface, for programs and for people. Both are made
// once, when somebody asks.

import { jsonBytes } from '../http/answers.ts';
import { buildDocument } from '../openapi/document.ts';
import { renderPage } from '../openapi/page.ts';
import type { Route } from './route.ts';

/** The page runs no script and loads nothing: nothing else is allowed to it either. */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
  'X-Content-Type-Options': 'nosniff',
};

/** Both routes. */
export function docsRoutes(): readonly Route[] {
  let document: Uint8Array | undefined;
  let page: string | undefined;
  return [
    {
      method: 'GET',
      path: '/api/v1/openapi.json',
      handler: () => {
        document ??= new TextEncoder().encode(JSON.stringify(buildDocument()));
        return jsonBytes(document);
      },
    },
    {
      method: 'GET',
      path: '/docs',
      handler: () => {
        page ??= renderPage(buildDocument());
        return new Response(page, { headers: PAGE_HEADERS });
      },
    },
  ];
}
