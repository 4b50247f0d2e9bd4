// The command line of the load generator.

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

/** What to load a cluster with. */
export interface LoadOptions {
  /** Members, used in turn. */
  readonly urls: readonly string[];
  readonly queue: string;
  /** Connections that push, each one request at a time. */
  readonly producers: number;
  /** Connections that pop and ack, for each group. */
  readonly consumers: number;
  readonly groups: number;
  readonly partitions: number;
  /** Messages a push. */
  readonly batch: number;
  /** Messages that a pop asks for at most, and from how many partitions. */
  readonly popBatch: number;
  readonly popPartitions: number;
  /** Bytes of a payload. */
  readonly size: number;
  /** Messages a second to push, all producers together; 0: as fast as they are answered. */
  readonly rate: number;
  readonly seconds: number;
  /** Not measured; verified all the same. */
  readonly warmupSeconds: number;
  readonly dedup: boolean;
  /** One ack request for a batch, or one for each message. */
  readonly ack: 'batch' | 'each';
  /** Threads of the generator. */
  readonly threads: number;
  /** Processes of the cluster on this machine, whose CPU and memory to report. */
  readonly pids: readonly number[];
  /** Where to write the results; undefined: nowhere. */
  readonly jsonFile: string | undefined;
  readonly htmlFile: string | undefined;
}

/** What each option is for, in the order in which the help shows them. */
const HELP: readonly (readonly [string, string, string])[] = [
  ['url', 'http://127.0.0.1:6632', 'members of the cluster, separated by commas'],
  ['queue', 'bench', 'queue name; a run pushes to a fresh one derived from it'],
  ['producers', '4', 'connections that push'],
  ['consumers', '4', 'connections that pop and ack, for each group'],
  ['groups', '1', 'consumer groups; each receives every message'],
  ['partitions', '1000', 'partitions, used in turn'],
  ['batch', '100', 'messages a push, all of one partition'],
  ['pop-batch', '1000', 'most messages a pop'],
  ['pop-partitions', '10', 'most partitions a pop'],
  ['size', '256', 'bytes a payload'],
  ['rate', '0', 'messages a second in all; 0: as fast as they are answered'],
  ['seconds', '30', 'length of the measurement'],
  ['warmup-seconds', '3', 'load before the measurement'],
  ['dedup', 'off', 'on: messages carry transaction ids'],
  ['ack', 'batch', 'batch: one ack a pop; each: one a message'],
  ['threads', '', 'threads of the generator (default: half the cores)'],
  ['pids', '', 'processes of the cluster on this machine, to report their CPU and memory'],
  ['json', '', 'file for the result'],
  ['html', '', 'file for the report'],
];

/** Reads `argv`; undefined: help was asked for. Throws with a readable message. */
export function readOptions(argv: readonly string[]): LoadOptions | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      help: { type: 'boolean', short: 'h' },
      ...Object.fromEntries(HELP.map(([name]) => [name, { type: 'string' } as const])),
    },
  });
  if (values['help'] === true) return undefined;
  const defaults = new Map(HELP.map(([name, fallback]) => [name, fallback]));
  const text = (name: string): string => {
    const value = (values as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' ? value : (defaults.get(name) ?? '');
  };
  const whole = (name: string, min: number): number => {
    const value = Number(text(name));
    if (Number.isSafeInteger(value) && value >= min) return value;
    throw new Error(`--${name} wants a whole number from ${min}, not ${text(name)}`);
  };
  const choice = <T extends string>(name: string, choices: readonly T[]): T => {
    const chosen = choices.find((it) => it === text(name));
    if (chosen !== undefined) return chosen;
    throw new Error(`--${name} wants ${choices.join(' or ')}, not ${text(name)}`);
  };
  const list = (name: string): string[] =>
    text(name)
      .split(',')
      .filter((it) => it !== '');
  const cores = Math.max(1, Math.floor(availableParallelism() / 2));
  return {
    urls: list('url').map((url) => new URL(url).origin),
    queue: text('queue'),
    producers: whole('producers', 1),
    consumers: whole('consumers', 0),
    groups: whole('groups', 1),
    partitions: whole('partitions', 1),
    batch: whole('batch', 1),
    popBatch: whole('pop-batch', 1),
    popPartitions: whole('pop-partitions', 1),
    size: whole('size', 1),
    rate: whole('rate', 0),
    seconds: whole('seconds', 1),
    warmupSeconds: whole('warmup-seconds', 0),
    dedup: choice('dedup', ['on', 'off']) === 'on',
    ack: choice('ack', ['batch', 'each']),
    threads: text('threads') === '' ? cores : whole('threads', 1),
    pids: list('pids').map(Number),
    jsonFile: text('json') === '' ? undefined : text('json'),
    htmlFile: text('html') === '' ? undefined : text('html'),
  };
}

/** The text of `--help`. */
export function helpText(): string {
  const lines = HELP.map(([name, fallback, what]) => {
    return `  --${name.padEnd(16)}${what}${fallback === '' ? '' : ` (${fallback})`}`;
  });
  return ['npm run bench -- [options]', '', ...lines].join('\n');
}
