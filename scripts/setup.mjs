// `npm run setup`: installs and builds, and runs nothing.

import { prepare } from './prepare.mjs';

process.exitCode = await prepare();
