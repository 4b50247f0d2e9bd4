// `npm test`: prepares the checkout, then runs every test; arguments go to Vitest.

import { prepareAndRun } from './prepare.mjs';

await prepareAndRun(['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)]);
