// Several brokers in one process under virtual time, with a network that tests can cut.

import { SeededRng } from '@queen-ts/base';
import { ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import type { Message, NodeId } from '@queen-ts/raft';
import { MemoryCheckpointStore, MemoryHardStateStore } from '@queen-ts/raft/testing';
import { BROKER_LIMITS_DEFAULT } from '../limits.ts';
import type { BrokerLimits } from '../limits.ts';
import { openBroker } from '../start-broker.ts';
import type { NodeBroker } from '../node-broker.ts';
import { ManualTime } from './manual-scheduler.ts';
import { GatedLog } from './test-node.ts';

/** Time that a message travels, in microseconds. */
const LATENCY_US = 200;

/** Three founding members. */
export class TestCluster {
  readonly time = new ManualTime();
  readonly brokers = new Map<number, NodeBroker>();
  readonly limits: BrokerLimits;
  readonly checkpoints = new Map<number, MemoryCheckpointStore>();
  readonly failures: Error[] = [];
  /** Nodes that the network cannot reach and that reach nobody. */
  readonly isolated = new Set<number>();

  /** @param limits replace the default ones. */
  constructor(limits: Partial<BrokerLimits> = {}) {
    this.limits = { ...BROKER_LIMITS_DEFAULT, ...limits };
  }

  static async start(limits: Partial<BrokerLimits> = {}): Promise<TestCluster> {
    const cluster = new TestCluster(limits);
    const ids = [1, 2, 3] as NodeId[];
    for (const id of ids) cluster.brokers.set(id, await cluster.#open(id, ids));
    const started = [...cluster.brokers.values()].map((broker) => broker.start());
    await cluster.time.pass(5_000_000);
    await Promise.all(started);
    return cluster;
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

  #open(id: NodeId, voters: readonly NodeId[]): Promise<NodeBroker> {
    const hardState = new MemoryHardStateStore(100 + id);
    const log = new GatedLog();
    const checkpoints = new MemoryCheckpointStore((index) => log.term(index));
    this.checkpoints.set(id, checkpoints);
    return openBroker(
      {
        nodeId: id,
        incarnation: hardState.incarnation,
        hardState,
        checkpoints,
        openLog: () => Promise.resolve(log),
        clock: this.time,
        rng: new SeededRng(id),
        scheduler: this.time,
        engineLimits: ENGINE_LIMITS_DEFAULT,
        limits: this.limits,
        electionMs: 1000,
        heartbeatMs: 100,
        genesis: { clusterId: [id, 2, 3, 4], hashKey: Uint32Array.of(5, 6, 7, 8) },
        onFailure: (error) => this.failures.push(error),
      },
      { voters, send: (messages) => this.#send(id, messages) },
    );
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
