// What a checkpoint of a big state costs, run by hand:
//   npx node --conditions=source --expose-gc bench/engine/checkpoint.ts [partitions]
// Prints the stall of the freeze, the time and longest step of encoding, bytes a partition, the time of
// restoring, and the memory that copies of written chunks take while everything is written to.

import process from 'node:process';
import { Engine, ENGINE_LIMITS_DEFAULT, EngineRestorer } from '@queen-ts/engine';
import { popCommand, pushCommand } from '@queen-ts/engine/testing';
import type { Command, Id128 } from '@queen-ts/protocol';
import { BenchPayloads } from './payloads.ts';

const HASH_KEY = Uint32Array.of(1, 2, 3, 4);
const PER_CYCLE = 1000;
const count = Number(process.argv[2] ?? 1_000_000);
const payloads = new BenchPayloads();
const engine = new Engine({ payloads, limits: ENGINE_LIMITS_DEFAULT });
let index = 0;
let nowUs = 1_800_000_000_000_000;
let minted = 0;

cycle(() => engine.planGenesis({ clusterId: [1, 2, 3, 4], hashKey: HASH_KEY }));
for (let from = 0; from < count; from += PER_CYCLE) push(from);
while (pop() > 0) payloads.spill();
const { partitions, cursors, blocks, rememberedIds, tableBytes } = engine.counters();
console.log({ partitions, cursors, blocks, rememberedIds, tableMiB: mib(tableBytes) });

const before = bufferBytes();
const frozen = engine.freeze();
for (let from = 0; from < count; from += PER_CYCLE) push(from);
console.log({ copiedMiB: mib(bufferBytes() - before) });
frozen.release();

for (let round = 0; round < 3; round += 1) {
  const frozenAt = performance.now();
  const frozen = engine.freeze();
  const freezeMs = performance.now() - frozenAt;
  const steps: number[] = [];
  const pieces: Uint8Array[] = [];
  const iterator = frozen.pieces();
  for (;;) {
    const stepAt = performance.now();
    const step = iterator.next();
    steps.push(performance.now() - stepAt);
    if (step.done === true) break;
    pieces.push(step.value);
  }
  frozen.release();
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const restoreAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const restorer = new EngineRestorer({ payloads, limits: ENGINE_LIMITS_DEFAULT });
  const accepts = pieces.map((piece) => {
    const acceptAt = performance.now();
    restorer.accept(piece);
    return performance.now() - acceptAt;
  });
  const restored = restorer.finish();
  const cpu = process.cpuUsage(cpuBefore);
  steps.sort((a, b) => a - b);
  accepts.sort((a, b) => a - b);
  console.log({
    freezeMs: ms(freezeMs),
    encodeMs: ms(steps.reduce((sum, step) => sum + step, 0)),
    stepMs: { p50: ms(steps[steps.length >> 1]!), max: ms(steps.at(-1)!) },
    pieces: pieces.length,
    bytesPerPartition: Math.round(bytes / partitions),
    restoreMs: ms(performance.now() - restoreAt),
    restoreCpuMs: ms((cpu.user + cpu.system) / 1000),
    acceptMs: { p50: ms(accepts[accepts.length >> 1]!), max: ms(accepts.at(-1)!) },
    isEqual: restored.digest() === engine.digest(),
  });
}

/** One message with an id of the client to each of some partitions. */
function push(from: number): void {
  const items = Array.from({ length: PER_CYCLE }, (_, i) => ({
    queue: 'q',
    partition: `customer-${from + i}`,
    id: `order-${index}-${i}`,
  }));
  const idBase: Id128 = [0x01a0_0000, 0x7000, 0x8000_0000, minted + 1];
  minted += PER_CYCLE;
  cycle(() => engine.plan(pushCommand(items, { idBase, hashKey: HASH_KEY })));
}

function pop(): number {
  minted += 1;
  const options = { queue: 'q', group: 'g', batch: PER_CYCLE, partitions: PER_CYCLE };
  const leaseId: Id128 = [0x01a0_0001, 0x7000, 0x8000_0000, minted];
  const command: Command = popCommand({ ...options, autoAck: true }, leaseId);
  let messages = 0;
  cycle(() => {
    const outcome = engine.plan(command);
    if (outcome.kind === 'pop') messages = outcome.messageCount;
  });
  return messages;
}

function cycle(run: () => void): void {
  nowUs += 1000;
  engine.openCycle({ index: index + 1, nowUs, payloadSizeHint: 0 });
  run();
  const parts = engine.closeCycle();
  engine.drainSignals({ appended: () => {}, armed: () => {} });
  if (parts === undefined) return;
  index += 1;
  payloads.add(index, parts.payload);
}

/** Buffers that are neither payloads nor tables: frozen chunks that were replaced by copies. */
function bufferBytes(): number {
  payloads.spill();
  const { gc } = globalThis as { gc?: () => void };
  for (let i = 0; i < 3; i += 1) gc?.();
  return process.memoryUsage().arrayBuffers - engine.counters().tableBytes;
}

function ms(value: number): number {
  return Math.round(value * 100) / 100;
}

function mib(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
