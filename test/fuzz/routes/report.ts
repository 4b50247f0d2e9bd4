// The outcome of a run as text, and the verdict.

import type { FuzzCase } from './cases.ts';
import type { FuzzResult } from './run.ts';

/** How much the broker's memory may grow from the end of the warm-up to the end of the run. */
const RSS_GROWTH_BYTES_MAX = 192 * 1024 * 1024;

const MIB = 1024 * 1024;

/** Log levels from here on are errors (pino). */
const LEVEL_ERROR = 50;

/** What makes a run red; empty when it is green. `log` is what the broker printed, in JSON lines. */
export function verdictOf(result: FuzzResult, log: string): string[] {
  const { findingCount, rssEndBytes, rssWarmBytes, unseen } = result;
  const growth = rssEndBytes - rssWarmBytes;
  return [
    ...(findingCount === 0 ? [] : [`${findingCount} findings`]),
    ...(growth <= RSS_GROWTH_BYTES_MAX
      ? []
      : [`memory grew by ${mib(growth)} MiB, more than ${mib(RSS_GROWTH_BYTES_MAX)}`]),
    ...(unseen.length === 0 ? [] : [`operations that were never answered: ${unseen.join(', ')}`]),
    ...errorLines(log).map((line) => `the broker has logged an error: ${line}`),
  ];
}

/** The outcome, with a line to repeat each finding. */
export function reportOf(result: FuzzResult, seed: number): string {
  const { requestCount, answerCount, statuses, ends, rssEndBytes, rssWarmBytes } = result;
  const seconds = result.durationMs / 1000;
  const findings = result.findings.flatMap(({ fuzzCase, problem }) => [
    '',
    `case ${fuzzCase.position}: ${problem}`,
    `  npm run fuzz:routes -- --seed ${seed} --only ${fuzzCase.position}`,
    ...fuzzCase.requests.map(({ method, target }) => `  ${method} ${target.slice(0, 300)}`),
    ...curlOf(fuzzCase),
  ]);
  return [
    `seed ${seed}: ${requestCount} requests, ${answerCount} answers in ${seconds.toFixed(1)} s`,
    `answers by status: ${counts([...statuses].toSorted(([a], [b]) => a - b))}`,
    `ends of cases: ${counts([...ends].toSorted(([a], [b]) => (a < b ? -1 : 1)))}`,
    `memory: ${mib(rssWarmBytes)} MiB after the warm-up, ${mib(rssEndBytes)} MiB at the end`,
    ...findings,
  ].join('\n');
}

/** A request that curl can send as it is. */
function curlOf({ requests, wire, expects }: FuzzCase): string[] {
  const end = wire.indexOf('\r\n\r\n');
  const [request] = requests;
  const isPlain = /^[\t\r\n\x20-\x7e]*$/.test(wire) && wire.length < 2000;
  if (requests.length !== 1 || request === undefined || expects !== 'answers' || !isPlain)
    return [];
  const headers = wire
    .slice(0, end)
    .split('\r\n')
    .slice(2)
    .filter((line) => !/^(content-length|transfer-encoding):/i.test(line))
    .map((line) => `-H ${quoted(line)}`);
  const isChunked = wire.slice(0, end).includes('Transfer-Encoding: chunked');
  const body = wire.slice(end + 4);
  const data = body === '' || isChunked ? [] : [`--data-binary ${quoted(body)}`];
  const target = quoted(`http://127.0.0.1:6632${request.target}`);
  return [`  curl -sgi --path-as-is -X ${[request.method, ...headers, ...data, target].join(' ')}`];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function errorLines(log: string): string[] {
  return log.split('\n').filter((line) => Number(/"level":(\d+)/.exec(line)?.[1]) >= LEVEL_ERROR);
}

function counts(entries: readonly (readonly [string | number, number])[]): string {
  return entries.map(([name, count]) => `${name} ${count}`).join(' · ');
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB);
}
