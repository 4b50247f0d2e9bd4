// The nodes of one run, the network between them, and the eyes on both.

import { toNodeId } from '@queen-ts/raft';
import type { Message } from '@queen-ts/raft';
import { describeSimMessage } from '../facts/describe.ts';
import { Observer } from '../facts/observer.ts';
import { Network } from '../world/network.ts';
import type { World } from '../world/world.ts';
import type { DiskBugs } from './disk-bugs.ts';
import { callPeer } from './peer-call.ts';
import { SimNode } from './sim-node.ts';

/** Events of one run; ordinary ones need a few ten thousand. */
const EVENTS_MAX = 500_000;

/** A cluster that is founded by some of its nodes; the others may join it later. */
export class Cluster {
  readonly world: World;
  readonly network: Network;
  readonly observer: Observer;

  constructor(world: World, bugs: DiskBugs) {
    this.world = world;
    this.network = new Network(world, (message) => this.#deliver(message));
    const { nodes, spares } = world.profile;
    const ids = Array.from({ length: nodes + spares }, (_, i) => toNodeId(i + 1));
    const voters = ids.slice(0, nodes);
    this.observer = new Observer(world, voters, {
      send: (message) => this.network.send(message),
      call: (process, call) => callPeer(this, process, call),
    });
    for (const id of ids) {
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
    const { nodes: founders } = this.world.profile;
    for (const node of this.nodes.slice(0, founders)) node.start();
  }

  /** Lets time pass up to `untilUs`, or until something is wrong or over. */
  async run(untilUs: number, isOver: () => boolean = () => false): Promise<void> {
    const { world, observer } = this;
    await world.time.run({
      untilUs,
      isOver: () => {
        if (world.time.eventCount > EVENTS_MAX) {
          world.violate('liveness', `more than ${EVENTS_MAX} events: something spins`);
        }
        return world.violation !== undefined || isOver();
      },
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
