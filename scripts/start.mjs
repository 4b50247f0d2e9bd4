// `npm start`: prepares the checkout, then runs one node of the broker in the foreground.

import { BROKER_NODE_FLAGS } from './node-flags.mjs';
import { prepareAndRun } from './prepare.mjs';

await prepareAndRun([
  ...BROKER_NODE_FLAGS,
  'packages/server/dist/main.js',
  ...process.argv.slice(2),
]);
