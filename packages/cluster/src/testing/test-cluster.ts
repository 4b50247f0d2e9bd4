// Several brokers in one process under virtual time, with a network that tests can cut.

import { SeededRng } from '@queen-ts/base';
import { ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import type { Message, NodeId } from '@queen-ts/raft';
import {
  MemoryCheckpointStore,
  MemoryHardStateStore,
  MemoryLogStore,
  MemorySnapshotStore,
} from '@queen-ts/raft/testing';
import { BROKER_LIMITS_DEFAULT } from '../limits.ts';
import type { BrokerLimits } from '../limits.ts';
import { LOG_LIMITS_DEFAULT } from '../log-upkeep/limits.ts';
import type { LogLimits } from '../log-upkeep/limits.ts';
import { openBroker } from '../start-broker.ts';
import type { NodeBroker } from '../node-broker.ts';
import { ManualTime } from './manual-scheduler.ts';

/** Time that a message travels, in microseconds. */
const LATENCY_US = 200;

/** What survives a crash of a node. */
interface Disk {
  readonly hardState: MemoryHardStateStore;
  readonly log: MemoryLogStore;
  readonly checkpoints: MemoryCheckpointStore;
}

/** Three founding members. */
export class TestCluster {
  readonly time = new ManualTime();
  readonly brokers = new Map<number, NodeBroker>();
  readonly limits: BrokerLimits;
  readonly logLimits: LogLimits;
  /** Size of the pieces of snapshots. */
  readonly snapshotPieceBytes = 500;
  readonly disks = new Map<number, Disk>();
  readonly failures: Error[] = [];
  /** Nodes that the network cannot reach and that reach nobody. */
  readonly isolated = new Set<number>();
  /** Called before each call about a snapshot arrives. */
  onSnapshotCall: (from: number, to: number) => void = () => {};
  readonly #ids = [1, 2, 3] as NodeId[];
  #starts = 0;

  /** @param limits replace the default ones. */
  constructor(limits: Partial<BrokerLimits> = {}, logLimits: Partial<LogLimits> = {}) {
    this.limits = { ...BROKER_LIMITS_DEFAULT, ...limits };
    this.logLimits = { ...LOG_LIMITS_DEFAULT, ...logLimits };
  }

  static async start(
    limits: Partial<BrokerLimits> = {},
    logLimits: Partial<LogLimits> = {},
  ): Promise<TestCluster> {
    const cluster = new TestCluster(limits, logLimits);
    for (const id of cluster.#ids) {
      const log = new MemoryLogStore();
      const checkpoints = new MemoryCheckpointStore((index) => log.term(index));
      const hardState = new MemoryHardStateStore(100 + id);
      cluster.disks.set(id, { hardState, log, checkpoints });
      cluster.brokers.set(id, await cluster.#open(id));
    }
    const started = [...cluster.brokers.values()].map((broker) => broker.start());
    await cluster.time.pass(5_000_000);
    await Promise.all(started);
    return cluster;
  }

  /** The checkpoints of the nodes, by id. */
  get checkpoints(): ReadonlyMap<number, MemoryCheckpointStore> {
    return new Map([...this.disks].map(([id, disk]) => [id, disk.checkpoints]));
  }

  /** Ends a node at once; what it had not synced is gone. */
  crash(id: number): void {
    this.brokers.delete(id);
    const { hardState, log, checkpoints } = this.#disk(id);
    const survivor = log.crash();
    this.disks.set(id, {
      hardState: hardState.crash(),
      log: survivor,
      checkpoints: checkpoints.crash((index) => survivor.term(index)),
    });
  }

  /** Starts a node that has crashed. */
  async restart(id: number): Promise<void> {
    const opening = this.#open(id as NodeId);
    await this.time.settle();
    const broker = await opening;
    this.brokers.set(id, broker);
    void broker.start();
  }

  /** The node that leads in the highest term. */
  leader(): { readonly id: number; readonly broker: NodeBroker } {
    const leaders = [...this.brokers]
      .map(([id, broker]) => ({ id, broker, status: broker.status() }))
      .filter(({ status }) => status.role === 'leader')
      .toSorted((a, b) => b.status.term - a.status.term);
    const newest = leaders[0];
    if (newest === undefined) throw new Error('no node leads');
    return newest;
  }

  #open(id: NodeId): Promise<NodeBroker> {
    const { hardState, log, checkpoints } = this.#disk(id);
    const snapshots = new MemorySnapshotStore(log, checkpoints, this.snapshotPieceBytes);
    this.#starts += 1;
    return openBroker(
      {
        nodeId: id,
        incarnation: hardState.incarnation,
        hardState,
        checkpoints,
        snapshots,
        openLog: (onEntry, { index }) => {
          const range = { from: index + 1, toExclusive: log.lastIndex + 1, maxBytes: Infinity };
          if (log.lastIndex > index) log.entries(range).forEach(onEntry);
          return Promise.resolve(log);
        },
        clock: this.time,
        rng: new SeededRng(id + 100 * this.#starts),
        scheduler: this.time,
        engineLimits: ENGINE_LIMITS_DEFAULT,
        limits: this.limits,
        logLimits: this.logLimits,
        electionMs: 1000,
        heartbeatMs: 100,
        genesis: { clusterId: [id, 2, 3, 4], hashKey: Uint32Array.of(5, 6, 7, 8) },
        onFailure: (error) => {
          // What a crashed node still does nobody sees.
          if (this.disks.get(id)?.log === log) this.failures.push(error);
        },
      },
      {
        voters: this.#ids,
        send: (messages) => {
          if (this.disks.get(id)?.log === log) this.#send(id, messages);
        },
        requestSnapshot: (to, bytes) => {
          if (this.disks.get(id)?.log !== log) return Promise.reject(new Error('crashed'));
          return this.#requestSnapshot(id, to, bytes);
        },
      },
    );
  }

  #disk(id: number): Disk {
    const disk = this.disks.get(id);
    if (disk === undefined) throw new Error(`there is no node ${id}`);
    return disk;
  }

  async #requestSnapshot(from: NodeId, to: NodeId, bytes: Uint8Array): Promise<Uint8Array> {
    const copy = bytes.slice();
    await new Promise<void>((resolve) => void this.time.after(LATENCY_US, resolve));
    this.onSnapshotCall(from, to);
    const broker = this.brokers.get(to);
    if (broker === undefined || this.isolated.has(from) || this.isolated.has(to)) {
      throw new Error('unreachable');
    }
    const answer = await broker.receiveSnapshot(from, copy);
    await new Promise<void>((resolve) => void this.time.after(LATENCY_US, resolve));
    if (this.isolated.has(from) || this.isolated.has(to)) throw new Error('lost');
    return answer;
  }

  #send(from: number, messages: readonly Message[]): void {
    for (const message of messages) {
      this.time.after(LATENCY_US, () => {
        if (this.isolated.has(from) || this.isolated.has(message.to)) return;
        this.brokers.get(message.to)?.receive(message);
      });
    }
  }
}
