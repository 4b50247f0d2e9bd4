// Whether every group received every message once, in order.

import { RUN_FIELDS } from './consumer.ts';
import type { ReceivedRuns } from './consumer.ts';
import type { PushedPartition } from './producer.ts';

/** All but `expected` and `inDoubt` should be 0. */
export interface Verification {
  /** Messages that were acknowledged, times groups. */
  readonly expected: number;
  /** Messages that never came. */
  readonly lost: number;
  /** Messages that came again. */
  readonly duplicates: number;
  /** Runs that began before the end of what their group had received of the partition. */
  readonly outOfOrder: number;
  /** Runs that began after the end of what their group had received of the partition. */
  readonly gaps: number;
  /** Partitions not judged: a push without an answer was repeated without ids. */
  readonly inDoubt: number;
}

interface Run {
  readonly first: number;
  readonly end: number;
  readonly atUs: number;
}

/** Compares what was pushed with what was received. */
export function verify(
  pushed: readonly PushedPartition[],
  received: readonly ReceivedRuns[],
  groups: number,
): Verification {
  const totals = { expected: 0, lost: 0, duplicates: 0, outOfOrder: 0, gaps: 0, inDoubt: 0 };
  for (let group = 0; group < groups; group += 1) {
    const runs = runsByPartition(received.filter((it) => it.group === group));
    for (const { partition, count, isRepeated } of pushed) {
      if (isRepeated) {
        totals.inDoubt += 1;
        continue;
      }
      totals.expected += count;
      judge(runs.get(partition) ?? [], count, totals);
    }
  }
  return totals;
}

/** Whether there is anything to complain of. */
export function isSound({ lost, duplicates, outOfOrder, gaps }: Verification): boolean {
  return lost + duplicates + outOfOrder + gaps === 0;
}

function runsByPartition(received: readonly ReceivedRuns[]): Map<number, Run[]> {
  const byPartition = new Map<number, Run[]>();
  for (const { fields } of received) {
    for (let at = 0; at < fields.length; at += RUN_FIELDS) {
      const [partition, first, count, atUs] = fields.subarray(at, at + RUN_FIELDS);
      const run = { first: first!, end: first! + count!, atUs: atUs! };
      const known = byPartition.get(partition!);
      if (known === undefined) byPartition.set(partition!, [run]);
      else known.push(run);
    }
  }
  // A pop may hold several runs of one partition, of the same moment.
  for (const runs of byPartition.values())
    runs.sort((a, b) => a.atUs - b.atUs || a.first - b.first);
  return byPartition;
}

function judge(
  runs: readonly Run[],
  count: number,
  totals: { lost: number; duplicates: number; outOfOrder: number; gaps: number },
): void {
  let end = 0;
  for (const run of runs) {
    if (run.first > end) totals.gaps += 1;
    if (run.first < end) {
      totals.outOfOrder += 1;
      totals.duplicates += Math.min(end, run.end) - run.first;
    }
    end = Math.max(end, run.end);
  }
  const covered = coverage(runs);
  totals.lost += Math.max(0, count - covered);
}

/** How many different messages the runs hold. */
function coverage(runs: readonly Run[]): number {
  let covered = 0;
  let end = 0;
  for (const run of runs.toSorted((a, b) => a.first - b.first)) {
    const from = Math.max(end, run.first);
    if (run.end > from) covered += run.end - from;
    end = Math.max(end, run.end);
  }
  return covered;
}
