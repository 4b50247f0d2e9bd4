// A frozen state, restored, is the state: at any cut of a random history, whatever goes on while the
// pieces are encoded, and wherever the replay of the following entries begins.

import { ByteReader, SeededRng, randomBelow } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { Engine } from '../engine.ts';
import { EngineDriver, dump, pushCommand } from '../testing.ts';
import type { PoppedMessage, PushItem } from '../testing.ts';
import type { FrozenState } from './frozen-state.ts';
import { PIECE_BYTES, ROW_COUNT_NAMES } from './format.ts';
import { EngineRestorer } from './restorer.ts';

const QUEUES = ['orders', 'mails.eu.fast', 'logs', 'ünï'];
const GROUPS = ['__QUEUE_MODE__', 'billing', 'audit', 'new-ones'];

/** Random calls on a driver: everything that leaves rows of some kind behind. */
class Workload {
  readonly driver = new EngineDriver({ ackMessagesScannedMax: 500 });
  readonly #rng: SeededRng;
  readonly #held: { readonly group: string; readonly messages: readonly PoppedMessage[] }[] = [];
  /** Items with an id of the client, as they were pushed. */
  readonly named: PushItem[] = [];
  #ids = 0;

  constructor(seed: number) {
    this.#rng = new SeededRng(seed);
    this.driver.checksRows = false;
  }

  run(steps: number): void {
    for (let i = 0; i < steps; i += 1) this.#step();
  }

  #step(): void {
    const { driver } = this;
    const queue = this.#pick(QUEUES);
    const dice = this.#below(100);
    if (dice < 45) this.#push(Array.from({ length: 1 + this.#below(6) }, () => this.#item(queue)));
    else if (dice < 65) this.#pop(queue);
    else if (dice < 82) this.#ack();
    else if (dice < 86) driver.wait(this.#below(400));
    else if (dice < 89) this.#configure(queue);
    else if (dice < 91) driver.deleteQueue(queue);
    else if (dice < 94) driver.cycle(() => driver.engine.planHousekeeping(1 + this.#below(6)));
    else if (dice < 96) driver.cycle(() => driver.engine.planRetention(50));
    else if (dice < 97) driver.cycle(() => driver.engine.planCleanup({ budget: 9, idleUs: 9e8 }));
    else if (dice < 98) this.#seek(queue);
    else if (dice < 99) this.#replayOrPurge(queue);
    // A cycle without effect: time goes on, no entry is made.
    else driver.cycle(() => undefined);
  }

  #item(queue: string): PushItem {
    const length = this.#below(40) === 0 ? 3000 : this.#below(9);
    const partition = `p${this.#below(30)}${'ß'.repeat(length)}`;
    const data = { text: 'x'.repeat(this.#below(90)) };
    if (this.#below(3) === 0) return { queue, partition, data };
    this.#ids += 1;
    const id = this.#below(4) === 0 ? this.#below(this.#ids) : this.#ids;
    const item = { queue, partition, data, id: `id-${id}` };
    this.named.push(item);
    return item;
  }

  /** One in three pushes is a request that a repeat would find. */
  #push(items: readonly PushItem[]): void {
    const { driver } = this;
    const kind = this.#below(6);
    if (kind > 1) {
      driver.push(items);
      return;
    }
    const { hashKey } = driver;
    const command = pushCommand(items, { idBase: driver.mintId(items.length), hashKey });
    const request = { words: driver.mintId(), isClientKey: kind === 1 };
    driver.cycle(() => driver.engine.plan(command, request));
  }

  #pop(queue: string): void {
    const group = this.#pick(GROUPS);
    const popped = this.driver.pop({
      queue,
      group,
      batch: 1 + this.#below(12),
      partitions: 1 + this.#below(5),
      autoAck: this.#below(4) === 0,
      leaseSeconds: 1 + this.#below(200),
      ...(group === 'new-ones' && { subscription: { mode: 'new' } }),
    });
    if (popped.messages.length > 0) this.#held.push({ group, messages: popped.messages });
  }

  #ack(): void {
    const position = this.#below(Math.max(1, this.#held.length));
    const [held] = this.#held.splice(position, 1);
    if (held === undefined) return;
    const status = this.#pick(['completed', 'completed', 'failed', 'retry', 'dlq'] as const);
    if (this.#below(10) === 0) {
      this.driver.extend(held.messages[0]!.lease, 50);
      return;
    }
    const messages = held.messages.slice(0, 1 + this.#below(held.messages.length));
    const items = messages.map(({ partitionNumber, id, lease }) => ({
      partition: partitionNumber,
      id,
      status,
      error: 'a reason',
      lease,
    }));
    this.driver.ack(items, held.group);
  }

  #configure(queue: string): void {
    this.driver.configure(queue, {
      delayedProcessing: this.#pick([0, 0, 5]),
      windowBuffer: this.#pick([0, 0, 3]),
      retryLimit: this.#below(3),
      dedupWindowSeconds: this.#pick([0, 60, 3600]),
      retentionEnabled: this.#below(2) === 0,
      retentionSeconds: this.#pick([0, 500]),
      namespace: this.#pick(['', 'shop']),
    });
  }

  #seek(queue: string): void {
    const target =
      this.#below(2) === 0
        ? ({ kind: 'end' } as const)
        : ({ kind: 'instant', atUs: this.driver.nowUs - 60_000_000 } as const);
    const group = this.#pick(GROUPS);
    const command = { queue, partition: undefined, group, target, from: 0, budget: 40 };
    this.driver.cycle(() => this.driver.engine.plan({ kind: 'seek', ...command }));
  }

