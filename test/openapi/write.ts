// `npm run openapi`: writes docs/openapi.json as the code says it.

import { buildDocument } from '@queen-ts/server';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '..', '..', 'docs', 'openapi.json');
writeFileSync(file, `${JSON.stringify(buildDocument(), undefined, 2)}\n`);
