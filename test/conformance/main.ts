// `npm run conformance -- --url http://127.0.0.1:6632`: the suite against a running broker; without
// --url against a fresh node of this checkout.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { values } = parseArgs({ options: { url: { type: 'string' } } });
const vitest = spawn(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--project', 'conformance'],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(values.url === undefined ? {} : { QUEEN_CONFORMANCE_URL: values.url }),
    },
  },
);
vitest.on('close', (code) => {
  process.exitCode = code ?? 1;
});
