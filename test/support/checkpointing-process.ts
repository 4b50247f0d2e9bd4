// A broker without an edge, on the real stores, that takes one checkpoint after the other: it pushes,
// pops and acks for ever and writes a line for each push that was acknowledged, with the partition
// and the offset after its last message. Run by tests, which kill it, with the directory as argument.

import { SeededRng, UuidMinter } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';
import { BROKER_LIMITS_DEFAULT, startBroker } from '@queen-ts/cluster';
import type { Scheduler } from '@queen-ts/cluster';
import { ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import { popCommand, pushCommand } from '@queen-ts/engine/testing';
import { toNodeId } from '@queen-ts/raft';
import { openDataDirectory } from '@queen-ts/storage';

const PARTITIONS = 40;

const clock: Clock = {
  wallUs: () => Date.now() * 1000,
  monotonicUs: () => Math.floor(performance.now() * 1000),
};
const scheduler: Scheduler = {
  after(delayUs, task) {
    const timer = setTimeout(task, delayUs / 1000);
    return () => clearTimeout(timer);
  },
  defer(task) {
    setImmediate(task);
  },
};
const rng = new SeededRng(Number(process.argv[3]));
const fail = (error: Error): void => {
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.exit(1);
};
const directory = await openDataDirectory({
  path: process.argv[2] ?? '',
  nodeId: toNodeId(1),
  rng,
  schedule: (run, delayMs) => scheduler.after(delayMs * 1000, run),
  onFailure: fail,
});
const broker = await startBroker({
  nodeId: toNodeId(1),
  incarnation: directory.identity.incarnation,
  hardState: directory.hardState,
  checkpoints: directory.checkpoints,
  openLog: (onEntry, from) => directory.openLog({ onEntry, from, writeBufferBytes: 262_144 }),
  clock,
  rng,
  scheduler,
  engineLimits: ENGINE_LIMITS_DEFAULT,
  limits: { ...BROKER_LIMITS_DEFAULT, checkpointLogBytesMin: 10_000 },
  electionMs: 1000,
  heartbeatMs: 100,
  genesis: { clusterId: [1, 2, 3, 4], hashKey: Uint32Array.of(5, 6, 7, 8) },
  onFailure: fail,
});
const ids = new UuidMinter(clock, rng);
const { signal } = new AbortController();
process.stdout.write(`started ${directory.checkpoints.newest?.index ?? 0}\n`);
for (let round = 0; ; round += 1) {
  const partition = round % PARTITIONS;
  const items = Array.from({ length: 15 }, () => ({
    queue: 'orders',
    partition: `c-${partition}`,
    id: `m-${rng.u32()}`,
    data: 'x'.repeat(200),
  }));
  const options = { deadlineUs: clock.monotonicUs() + 30_000_000 };
  const push = pushCommand(items, { idBase: ids.mint(items.length), hashKey: broker.hashKey });
  const pop = popCommand({ queue: 'orders', batch: 30, autoAck: round % 3 > 0 }, ids.mint(1));
  const [pushed] = await Promise.all([
    broker.submit(push, options),
    broker.pop(pop, { ...options, wait: false, signal }),
  ]);
  if (pushed.kind !== 'push') throw new Error(`a push was answered by ${pushed.kind}`);
  process.stdout.write(`pushed ${partition} ${Math.max(...pushed.offsets) + 1}\n`);
}
