// One process of a node, from its start to its death. Everything that happens in it goes through
// `run`, which is where a dead process does nothing and a paused one puts things off.

import { ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import { openBroker } from '@queen-ts/cluster';
import type { NodeBroker, Scheduler } from '@queen-ts/cluster';
import type { Entry, LogStore, Message, NodeId } from '@queen-ts/raft';
import type { World } from '../world/world.ts';
import { SimCheckpointStore } from './checkpoints.ts';
import { DiskError } from './disk-error.ts';
import type { SimDisk } from './disk.ts';
import type { NodeClock } from './node-clock.ts';
import { SimLogStore } from './log-store.ts';
import { SimSnapshotStore } from './snapshots.ts';
import { FailureLatch, SimHardStateStore } from './stores.ts';
import type { StoreUser } from './stores.ts';
import { TimeKnowledge } from './time-knowledge.ts';
import { Dice } from '../world/dice.ts';

/** A call of one process to another about a snapshot. */
export interface SnapshotPeerCall {
  readonly to: NodeId;
  readonly bytes: Uint8Array;
  /** In monotonic time of the caller. */
  readonly deadlineUs: number;
  readonly signal: AbortSignal;
}

/** What a process is part of. */
export interface ProcessHost {
  readonly world: World;
  readonly id: NodeId;
  readonly voters: readonly NodeId[];
  readonly disk: SimDisk;
  readonly clock: NodeClock;
  /** Hands messages to the network. */
  send(process: Process, messages: readonly Message[]): void;
  /** Asks a peer to take a part of a snapshot. */
  requestSnapshot(process: Process, call: SnapshotPeerCall): Promise<Uint8Array>;
  /** The process died by itself: `error` is why. */
  died(process: Process, error: unknown): void;
  /** The process died because the simulation killed it. */
  killed(process: Process, reason: string): void;
}

/** A process that was started; it may be dead, or not be open yet. */
export class Process implements StoreUser, Scheduler {
  readonly host: ProcessHost;
  /** Counts the starts of this node. */
  readonly generation: number;
  /** World time of its start. */
  readonly startedUs: number;
  broker: NodeBroker | undefined;
  log: SimLogStore | undefined;
  isAlive = true;
  /** The broker has started: only now the server opens its doors. */
  isServing = false;
  isPaused = false;
  readonly timeKnowledge = new TimeKnowledge();
  /** Set once a write failed or damage was read. */
  storageError: DiskError | undefined;
  /** Highest applied index that the invariants have seen. */
  observedIndex = 0;
  #deferred: (() => void)[] = [];
  readonly #latch: FailureLatch;
  readonly #snapshots: SimSnapshotStore;

  constructor(host: ProcessHost, generation: number) {
    this.host = host;
    this.generation = generation;
    this.startedUs = host.world.time.nowUs;
    this.#latch = new FailureLatch(this);
    const { world, disk } = host;
    this.#snapshots = new SimSnapshotStore({
      disk,
      user: this,
      latch: this.#latch,
      library: world.snapshots,
      log: () => this.log,
    });
  }

  /** Opens the stores and the broker, and starts its timers. */
  start(): void {
    this.run(() => {
      this.#open().then(
        (broker) => this.#opened(broker),
        (error: unknown) => this.host.died(this, error),
      );
    });
  }

  run(task: () => void): void {
    if (!this.isAlive) return;
    if (this.isPaused) {
      this.#deferred.push(task);
      return;
    }
    try {
      task();
    } catch (error) {
      this.host.died(this, error);
    }
  }

  after(delayUs: number, task: () => void): () => void {
    const { world, clock, id } = this.host;
    const event = world.time.after(clock.toWorldUs(delayUs), 'timer', id, () => this.run(task));
    return () => world.time.cancel(event);
  }

  defer(task: () => void): void {
    const { world, id } = this.host;
    world.time.after(0, 'turn', id, () => this.run(task));
  }

  kill(reason: string): void {
    if (this.isAlive) this.host.killed(this, reason);
  }

  storageFailed(error: DiskError): void {
    this.storageError ??= error;
    // The store tells the owner of the process, who ends it; the broker may be quicker.
    this.defer(() => this.host.died(this, error));
  }

  /** Lets what was put off during a pause happen, in order. */
  resume(): void {
    this.isPaused = false;
    const { world, id } = this.host;
    const tasks = this.#deferred;
    this.#deferred = [];
    for (const task of tasks) world.time.after(0, 'turn', id, () => this.run(task));
  }

  #open(): Promise<NodeBroker> {
    const { world, id, voters, disk, clock } = this.host;
    const { electionMs, heartbeatMs, limits, logLimits } = world.profile;
    const hardState = new SimHardStateStore(disk, this, this.#latch);
    const checkpoints = new SimCheckpointStore(disk, this, this.#latch);
    return openBroker(
      {
        nodeId: id,
        incarnation: disk.incarnation,
        hardState,
        checkpoints,
        snapshots: this.#snapshots,
        openLog: async (onEntry, from) => {
          const log = await this.#openLog(onEntry, from.index);
          checkpoints.attach(log, from);
          return log;
        },
        clock,
        rng: new Dice(world.seed, 1000 + id * 1000 + this.generation),
        scheduler: this,
        engineLimits: ENGINE_LIMITS_DEFAULT,
        limits,
        logLimits,
        electionMs,
        heartbeatMs,
        genesis: { clusterId: [id, 2, 3, 4], hashKey: Uint32Array.of(id, 6, 7, 8) },
        onFailure: (error) => this.host.died(this, error),
      },
      {
        voters,
        send: (messages) => this.host.send(this, messages),
        requestSnapshot: (to, bytes, options) => {
          return this.host.requestSnapshot(this, { to, bytes, ...options });
        },
      },
    );
  }

  /** Rejects with CORRUPTION when the log is damaged. */
  async #openLog(onEntry: (entry: Entry) => void, fromIndex: number): Promise<LogStore> {
    await Promise.resolve();
    const log = new SimLogStore(this.host.disk, this, this.#latch);
    if (fromIndex + 1 < log.firstIndex) {
      throw new DiskError('CORRUPTION', `no checkpoint reaches the log's start ${log.firstIndex}`);
    }
    for (let index = fromIndex + 1; index <= log.lastIndex; index += 1) onEntry(log.peek(index)!);
    this.log = log;
    return log;
  }

  #opened(broker: NodeBroker): void {
    if (!this.isAlive) return;
    this.broker = broker;
    // It waits for a leader, which may never come; failures are reported through onFailure.
    this.run(() => {
      broker.start().then(
        () => (this.isServing = true),
        () => {},
      );
    });
  }
}
