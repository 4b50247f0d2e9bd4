// The result of a run for the terminal.

import { OPERATIONS } from './recorder.ts';
import type { LoadResult, Second } from './result.ts';

const COLUMN = 11;
const GENERATOR_BOUND = 0.9;

/** One line a second while the load runs. */
export function liveLine({
  at,
  isMeasured,
  pushed,
  popped,
  acked,
  errors,
  latencies,
}: Second): string {
  const figures = `push ${whole(pushed)}/s  pop ${whole(popped)}/s  ack ${whole(acked)}/s`;
  const times = `push p99 ${ms(latencies.push.p99)} ms  end to end p99 ${ms(latencies.endToEnd.p99)} ms`;
  const warnings = errors === 0 ? '' : `  ${errors} errors`;
  return `${at.toFixed(0).padStart(5)} s${isMeasured ? ' ' : '*'} ${figures}  ${times}${warnings}`;
}

/** The tables at the end. */
export function formatResult(result: LoadResult): string {
  const { seconds, latencies, errors, generator, cluster, verification } = result;
  const lines = [
    '',
    `${seconds.toFixed(1)} s: pushed ${whole(result.pushedPerSecond)} msg/s ` +
      `(${result.pushedMegabytesPerSecond.toFixed(1)} MB/s), popped ${whole(result.poppedPerSecond)} msg/s, ` +
      `acked ${whole(result.ackedPerSecond)} msg/s`,
    '',
    row('ms', 'count', 'p50', 'p90', 'p99', 'p99.9', 'max'),
  ];
  for (const operation of OPERATIONS) {
    const { count, p50, p90, p99, p999, max } = latencies[operation];
    if (count > 0) lines.push(row(operation, whole(count), ...[p50, p90, p99, p999, max].map(ms)));
  }
  const busy = `${(generator.busiestThread * 100).toFixed(0)} %`;
  lines.push('', `generator: ${generator.cores.toFixed(2)} cores, busiest thread ${busy}`);
  if (generator.busiestThread > GENERATOR_BOUND) {
    lines.push('the generator is the bound: the cluster can do more than this');
  }
  if (cluster !== undefined) {
    const { cpuSeconds, cpuSecondsPerMillion, rssBytes } = cluster;
    lines.push(
      `cluster: ${cpuSeconds.toFixed(1)} CPU s, ${cpuSecondsPerMillion.toFixed(1)} CPU s a million messages, ` +
        `${whole(rssBytes / 1e6)} MB resident`,
    );
  }
  for (const [what, count] of Object.entries(errors)) lines.push(`errors: ${what}: ${count}`);
  const { expected, lost, duplicates, outOfOrder, gaps, inDoubt } = verification;
  lines.push(
    '',
    `verified ${whole(expected)} deliveries: lost ${lost}, duplicates ${duplicates}, ` +
      `out of order ${outOfOrder}, gaps ${gaps}${inDoubt === 0 ? '' : `, partitions not judged ${inDoubt}`}`,
  );
  return lines.join('\n');
}

function row(name: string, ...cells: readonly string[]): string {
  return name.padEnd(COLUMN) + cells.map((cell) => cell.padStart(COLUMN)).join('');
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function ms(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1);
}
