// What reads of a big state cost, run by hand:
//   npx node --conditions=source bench/engine/reads.ts [partitions] [groups]
// Prints for every read its slices, the longest of them and their sum. All partitions are in one queue,
// in a random order of creation, and every group has a cursor in each.

import process from 'node:process';
import {
  Engine,
  ENGINE_LIMITS_DEFAULT,
  readBusiestPartitions,
  readChangedPartitions,
  readGroups,
  readLagging,
  readMessages,
  readOverview,
  readQueueDepth,
  readQueueDetail,
  readQueueLanes,
  readQueues,
} from '@queen-ts/engine';
import type { EngineView, Read } from '@queen-ts/engine';
import { MemoryPayloads, popCommand, pushCommand } from '@queen-ts/engine/testing';
import type { Id128 } from '@queen-ts/protocol';

const HASH_KEY = Uint32Array.of(1, 2, 3, 4);
const PER_CYCLE = 1000;
const count = Number(process.argv[2] ?? 1_000_000);
const groups = Number(process.argv[3] ?? 1);
const payloads = new MemoryPayloads();
const engine = new Engine({ payloads, limits: ENGINE_LIMITS_DEFAULT });
let index = 0;
let nowUs = 1_800_000_000_000_000;
let minted = 0;

cycle(() => engine.planGenesis({ clusterId: [1, 2, 3, 4], hashKey: HASH_KEY }));
for (let from = 0; from < count; from += PER_CYCLE) push(from);
for (let group = 0; group < groups; group += 1) popAll(`g${group}`);
for (let from = 0; from < count; from += PER_CYCLE * 10) push(from);
const { partitions, cursors } = engine.counters();
console.log({ partitions, cursors });

const page = { limit: 10_000, offset: 0 };
const everything = { queue: '', partition: '', namespace: '', task: '', fromUs: 0 };
measure('queues', (view) => readQueues(view, {}));
measure('lanes', (view) => readQueueLanes(view, {}));
measure('detail', (view) => readQueueDetail(view, 'q', page));
measure('depth', (view) => readQueueDepth(view, 'q', { ...page, group: undefined }));
measure('overview', readOverview);
measure('busiest', (view) => readBusiestPartitions(view, { queue: '', limit: 610 }));
measure('groups', readGroups);
measure('lagging', (view) => readLagging(view, { minSeconds: 0, limit: 10_000 }));
measure('changed', (view) =>
  readChangedPartitions(view, { queue: 'q', sinceUs: 0, after: count >> 1, limit: 1000 }),
);
measure('messages', (view) =>
  readMessages(view, {
    ...everything,
    limit: 1000,
    offset: 0,
    status: undefined,
    toUsExclusive: Infinity,
  }),
);
measure('pending messages', (view) =>
  readMessages(view, {
    ...everything,
    limit: 1000,
    offset: 0,
    status: 'pending',
    toUsExclusive: Infinity,
  }),
);

function measure(name: string, read: (view: EngineView) => Read<unknown>): void {
  for (let round = 0; round < 3; round += 1) {
    const slices: number[] = [];
    const running = read(engine.view(nowUs));
    for (let isDone = false; !isDone;) {
      const startedAt = performance.now();
      isDone = running.next().done === true;
      slices.push(performance.now() - startedAt);
    }
    slices.sort((a, b) => a - b);
    if (round < 2) continue;
    const total = slices.reduce((sum, slice) => sum + slice, 0);
    const p50 = slices[slices.length >> 1] ?? 0;
    const shown = [slices.length, ms(p50), ms(slices.at(-2) ?? 0), ms(slices.at(-1) ?? 0)];
    console.log(name.padEnd(17), 'slices, p50, second, max ms:', ...shown, 'sum ms:', ms(total));
  }
}

function push(from: number): void {
  const items = Array.from({ length: PER_CYCLE }, (_, i) => ({
    queue: 'q',
    // A multiplication by an odd number visits all residues, far from each other.
    partition: `customer-${((from + i) * 2_654_435_761) % count}`,
  }));
  const idBase: Id128 = [0x01a0_0000, 0x7000, 0x8000_0000, minted + 1];
  minted += PER_CYCLE;
  cycle(() => engine.plan(pushCommand(items, { idBase, hashKey: HASH_KEY })));
}

function popAll(group: string): void {
  for (;;) {
    minted += 1;
    const fields = { queue: 'q', group, batch: PER_CYCLE, partitions: PER_CYCLE, autoAck: true };
    const command = popCommand(fields, [0x01a0_0001, 0x7000, 0x8000_0000, minted]);
    const outcome = cycle(() => engine.plan(command));
    if (outcome.kind !== 'pop' || outcome.messageCount === 0) return;
  }
}

function cycle<T>(run: () => T): T {
  index += 1;
  nowUs += 1000;
  engine.openCycle({ index, nowUs, payloadSizeHint: 65_536 });
  const result = run();
  const entry = engine.closeCycle();
  if (entry === undefined) index -= 1;
  else payloads.add(index, entry.payload);
  return result;
}

function ms(value: number): number {
  return Math.round(value * 1000) / 1000;
}
