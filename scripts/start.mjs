// `npm start`: prepares the checkout, then runs one node of the broker in the foreground.

import { prepareAndRun } from './prepare.mjs';

await prepareAndRun(['packages/server/dist/main.js', ...process.argv.slice(2)]);
