// What goes wrong, and when: draws a fault now and then, by the weights of the profile, and takes it
// back after a while. At most one node is ever lost for good.

import { unreachable } from '@queen-ts/base';
import { Operator } from './operator.ts';
import type { Cluster } from '../nodes/cluster.ts';
import type { SimNode } from '../nodes/sim-node.ts';
import type { Dice } from '../world/dice.ts';
import type { FaultKind } from '../world/profile.ts';
import type { World } from '../world/world.ts';

/** Plays against a cluster until told to stop. */
export class Nemesis {
  readonly #cluster: Cluster;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #operator: Operator;
  #hasLostNode = false;
  #isOver = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#world = cluster.world;
    this.#dice = cluster.world.dice(3);
    const kinds = cluster.world.profile.faultWeights.map(([kind, weight]) => weight > 0 && kind);
    const mayLose = kinds.includes('wipe') || kinds.includes('bitFlip');
    const mayLoseDisk = (): boolean => mayLose && !this.#hasLostNode && !this.#isOver;
    this.#operator = new Operator(cluster, cluster.world.dice(4), mayLoseDisk);
  }

  /** Starts the faults. */
  start(): void {
    this.#world.isPeaceful = false;
    this.#scheduleNext();
  }

  /** Ends all faults: links mended, disks good, every node that can run runs. */
  heal(): void {
    this.#isOver = true;
    this.#world.isPeaceful = true;
    this.#world.trace.add(() => 'all faults end');
    this.#cluster.network.shape(() => false);
    for (const node of this.#cluster.nodes) {
      node.isHeldDown = false;
      node.disk.writeFault = 'none';
      node.disk.slownessUs = 0;
      node.resume();
      const refuses = node.isLost && node.disk.hasDamage;
      if (!refuses) node.start();
    }
  }

  /** After the end of the faults: gives every member that lost its disk its place back. */
  restore(): void {
    this.#operator.restore();
  }

  #scheduleNext(): void {
    const { faultEveryUs } = this.#world.profile;
    const delayUs = this.#dice.between(1, 2 * faultEveryUs);
    this.#world.time.after(delayUs, 'fault', 0, () => {
      if (this.#isOver) return;
      const kind = this.#dice.weighted(this.#world.profile.faultWeights);
      this.#world.count(kind);
      this.#inject(kind);
      this.#scheduleNext();
    });
  }

  /** Takes a fault back after a random time. */
  #later(run: () => void): void {
    const { electionMs } = this.#world.profile;
    const delayUs = this.#dice.below(electionMs * 1000 * this.#dice.pick([0.2, 2, 6]));
    this.#world.time.after(delayUs, 'fault', 0, () => {
      if (!this.#isOver) run();
    });
  }

  #inject(kind: FaultKind): void {
    const node = this.#victim();
    this.#world.trace.add(() => `fault: ${kind}, node ${node.id} if it is about one`);
    switch (kind) {
      case 'isolate':
      case 'deafen':
      case 'mute':
      case 'split':
      case 'bridge':
      case 'ring':
        return this.#cut(kind, node.id);
      case 'crash':
        return this.#crash(node);
      case 'crashLeader':
        return this.#crash(this.#cluster.leader ?? node);
      case 'crashTransfer':
        return this.#crashTransfer();
      case 'powerCut':
        for (const other of this.#cluster.nodes) this.#crash(other);
        return;
      case 'pause':
        node.pause();
        return this.#later(() => node.resume());
      case 'pauseAndCut':
        return this.#pauseAndCut(this.#cluster.leader ?? node);
      case 'slowDisk':
        node.disk.slownessUs = this.#dice.pick([5_000, 100_000, 1_000_000]);
        return this.#later(() => (node.disk.slownessUs = 0));
      case 'writeError':
        node.disk.writeFault = 'failOnce';
        return;
      case 'diskFull':
        node.disk.writeFault = 'full';
        return this.#later(() => (node.disk.writeFault = 'none'));
      case 'bitFlip':
        return this.#flip(node);
      case 'checkpointFlip':
        node.disk.flipCheckpointBit();
        return;
      case 'wipe':
        return this.#wipe(node);
      case 'wallJump':
        node.clock.skewUs += this.#dice.pick([-3_600_000_000, -200_000, 200_000, 3_600_000_000]);
        this.#cluster.observer.wallJumped(node);
        return;
      case 'addMember':
      case 'promote':
      case 'demote':
      case 'removeMember':
      case 'removeLeader':
      case 'transfer':
      case 'overlappingChanges':
      case 'wrongChange':
        return this.#operator.perform(kind);
      default:
        unreachable(kind);
    }
  }

  /** Any node; leaders are where it hurts most. */
  #victim(): SimNode {
    const { leader, nodes } = this.#cluster;
    return leader !== undefined && this.#dice.chance(0.4) ? leader : this.#dice.pick(nodes);
  }

  #crash(node: SimNode): void {
    node.crash('by the nemesis');
    if (!this.#dice.chance(0.3)) return;
    node.isHeldDown = true;
    this.#later(() => {
      node.isHeldDown = false;
      if (!(node.isLost && node.disk.hasDamage)) node.start();
    });
  }

  /** Whoever sends or receives a snapshot just now. */
  #crashTransfer(): void {
    const { nodes, world } = this.#cluster;
    const busy = nodes.filter(({ running }) => {
      const upkeep = running?.broker?.status().log;
      return upkeep !== undefined && (upkeep.isReceivingSnapshot || upkeep.snapshotsSending > 0);
    });
    if (busy.length === 0) return;
    world.count('transferCrashed');
    this.#crash(this.#dice.pick(busy));
  }

  /** A leader sleeps long enough to be replaced, and wakes up where nobody can tell it so. */
  #pauseAndCut(node: SimNode): void {
    const { electionMs } = this.#world.profile;
    const { network } = this.#cluster;
    const isolate = (): void => network.shape((from, to) => from === node.id || to === node.id);
    const electionUs = electionMs * 1000;
    node.pause();
    isolate();
    const sleepUs = electionUs * this.#dice.between(2, 5);
    this.#world.time.after(sleepUs, 'fault', 0, () => {
      if (this.#isOver) return;
      isolate();
      node.resume();
    });
    this.#world.time.after(sleepUs + electionUs, 'fault', 0, () => {
      if (!this.#isOver) network.shape(() => false);
    });
  }

  #flip(node: SimNode): void {
    if (!this.#mayLose(node)) return;
    this.#hasLostNode = node.disk.flipBit();
    // It learns that when it reads the record; the operator shall not count on it any more.
    node.isLost = this.#hasLostNode;
  }

  #wipe(node: SimNode): void {
    if (!this.#mayLose(node)) return;
    this.#hasLostNode = true;
    node.wipe();
  }

  /** A founder that was never heard is needed by everybody, and later a majority of the voters is. */
  #mayLose(node: SimNode): boolean {
    const { isFounded, observer } = this.#cluster;
    return !this.#hasLostNode && isFounded && observer.memberships.canLose(node);
  }

  #cut(kind: FaultKind, victim: number): void {
    const count = this.#cluster.nodes.length;
    const side = new Set(
      this.#cluster.nodes.map(({ id }) => id).filter(() => this.#dice.chance(0.5)),
    );
    const { network } = this.#cluster;
    switch (kind) {
      case 'isolate':
        network.shape((from, to) => from === victim || to === victim);
        break;
      case 'deafen':
        network.shape((_, to) => to === victim);
        break;
      case 'mute':
        network.shape((from) => from === victim);
        break;
      case 'split':
        network.shape((from, to) => side.has(from as never) !== side.has(to as never));
        break;
      case 'bridge':
        // Two halves that only the victim connects.
        network.shape((from, to) => {
          const isOfVictim = from === victim || to === victim;
          return !isOfVictim && side.has(from as never) !== side.has(to as never);
        });
        break;
      default:
        // A ring: only neighbours hear each other; of three nodes, one link is cut.
        network.shape((from, to) => {
          if (count === 3) return from !== victim && to !== victim;
          const distance = Math.abs(from - to);
          return distance !== 1 && distance !== count - 1;
        });
    }
    this.#later(() => network.shape(() => false));
  }
}