  #replayOrPurge(queue: string): void {
    const { engine } = this.driver;
    const command = { kind: 'purgeDeadLetters', queue, group: undefined, budget: 5 } as const;
    this.driver.cycle(() => engine.plan(command));
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#below(values.length)] as T;
  }

  #below(limit: number): number {
    return randomBelow(this.#rng, limit);
  }
}

function restored(driver: EngineDriver, pieces: Iterable<Uint8Array>): Engine {
  const { payloads, limits } = driver;
  const restorer = new EngineRestorer({ payloads, limits, tableSeed: 77 });
  for (const piece of pieces) restorer.accept(piece);
  return restorer.finish();
}

function bytesOf(frozen: FrozenState): Buffer {
  return Buffer.concat([...frozen.pieces()]);
}

function frozenBytes(engine: Engine): Buffer {
  const frozen = engine.freeze();
  const bytes = bytesOf(frozen);
  frozen.release();
  return bytes;
}

/** Takes the pieces while the workload goes on between them. */
function* piecesWhile(frozen: FrozenState, workload: Workload): Generator<Uint8Array> {
  let steps = 0;
  for (const piece of frozen.pieces()) {
    yield piece;
    if (steps < 60) workload.run(3);
    steps += 3;
  }
}

describe('a restored engine', () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it(`equals the frozen one and replays what follows, seed ${seed}`, () => {
      const workload = new Workload(seed);
      const { driver } = workload;
      for (let cut = 0; cut < 12; cut += 1) {
        workload.run(60);
        const rows = dump(driver.engine);
        const counters = driver.engine.counters();
        const digest = driver.engine.digest();
        const cutAt = driver.entries.length;
        const frozen = driver.engine.freeze();
        const pieces = [...piecesWhile(frozen, workload)];
        frozen.release();
        expect([frozen.digest, frozen.closedIndex]).toEqual([
          digest,
          driver.entries[cutAt - 1]!.index,
        ]);

        const engine = restored(driver, pieces);
        expect(dump(engine)).toEqual(rows);
        expect(engine.digest()).toBe(digest);
        expect(engine.counters()).toMatchObject({
          rememberedIds: counters.rememberedIds,
          cursors: counters.cursors,
          blocks: counters.blocks,
          partitionsToRemove: counters.partitionsToRemove,
        });
        // Stored again it is the same bytes, except that ids may lie in another order in a segment.
        if (counters.rememberedIds === 0) {
          expect(frozenBytes(engine).equals(Buffer.concat(pieces))).toBe(true);
        }
        for (const entry of driver.entries.slice(cutAt)) engine.apply(entry);
        expect(engine.digest()).toBe(driver.engine.digest());
        expect(dump(engine)).toEqual(dump(driver.engine));
        expect(engine.counters().rememberedIds).toBe(driver.engine.counters().rememberedIds);
      }
      const { deadLetters, partitionsToRemove } = driver.engine.counters();
      expect(deadLetters + partitionsToRemove).toBeGreaterThan(0);
    });
  }

  it('leads on like the other one: same duplicates, same messages for every group', () => {
    const workload = new Workload(21);
    const { driver } = workload;
    workload.run(700);
    driver.wait(1);
    const engine = restored(driver, [frozenBytes(driver.engine)]);
    const items = workload.named;
    const { hashKey, payloads } = driver;
    const command = pushCommand(items, { idBase: driver.mintId(items.length), hashKey });
    const index = driver.entries.at(-1)!.index + 1;
    const cycle = { index, nowUs: driver.nowUs + 5000, payloadSizeHint: 64 };
    const plan = (leader: Engine) => {
      leader.openCycle(cycle);
      const outcome = leader.plan(command);
      return { outcome, entry: leader.closeCycle() };
    };
    const expected = plan(driver.engine);
    const found = plan(restored(driver, [frozenBytes(engine)]));
    // The entries differ in the links of the blocks: they name those that are in memory.
    expect(found.outcome).toEqual(expected.outcome);
    expect(new Set((expected.outcome as { statuses: Uint8Array }).statuses).size).toBe(2);
    payloads.add(index, expected.entry!.payload);
    engine.apply({ index, ...expected.entry! });
    expect(engine.digest()).toBe(driver.engine.digest());
    for (const group of GROUPS) {
      for (const queue of QUEUES) {
        expect(claimable(engine, queue, group)).toEqual(claimable(driver.engine, queue, group));
      }
    }
  });

  it('ends leases that were held, and those that ran out before it was frozen', () => {
    const driver = new EngineDriver();
    driver.push([1, 2].map((i) => ({ queue: 'q', partition: `p${i}` })));
    driver.pop({ queue: 'q', partition: 'p1', leaseSeconds: 10 });
    driver.wait(11);
    driver.pop({ queue: 'q', partition: 'p2', leaseSeconds: 100 });
    const engine = restored(driver, [frozenBytes(driver.engine)]);
    expect(engine.counters().liveLeases).toBe(2);
    engine.advanceTo(driver.nowUs + 1000);
    expect(engine.counters().liveLeases).toBe(1);
    expect(engine.nextTimerUs()).toBeGreaterThan(driver.nowUs);
    engine.advanceTo(driver.nowUs + 101_000_000);
    expect(engine.counters().liveLeases).toBe(0);
  });

  it('takes entries of a leader whose clock is behind cycles that had no effect here', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'a' });
    const engine = restored(driver, [frozenBytes(driver.engine)]);
    engine.openCycle({ index: 99, nowUs: driver.nowUs + 9_000_000, payloadSizeHint: 0 });
    expect(engine.closeCycle()).toBeUndefined();
    const again = restored(driver, [frozenBytes(engine)]);
    driver.push({ queue: 'q', id: 'b' });
    for (const each of [engine, again]) {
      each.apply(driver.entries.at(-1)!);
      expect(each.digest()).toBe(driver.engine.digest());
    }
  });
});

