// `npm run demo`: prepares the checkout, then runs the demo against a broker that is running already.

import { prepareAndRun } from './prepare.mjs';

await prepareAndRun(['bench/demo/main.ts', ...process.argv.slice(2)]);
