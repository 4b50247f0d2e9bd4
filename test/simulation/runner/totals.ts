// Sums over many runs, and how they are shown.

import type { RunResult } from '../run-seed.ts';
import type { WorkerReport } from './worker.ts';

const COUNT = new Intl.NumberFormat('en-US');

/** Events of a run as the speed counts them: messages, timers, disk completions, client steps. */
function eventCountOf({ events }: RunResult): number {
  return events.message + events.timer + events.disk + events.client;
}

/** What many runs add up to. */
export class Totals {
  seeds = 0;
  #events = 0;
  #cpuUs = 0;
  #acknowledged = 0;
  #committed = 0;
  readonly #faults = new Map<string, number>();
  readonly #checks = new Map<string, number>();

  add({ result, cpuUs }: WorkerReport): void {
    this.seeds += 1;
    this.#events += eventCountOf(result);
    this.#cpuUs += cpuUs;
    this.#acknowledged += result.acknowledgedCount;
    this.#committed += result.committedCount;
    addAll(this.#faults, result.faults);
    addAll(this.#checks, result.checks);
  }

  /** The summary, without a line break at its end. */
  text(run: {
    readonly base: number;
    readonly elapsedMs: number;
    readonly workers: number;
  }): string {
    const perSecond = (this.#events / run.elapsedMs) * 1000;
    const perCpuSecond = (this.#events / this.#cpuUs) * 1_000_000;
    const perWorker = COUNT.format(Math.round(perSecond / run.workers));
    return [
      `seeds       ${COUNT.format(this.seeds)} from ${run.base} on, in ${(run.elapsedMs / 1000).toFixed(1)} s`,
      `events      ${COUNT.format(this.#events)}; ${perWorker}/s per worker, ${COUNT.format(Math.round(perCpuSecond))} per second of its CPU time`,
      `work        ${COUNT.format(this.#acknowledged)} messages acknowledged, ${COUNT.format(this.#committed)} entries committed`,
      `faults      ${list(this.#faults)}`,
      `invariants  ${list(this.#checks)}`,
    ].join('\n');
  }
}

function addAll(sums: Map<string, number>, counts: ReadonlyMap<string, number>): void {
  for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count);
}

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${COUNT.format(count)}`)
    .join('\n            ');
}