describe('a frozen state', () => {
  it('is cut into bounded pieces', () => {
    const driver = new EngineDriver();
    driver.checksRows = false;
    for (let i = 0; i < 9000; i += 1) {
      driver.push({ queue: 'q', partition: `p${i % 3000}`, id: `id-${i}` });
    }
    const frozen = driver.engine.freeze();
    const pieces = [...frozen.pieces()];
    frozen.release();
    expect(pieces.length).toBeGreaterThanOrEqual(4);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(PIECE_BYTES * 2);
    const engine = restored(driver, pieces);
    expect(dump(engine)).toEqual(dump(driver.engine));
    expect(engine.counters().rememberedIds).toBe(9000);
  });

  it('may be of an engine that has seen nothing', () => {
    const driver = new EngineDriver();
    const empty = new Engine({ payloads: driver.payloads, limits: driver.limits });
    const engine = restored(driver, [frozenBytes(empty)]);
    for (const entry of driver.entries) engine.apply(entry);
    expect(engine.digest()).toBe(driver.engine.digest());
  });

  it('is one at a time and never inside a cycle', () => {
    const driver = new EngineDriver();
    const frozen = driver.engine.freeze();
    expect(() => driver.engine.freeze()).toThrow('a second freeze');
    frozen.release();
    frozen.release();
    driver.engine.freeze().release();
    driver.cycle(() => {
      expect(() => driver.engine.freeze()).toThrow('inside a cycle');
    });
  });
});

describe('a restorer', () => {
  const driver = new Workload(8);
  driver.run(400);
  const bytes = frozenBytes(driver.driver.engine);

  it('refuses a state without an end, and one with more after it', () => {
    const cut = bytes.subarray(0, bytes.length - 1);
    expect(() => restored(driver.driver, [cut])).toThrow(/cannot be read|without an end/);
    expect(() => restored(driver.driver, [])).toThrow('without an end');
    expect(() => restored(driver.driver, [bytes, bytes])).toThrow('after the end');
    expect(() => restored(driver.driver, [bytes.subarray(9)])).toThrow();
  });

  it('refuses another version', () => {
    const other = Buffer.from(bytes);
    other[1] = 1;
    expect(() => restored(driver.driver, [other])).toThrow(
      'state format version 1, this program reads 2 only',
    );
  });

  it('refuses a state with more or fewer rows than promised, of any kind', () => {
    const reader = new ByteReader(bytes);
    reader.skip(2);
    for (const skipped of ['time', 'index']) expect(reader.varint(), skipped).toBeGreaterThan(0);
    reader.skip(8);
    for (const next of ['queue', 'group', 'partition', 'dead letter']) {
      expect(reader.varint(), next).toBeGreaterThan(0);
    }
    for (const name of ROW_COUNT_NAMES) {
      const at = reader.position;
      const count = reader.varint();
      const other = Buffer.from(bytes);
      // The lowest seven bits: the varint keeps its length.
      other[at] = other[at]! ^ 1;
      expect(() => restored(driver.driver, [other]), name).toThrow(`${count} ${name} where`);
    }
  });
});

/** What a group would get from a queue, in the order of partitions and offsets. */
function claimable(engine: Engine, queue: string, group: string): string[] {
  const { state } = engine;
  const found: string[] = [];
  const ids = state.queuesByName.get(queue);
  const known = ids?.groupByName(group);
  if (ids === undefined || known === undefined) return found;
  for (let ordinal = 0; ordinal < ids.partitions.end; ordinal += 1) {
    const row = ids.partitions.row(ordinal);
    if (row === 0) continue;
    const cursor = state.cursors.find(row, known.number);
    const next = cursor === 0 ? -1 : state.cursors.next.get(cursor);
    found.push(`${state.partitions.names.nameText(row)} ${next} ${state.partitions.tail.get(row)}`);
  }
  return found;
}
