// One chaos run: workloads use the cluster while faults hurt it, one after the other with a pause; then it
// heals, the workloads settle, and every history is judged.

import { randomBelow } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';
import { readContents } from '../workloads/contents.ts';
import { DeadLetterWorkload } from '../workloads/dead-letter-workload.ts';
import { LogWorkload } from '../workloads/log-workload.ts';
import { MemberClient } from '../workloads/member-client.ts';
import { RegisterWorkload } from '../workloads/register-workload.ts';
import { TransactionWorkload } from '../workloads/transaction-workload.ts';
import type { NamedVerdict } from '../workloads/workload.ts';
import type { ChaosCluster } from './cluster.ts';
import type { Fault } from './faults.ts';

const PAUSE_MS = 1500;

/** How often a fault was tried and how often it happened. */
export interface FaultCount {
  readonly name: string;
  tried: number;
  happened: number;
}

/** What came of a run. */
export interface ChaosReport {
  readonly faults: readonly FaultCount[];
  readonly verdicts: readonly NamedVerdict[];
}

/** What a run is made of. */
export interface ChaosPlan {
  readonly cluster: ChaosCluster;
  /** Injected in this order, over and over. */
  readonly faults: readonly Fault[];
  readonly durationMs: number;
  readonly rng: Rng;
  /** A stream of random numbers of its own at each call. */
  readonly fork: () => Rng;
  /** Told of each fault. */
  readonly onFault: (name: string, happened: boolean) => void;
}

/** Runs and judges. Every fault is injected at least once, however long that takes. */
export async function runChaos(plan: ChaosPlan): Promise<ChaosReport> {
  const { cluster, fork } = plan;
  const context = { client: () => new MemberClient(cluster.urls, fork()), rng: fork };
  const workloads = [
    new LogWorkload(context),
    new RegisterWorkload(context),
    new TransactionWorkload(context),
    new DeadLetterWorkload(context),
  ];
  for (const workload of workloads) await workload.prepare();
  const ended = new AbortController();
  const runs = workloads.map((workload) => workload.run(ended.signal));
  const faults = await injectFaults(plan).finally(() => ended.abort());
  await Promise.all(runs);
  await cluster.healthy();
  await Promise.all(workloads.map((workload) => workload.settle()));
  const client = context.client();
  const contents = await readContents(
    client,
    workloads.flatMap(({ reads }) => reads),
  );
  client.close();
  const verdicts: NamedVerdict[] = [];
  for (const workload of workloads) verdicts.push(...(await workload.judge(contents)));
  return { faults, verdicts };
}

async function injectFaults(plan: ChaosPlan): Promise<readonly FaultCount[]> {
  const { cluster, faults, durationMs, rng, onFault } = plan;
  const counts = faults.map(({ name }): FaultCount => ({ name, tried: 0, happened: 0 }));
  const endAt = performance.now() + durationMs;
  for (let i = 0; i < faults.length || performance.now() < endAt; i += 1) {
    const position = i % faults.length;
    const fault = faults[position]!;
    const count = counts[position]!;
    await sleep(PAUSE_MS + randomBelow(rng, PAUSE_MS));
    const happened = await fault.inject(cluster, rng);
    count.tried += 1;
    if (happened) count.happened += 1;
    onFault(fault.name, happened);
    await cluster.healthy();
  }
  return counts;
}

/** Red unless every verdict is PASS and every fault happened. */
export function isGreen({ faults, verdicts }: ChaosReport): boolean {
  const isJudged = verdicts.length > 0 && verdicts.every(({ status }) => status === 'PASS');
  return isJudged && faults.every(({ happened }) => happened > 0);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
