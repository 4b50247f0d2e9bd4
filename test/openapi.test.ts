// The copy of the OpenAPI document in docs/.

import { buildDocument } from '@queen-ts/server';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('docs/openapi.json is what the code says: `npm run openapi` writes it', () => {
  const file = join(import.meta.dirname, '..', 'docs', 'openapi.json');
  const written = JSON.parse(readFileSync(file, 'utf8')) as unknown;
  expect(written).toEqual(JSON.parse(JSON.stringify(buildDocument())));
});
