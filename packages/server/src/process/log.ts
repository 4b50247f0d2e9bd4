// The log: pino, as JSON or as one readable line a record. Written synchronously, because the last
// lines before an exit are the ones that matter; nothing on a hot path logs.

import { pino } from 'pino';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';

/** Receives finished lines. */
export interface LineSink {
  write(line: string): void;
}

const LEVEL_NAMES: ReadonlyMap<unknown, string> = new Map([
  [10, 'TRACE'],
  [20, 'DEBUG'],
  [30, 'INFO'],
  [40, 'WARN'],
  [50, 'ERROR'],
  [60, 'FATAL'],
]);

/** Fields that a readable line shows elsewhere, or not at all. */
const FIXED_FIELDS: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'nodeId', 'err']);

/** Opens the log of a node. `sink` defaults to standard output. */
export function createLog(
  config: Pick<Config, 'logLevel' | 'logJson' | 'nodeId'>,
  sink: LineSink = standardOutput(),
): Logger {
  const { logLevel, logJson, nodeId } = config;
  const options = {
    level: logLevel,
    base: { nodeId },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return pino(options, logJson ? sink : { write: (line) => sink.write(readableLine(line)) });
}

function standardOutput(): LineSink {
  const destination = pino.destination({ dest: 1, sync: true });
  destination.on('error', () => {
    // Nobody reads the log any more, and there is no other place to say so: the broker goes on.
  });
  return destination;
}

/** Turns a JSON record into `time LEVEL message field=value …`, and a stack below if it has one. */
function readableLine(line: string): string {
  const record = JSON.parse(line) as Record<string, unknown>;
  const { level, time, msg, err } = record;
  const levelName = (LEVEL_NAMES.get(level) ?? 'INFO').padEnd(5);
  const fields = Object.entries(record)
    .filter(([name]) => !FIXED_FIELDS.has(name))
    .map(
      ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
  return `${String(time)} ${levelName} ${String(msg)}${fields.join('')}${stackOf(err)}\n`;
}

function stackOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return '';
  const { stack, message } = err as { readonly stack?: unknown; readonly message?: unknown };
  return `\n${String(stack ?? message)}`;
}
