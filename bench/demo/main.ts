// The demo: pushes 20,000 real flight records, one partition per airport, lets two consumer groups
// drain them at the same time, and verifies every message. Exits 1 unless all of it holds.

import { BrokerClient, DemoError } from './broker-client.ts';
import { ConsumerGroup } from './consumer-group.ts';
import { loadFlights } from './flights.ts';
import { Latencies } from './latencies.ts';
import { readOptions } from './options.ts';
import type { DemoOptions } from './options.ts';
import { produce } from './producer.ts';
import { Progress } from './progress.ts';
import { listFaults, renderReport } from './report.ts';
import type { RunResult } from './report.ts';

const GROUP_NAMES = ['departure-board', 'delay-statistics'] as const;
const STALL_CHECK_MS = 250;

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const result = await run(readOptions());
    console.log(renderReport(result));
    const faults = listFaults(result);
    for (const fault of faults) console.error(`FAILED: ${fault}`);
    if (faults.length === 0) console.log('\nevery message verified');
    return faults.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof DemoError)) throw error;
    console.error(error.message);
    return 1;
  }
}

async function run(options: DemoOptions): Promise<RunResult> {
  const client = new BrokerClient(options.url);
  try {
    await client.checkHealth();
    return await runGeneration(client, options);
  } finally {
    client.close();
  }
}

async function runGeneration(client: BrokerClient, options: DemoOptions): Promise<RunResult> {
  const { queue, stallMs } = options;
  const flights = loadFlights();
  const generation = await nextGeneration(client, queue);
  const progress = new Progress(flights.length * (1 + GROUP_NAMES.length), process.stderr);
  const advance = (messages: number): void => {
    progress.add(messages);
  };
  const pushLatencies = new Latencies();
  const groups = GROUP_NAMES.map(
    (name) => new ConsumerGroup({ name, client, queue, generation, flights, onReceived: advance }),
  );
  const stalled = new AbortController();
  const watch = watchForStall({ progress, stallMs, stalled });
  try {
    const drained = Promise.all(groups.map((group) => group.drain(stalled.signal)));
    const produced = produce({
      client,
      queue,
      generation,
      flights,
      latencies: pushLatencies,
      onPushed: advance,
    });
    const [pushed] = await Promise.all([produced, drained]);
    return {
      queue,
      generation,
      messages: flights.length,
      pushed,
      pushLatencies,
      groups: groups.map((group) => ({ group, faults: group.ledger.close(pushed.offsets) })),
    };
  } finally {
    clearInterval(watch);
    stalled.abort();
    progress.finish();
  }
}

/**
 * Every run appends one marker to a queue of its own: the offset that the broker answers numbers
 * the generations, without gaps and without two runs ever getting the same.
 */
async function nextGeneration(client: BrokerClient, queue: string): Promise<number> {
  const marker = {
    queue: `${queue}-generations`,
    payload: { startedAt: new Date().toISOString() },
  };
  const [verdict] = await client.push([JSON.stringify(marker)]);
  if (verdict?.status !== 'queued' || verdict.offset === undefined) {
    throw new DemoError('the broker did not take the marker of this generation');
  }
  return verdict.offset + 1;
}

/** Aborts `stalled` once `progress` stands still; what never came then shows as gaps. */
function watchForStall(watch: {
  readonly progress: Progress;
  readonly stallMs: number;
  readonly stalled: AbortController;
}): NodeJS.Timeout {
  let lastDone = 0;
  let movedAtMs = performance.now();
  return setInterval(() => {
    const nowMs = performance.now();
    if (watch.progress.done !== lastDone) {
      lastDone = watch.progress.done;
      movedAtMs = nowMs;
    } else if (nowMs - movedAtMs > watch.stallMs) {
      watch.stalled.abort();
    }
  }, STALL_CHECK_MS);
}
