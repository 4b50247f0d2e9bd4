// `npm run cluster`: prepares the checkout, then runs three nodes that form one cluster on this machine.

import { prepareAndRun } from './prepare.mjs';

await prepareAndRun(['scripts/run-cluster.mjs', ...process.argv.slice(2)]);
