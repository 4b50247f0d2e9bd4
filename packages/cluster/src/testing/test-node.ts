// One broker on in-memory stores under virtual time, driven by plain objects.

import { SeededRng, UuidMinter } from '@queen-ts/base';
import { ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import { ackCommand, popCommand, pushCommand } from '@queen-ts/engine/testing';
import type { AckItem, PopFields, PushItem } from '@queen-ts/engine/testing';
import type { Outcome, OutcomeOf, RequestId } from '@queen-ts/protocol';
import type { Entry, NodeId } from '@queen-ts/raft';
import {
  MemoryCheckpointStore,
  MemoryHardStateStore,
  MemoryLogStore,
} from '@queen-ts/raft/testing';
import type { Broker, WriteCommand } from '../broker.ts';
import type { DiskGate } from '../disk-gate.ts';
import { BROKER_LIMITS_DEFAULT } from '../limits.ts';
import type { BrokerLimits } from '../limits.ts';
import { startBroker } from '../start-broker.ts';
import { ManualTime } from './manual-scheduler.ts';

/** A log whose syncs wait until the test lets them happen. */
export class GatedLog extends MemoryLogStore {
  /** Appends that wait for {@link openGate}; undefined while the gate is open. */
  #waiting: (() => void)[] | undefined;
  readonly appends: (readonly Entry[])[] = [];

  closeGate(): void {
    this.#waiting = [];
  }

  openGate(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const go of waiting) go();
  }

  override async append(entries: readonly Entry[]): Promise<void> {
    this.appends.push(entries);
    this.begin(entries);
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#waiting === undefined) resolve();
    else this.#waiting.push(resolve);
    await promise;
    this.sync();
  }
}

/** How a test node differs from a usual one. */
export interface TestNodeOptions {
  readonly log?: GatedLog;
  readonly hardState?: MemoryHardStateStore;
  readonly checkpoints?: MemoryCheckpointStore;
  readonly time?: ManualTime;
  readonly limits?: Partial<BrokerLimits>;
  readonly diskGate?: DiskGate;
}

/** A started broker with everything around it in reach. */
export class TestNode {
  readonly broker: Broker;
  readonly log: GatedLog;
  readonly hardState: MemoryHardStateStore;
  readonly checkpoints: MemoryCheckpointStore;
  readonly time: ManualTime;
  readonly failures: Error[];
  /** Index of the checkpoint that it started from; 0 without one. */
  readonly openedFrom: number;
  readonly #ids: UuidMinter;

  private constructor(parts: {
    readonly broker: Broker;
    readonly log: GatedLog;
    readonly hardState: MemoryHardStateStore;
    readonly checkpoints: MemoryCheckpointStore;
    readonly time: ManualTime;
    readonly failures: Error[];
    readonly openedFrom: number;
  }) {
    this.broker = parts.broker;
    this.log = parts.log;
    this.hardState = parts.hardState;
    this.checkpoints = parts.checkpoints;
    this.time = parts.time;
    this.failures = parts.failures;
    this.openedFrom = parts.openedFrom;
    this.#ids = new UuidMinter(parts.time, new SeededRng(11));
  }

  static async start(options: TestNodeOptions = {}): Promise<TestNode> {
    const log = options.log ?? new GatedLog();
    const hardState = options.hardState ?? new MemoryHardStateStore(7);
    const time = options.time ?? new ManualTime();
    const checkpoints = options.checkpoints ?? new MemoryCheckpointStore((i) => log.term(i));
    const failures: Error[] = [];
    let openedFrom = 0;
    const starting = startBroker({
      nodeId: 1 as NodeId,
      incarnation: hardState.incarnation,
      hardState,
      checkpoints,
      openLog: (onEntry, { index }) => {
        openedFrom = index;
        const { lastIndex } = log;
        const range = { from: index + 1, toExclusive: lastIndex + 1, maxBytes: Infinity };
        if (lastIndex > index) log.entries(range).forEach(onEntry);
        return Promise.resolve(log);
      },
      clock: time,
      rng: new SeededRng(5),
      scheduler: time,
      ...(options.diskGate !== undefined && { diskGate: options.diskGate }),
      engineLimits: ENGINE_LIMITS_DEFAULT,
      limits: { ...BROKER_LIMITS_DEFAULT, ...options.limits },
      electionMs: 1000,
      heartbeatMs: 100,
      genesis: { clusterId: [1, 2, 3, 4], hashKey: Uint32Array.of(5, 6, 7, 8) },
      onFailure: (error) => failures.push(error),
    });
    await time.settle();
    const broker = await starting;
    return new TestNode({ broker, log, hardState, checkpoints, time, failures, openedFrom });
  }

  /** Starts another node on what a crash of this one would leave. */
  async restart(options: TestNodeOptions = {}): Promise<TestNode> {
    return TestNode.start({ ...options, ...this.crash() });
  }

  /** What a crash of this node would leave. */
  crash(): Required<Pick<TestNodeOptions, 'log' | 'checkpoints' | 'hardState'>> {
    const log = new GatedLog();
    const survivor = this.log.crash();
    const { firstIndex, lastIndex } = survivor;
    const range = { from: firstIndex, toExclusive: lastIndex + 1, maxBytes: Infinity };
    if (lastIndex >= firstIndex) log.begin(survivor.entries(range));
    log.sync();
    const checkpoints = this.checkpoints.crash((index) => log.term(index));
    return { log, checkpoints, hardState: this.hardState.crash() };
  }

  push(items: readonly PushItem[], waitUs = 30_000_000, requestId?: RequestId): Promise<Outcome> {
    const idBase = this.#ids.mint(Math.max(1, items.length));
    const command = pushCommand(items, { idBase, hashKey: this.broker.hashKey });
    return this.broker.submit(command, {
      deadlineUs: this.time.monotonicUs() + waitUs,
      requestId,
    });
  }

  pop(
    fields: PopFields,
    options: { readonly waitUs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Outcome> {
    const { waitUs } = options;
    return this.broker.pop(popCommand(fields, this.#ids.mint(1)), {
      deadlineUs: this.time.monotonicUs() + (waitUs ?? 30_000_000),
      wait: waitUs !== undefined,
      signal: options.signal ?? new AbortController().signal,
    });
  }

  ack(items: readonly AckItem[], group?: string): Promise<Outcome> {
    const { hashKey } = this.broker;
    const command = ackCommand(items, group === undefined ? { hashKey } : { hashKey, group });
    return this.broker.submit(command, { deadlineUs: this.time.monotonicUs() + 30_000_000 });
  }

  /** Submits any other prepared command. */
  submit(command: WriteCommand, waitUs = 30_000_000): Promise<Outcome> {
    return this.broker.submit(command, { deadlineUs: this.time.monotonicUs() + waitUs });
  }

  /** Lets everything due happen, then awaits a pending answer. */
  async finish(answer: Promise<Outcome>): Promise<Outcome> {
    await this.time.settle();
    return answer;
  }
}

/** Narrows an outcome. */
export function expectKind<K extends Outcome['kind']>(outcome: Outcome, kind: K): OutcomeOf<K> {
  if (outcome.kind !== kind) throw new Error(`a ${kind} was expected, not ${outcome.kind}`);
  return outcome as OutcomeOf<K>;
}
