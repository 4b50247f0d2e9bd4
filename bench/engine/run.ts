// Throughput of the state engine alone (no network, no disk), run by hand:
//   npx node --conditions=source --expose-gc bench/engine/run.ts [--throughput | --memory]
// Prints messages a second of CPU time for pushes, claims with acks, and replicas that apply the same
// entries, at 1,000 and at 1 M partitions, and the bytes of heap and buffers a partition takes.

import process from 'node:process';
import { Engine, ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import { ackCommand, MemoryPayloads, popCommand, pushCommand } from '@queen-ts/engine/testing';
import type { PushItem } from '@queen-ts/engine/testing';
import { formatUuid, idPlus } from '@queen-ts/base';
import { BlockReader } from '@queen-ts/protocol';
import type { AckCommand, Claim, Command, Id128, Outcome, PopOutcome } from '@queen-ts/protocol';

const HASH_KEY = Uint32Array.of(1, 2, 3, 4);
const PAYLOAD = 'x'.repeat(254);
const COMMANDS_PER_CYCLE = 32;
const START_US = 1_800_000_000_000_000;

/** One engine as leader, and the entries it made. */
class Leader {
  readonly payloads = new MemoryPayloads();
  readonly engine = new Engine({ payloads: this.payloads, limits: ENGINE_LIMITS_DEFAULT });
  readonly entries: { index: number; head: Uint8Array; payload: Uint8Array }[] = [];
  keepsEntries = true;
  #index = 0;
  #nowUs = START_US;
  #minted = 0;

  constructor() {
    this.cycle(() => this.engine.planGenesis({ clusterId: [1, 2, 3, 4], hashKey: HASH_KEY }));
  }

  mint(count: number): Id128 {
    this.#minted += count;
    return [0x01a0_0000, 0x7000, 0x8000_0000, this.#minted - count + 1];
  }

  cycle(run: () => void, payloadSizeHint = 0): void {
    const index = this.#index + 1;
    this.#nowUs += 1000;
    this.engine.openCycle({ index, nowUs: this.#nowUs, payloadSizeHint });
    run();
    const parts = this.engine.closeCycle();
    this.engine.drainSignals({ appended: () => {}, armed: () => {} });
    if (parts === undefined) return;
    this.#index = index;
    this.payloads.add(index, parts.payload);
    if (this.keepsEntries) this.entries.push({ index, ...parts });
  }

  run(commands: readonly Command[]): Outcome[] {
    const outcomes: Outcome[] = [];
    for (let i = 0; i < commands.length; i += COMMANDS_PER_CYCLE) {
      const some = commands.slice(i, i + COMMANDS_PER_CYCLE);
      this.cycle(
        () => {
          for (const command of some) outcomes.push(this.engine.plan(command));
        },
        some.reduce((sum, command) => sum + sizeOf(command), 0),
      );
    }
    return outcomes;
  }
}

/** About what the command adds to the payload, as the broker estimates it from the request. */
function sizeOf(command: Command): number {
  return command.kind === 'push' ? command.body.length + command.itemCount * 80 : 0;
}

function measure(label: string, messages: number, run: () => void): void {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  print(label, messages, user + system);
}

function print(label: string, messages: number, cpuUs: number): void {
  const rate = Math.round((messages / cpuUs) * 1000);
  console.log(`${label.padEnd(58)} ${rate.toString().padStart(6)} k msg/s`);
}

/** Pushes of `perCommand` messages to `perPush` partitions out of `partitions`. */
function pushes(
  leader: Leader,
  shape: { count: number; perPush: number; each: number; partitions: number; hasIds: boolean },
): Command[] {
  let partition = 0;
  let id = 0;
  return Array.from({ length: shape.count }, () => {
    const items: PushItem[] = [];
    for (let p = 0; p < shape.perPush; p += 1) {
      partition = (partition + 1) % shape.partitions;
      for (let i = 0; i < shape.each; i += 1) {
        const item = { queue: 'q', partition: `customer-${partition}`, data: PAYLOAD };
        items.push(shape.hasIds ? { ...item, id: `order-${(id += 1)}` } : item);
      }
    }
    return pushCommand(items, { idBase: leader.mint(items.length), hashKey: HASH_KEY });
  });
}

/** The ack of a claim, naming every message. */
function ackOf(leader: Leader, popped: PopOutcome, claim: Claim): AckCommand {
  const ids: string[] = [];
  for (const span of claim.spans) {
    const block = new BlockReader(leader.payloads, span);
    for (let i = 0; i < span.count; i += 1) {
      ids.push(formatUuid(idPlus(block.messageId(0), span.first + i)));
    }
  }
  const partition = claim.partitionNumber;
  const items = ids.map((id) => ({ partition, id, lease: popped.leaseId }));
  return ackCommand(items, { group: 'g', hashKey: HASH_KEY });
}

/** Claims and acks by turns: a partition can be claimed again only after its ack. */
function claimAndAck(leader: Leader, batch: number, messages: number): void {
  let claimed = 0;
  const cpu = { claim: 0, ack: 0 };
  const timed = <T>(kind: 'claim' | 'ack', run: () => T): T => {
    const before = process.cpuUsage();
    const result = run();
    const { user, system } = process.cpuUsage(before);
    cpu[kind] += user + system;
    return result;
  };
  while (claimed < messages) {
    const pops = Array.from({ length: 500 }, () =>
      popCommand({ queue: 'q', group: 'g', batch }, leader.mint(1)),
    );
    const outcomes = timed('claim', () => leader.run(pops));
    const acks = outcomes.flatMap((outcome) => {
      if (outcome.kind !== 'pop') return [];
      claimed += outcome.messageCount;
      return outcome.claims.map((claim) => ackOf(leader, outcome, claim));
    });
    const answers = timed('ack', () => leader.run(acks));
    if (answers.some((a) => a.kind !== 'ack' || a.errors.some((error) => error !== 0))) {
      throw new Error('acks failed');
    }
  }
  print(`claim, batch ${batch}`, claimed, cpu.claim);
  print(`ack, batch ${batch}`, claimed, cpu.ack);
  print(`claim + ack, batch ${batch}`, claimed, cpu.claim + cpu.ack);
}

function replay(leader: Leader, label: string, messages: number): void {
  const replica = new Engine({ payloads: leader.payloads, limits: ENGINE_LIMITS_DEFAULT });
  measure(label, messages, () => {
    for (const entry of leader.entries) replica.apply(entry);
  });
  if (replica.digest() !== leader.engine.digest()) throw new Error('digests differ');
}

function throughput(): void {
  for (const hasIds of [false, true]) {
    const what = hasIds ? 'client ids' : 'minted ids';
    const wide = new Leader();
    const many = pushes(wide, { count: 2000, perPush: 100, each: 1, partitions: 1000, hasIds });
    measure(`push, 100 partitions x 1, ${what}`, 200_000, () => wide.run(many));
    replay(wide, `  replica, the same`, 200_000);
    const single = new Leader();
    const ones = pushes(single, { count: 50_000, perPush: 1, each: 1, partitions: 1000, hasIds });
    measure(`push, 1 x 1, ${what}`, 50_000, () => single.run(ones));
    const deep = new Leader();
    const few = pushes(deep, { count: 4000, perPush: 1, each: 100, partitions: 1000, hasIds });
    measure(`push, 1 partition x 100, ${what}`, 400_000, () => deep.run(few));
    replay(deep, `  replica, the same`, 400_000);
    if (hasIds) continue;
    claimAndAck(deep, 100, 200_000);
    claimAndAck(deep, 10, 150_000);
    claimAndAck(deep, 1, 30_000);
  }
}

function memoryBytes(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function partitions(count: number): void {
  const leader = new Leader();
  leader.keepsEntries = false;
  const before = memoryBytes();
  const perPush = 100;
  for (let from = 0; from < count; from += perPush) {
    leader.cycle(() => {
      const items = Array.from({ length: perPush }, (_, i) => ({
        queue: 'q',
        partition: `customer-${from + i}`,
      }));
      const idBase = leader.mint(perPush);
      leader.engine.plan(pushCommand(items, { idBase, hashKey: HASH_KEY }));
      const pop = popCommand(
        { queue: 'q', group: 'g', batch: perPush, partitions: 0, autoAck: true },
        [0, 0, 0, 0],
      );
      leader.engine.plan(pop);
    });
    // The payloads are not the engine's memory.
    leader.payloads.clear();
  }
  const bytes = memoryBytes() - before;
  console.log(
    `${count} partitions with a cursor and one block each`.padEnd(58),
    `${Math.max(0, Math.round(bytes / count))} B each`,
  );
  const many = pushes(leader, {
    count: 100_000,
    perPush: 1,
    each: 1,
    partitions: count,
    hasIds: false,
  });
  measure(`push, 1 x 1, minted ids, at ${count} partitions`, 50_000, () => leader.run(many));
}

const { argv } = process;
if (!argv.includes('--memory')) throughput();
if (!argv.includes('--throughput')) {
  partitions(1000);
  partitions(1_000_000);
}
