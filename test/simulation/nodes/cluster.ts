// The nodes of one run, the network between them, and the eyes on both.

import { toNodeId } from '@queen-ts/raft';
import type { Message } from '@queen-ts/raft';
import { describeSimMessage } from '../facts/describe.ts';
import { Observer } from '../facts/observer.ts';
import { Network } from '../world/network.ts';
import type { World } from '../world/world.ts';
import type { DiskBugs } from './disk.ts';
import { SimNode } from './sim-node.ts';

/** A cluster that was founded by all its nodes. Membership does not change yet. */
export class Cluster {
  readonly world: World;
  readonly network: Network;
  readonly observer: Observer;

  constructor(world: World, bugs: DiskBugs) {
    this.world = world;
    this.network = new Network(world, (message) => this.#deliver(message));
    this.observer = new Observer(world, (message) => this.network.send(message));
    const voters = Array.from({ length: world.profile.nodes }, (_, i) => toNodeId(i + 1));
    for (const id of voters) {
      this.observer.nodes.push(new SimNode({ world, id, voters, bugs, watch: this.observer }));
    }
  }

  get nodes(): readonly SimNode[] {
    return this.observer.nodes;
  }

  /** The node that was last seen leading in the newest term. */
  get leader(): SimNode | undefined {
    return this.nodes[this.observer.leaderId - 1];
  }

  /** Whether the cluster has an identity, so that requests make sense. */
  get isFounded(): boolean {
    return this.observer.committed.engine.identity !== undefined;
  }

  start(): void {
    for (const node of this.nodes) node.start();
  }

  /** Lets time pass up to `untilUs`, or until something is wrong or over. */
  async run(untilUs: number, isOver: () => boolean = () => false): Promise<void> {
    const { world, observer } = this;
    await world.time.run({
      untilUs,
      isOver: () => world.violation !== undefined || isOver(),
      afterEvent: (nodeId) => observer.look(nodeId),
    });
  }

  #deliver(message: Message): void {
    const process = this.nodes[message.to - 1]?.process;
    if (process === undefined) return;
    process.run(() => {
      const { broker } = process;
      if (broker === undefined) return;
      this.world.trace.add(() => describeSimMessage(message));
      this.observer.received(message);
      process.timeKnowledge.arrived(message);
      broker.receive(message);
    });
  }
}
