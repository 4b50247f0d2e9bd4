// What the demo is started with: command line first, environment second, defaults last.

import { parseArgs } from 'node:util';
import { DemoError } from './broker-client.ts';

const DEFAULT_URL = 'http://127.0.0.1:6632';
const DEFAULT_QUEUE = 'flights';
const DEFAULT_STALL_SECONDS = '20';

/** Settings of one run. */
export interface DemoOptions {
  readonly url: URL;
  readonly queue: string;
  /** A run that makes no progress for so long has lost messages. */
  readonly stallMs: number;
}

/** Reads `--url` (or QUEEN_URL), `--queue` and `--stall-seconds`; throws DemoError for a bad one. */
export function readOptions(): DemoOptions {
  const values = parseArguments();
  const url = values.url ?? process.env['QUEEN_URL'] ?? DEFAULT_URL;
  if (!URL.canParse(url) || !url.startsWith('http://')) {
    throw new DemoError(`not an http URL: ${url}`);
  }
  const stallSeconds = Number(values['stall-seconds']);
  if (!(stallSeconds > 0)) throw new DemoError('--stall-seconds needs a number above 0');
  if (values.queue === '') throw new DemoError('--queue needs a name');
  return { url: new URL(url), queue: values.queue, stallMs: stallSeconds * 1000 };
}

function parseArguments() {
  try {
    return parseArgs({
      options: {
        url: { type: 'string' },
        queue: { type: 'string', default: DEFAULT_QUEUE },
        'stall-seconds': { type: 'string', default: DEFAULT_STALL_SECONDS },
      },
    }).values;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new DemoError(text, { cause: error });
  }
}
