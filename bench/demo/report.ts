// The table at the end: one column for the producer, one for each consumer group.

import type { ConsumerGroup } from './consumer-group.ts';
import type { Faults } from './ledger.ts';
import type { Latencies } from './latencies.ts';
import type { PushResult } from './producer.ts';

const NO_VALUE = '–';

/** What a finished run has to show. */
export interface RunResult {
  readonly queue: string;
  readonly generation: number;
  readonly messages: number;
  readonly pushed: PushResult;
  readonly pushLatencies: Latencies;
  readonly groups: readonly { readonly group: ConsumerGroup; readonly faults: Faults }[];
}

/** Renders the result for people. */
export function renderReport(result: RunResult): string {
  const { pushed, groups } = result;
  const received = (group: ConsumerGroup): number => group.ledger.received;
  const rows: string[][] = [
    ['', 'pushed', ...groups.map(({ group }) => group.name)],
    [
      'messages',
      count(result.messages - pushed.errors - pushed.duplicates),
      ...groups.map(({ group }) => count(received(group))),
    ],
    [
      'partitions',
      count(pushed.partitions),
      ...groups.map(({ group }) => count(group.ledger.partitions)),
    ],
    ['order violations', NO_VALUE, ...groups.map(({ faults }) => count(faults.orderViolations))],
    [
      'duplicates',
      count(pushed.duplicates),
      ...groups.map(({ faults }) => count(faults.duplicates)),
    ],
    ['gaps', count(pushed.gaps), ...groups.map(({ faults }) => count(faults.gaps))],
    ['altered', NO_VALUE, ...groups.map(({ faults }) => count(faults.altered))],
    ['refused', count(pushed.errors), ...groups.map(() => NO_VALUE)],
    [
      'messages/s',
      rate(result.messages, pushed.elapsedMs),
      ...groups.map(({ group }) => rate(received(group), group.elapsedMs)),
    ],
    [
      'requests',
      count(pushed.requests),
      ...groups.map(({ group }) => count(group.popLatencies.count)),
    ],
    ['push / pop p50 ms', ...percentiles(result, 50)],
    ['push / pop p99 ms', ...percentiles(result, 99)],
  ];
  const leftovers = groups.map(({ group }) => group.ledger.leftovers);
  if (leftovers.some((left) => left > 0)) {
    rows.push(['left by an earlier run', NO_VALUE, ...leftovers.map(count)]);
  }
  return `queue ${result.queue}, generation ${result.generation}\n\n${renderTable(rows)}`;
}

/** Lists what did not verify, one sentence each; empty when everything did. */
export function listFaults(result: RunResult): readonly string[] {
  const { pushed, messages } = result;
  const faults: string[] = [];
  const note = (found: number, text: string): void => {
    if (found > 0) faults.push(`${count(found)} ${text}`);
  };
  note(pushed.errors, 'messages were refused');
  note(pushed.duplicates, 'messages were already there: another run uses this generation');
  note(pushed.gaps, 'messages got an offset that does not follow the one before');
  for (const { group, faults: found } of result.groups) {
    note(found.orderViolations, `messages reached ${group.name} out of order`);
    note(found.duplicates, `messages reached ${group.name} again`);
    note(found.gaps, `of ${count(messages)} messages never reached ${group.name}`);
    note(found.altered, `messages reached ${group.name} altered`);
  }
  return faults;
}

function percentiles(result: RunResult, percent: number): string[] {
  const all = [result.pushLatencies, ...result.groups.map(({ group }) => group.popLatencies)];
  return all.map((latencies) => latencies.percentile(percent)?.toFixed(1) ?? NO_VALUE);
}

function count(value: number): string {
  return value.toLocaleString('en');
}

function rate(messages: number, elapsedMs: number): string {
  return elapsedMs > 0 ? count(Math.round((messages / elapsedMs) * 1000)) : NO_VALUE;
}

function renderTable(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return column === 0 ? cell.padEnd(width) : cell.padStart(width);
        })
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
