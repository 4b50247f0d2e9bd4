// A cluster under random faults: messages dropped, delayed, duplicated and reordered, links cut,
// disks slow, nodes crashing with unsynced writes, members changing. One seed, one history.

import { assert, randomBelow, SeededRng } from '@queen-ts/base';
import { memberOf, votersOf } from '../membership.ts';
import type { MembershipChange } from '../membership.ts';
import type { Message, SnapshotMeta } from '../messages.ts';
import { toNodeId } from '../node-id.ts';
import type { NodeId } from '../node-id.ts';
import type { RaftStatus } from '../ready.ts';
import { InvariantChecker } from './invariants.ts';
import { SimNode } from './sim-node.ts';
import type { AppliedState } from './sim-node.ts';

const NETWORK_SIZE_MAX = 400;
const TORN = ['nothing', 'hardState', 'everything'] as const;

/** What a run came to, to see that the faults did not make it idle. */
export interface RandomRunResult {
  readonly appliedCount: number;
  readonly proposedCount: number;
  readonly readCount: number;
  readonly changeCount: number;
  readonly snapshotCount: number;
  readonly termReached: number;
}

/** Options of one run. */
export interface RandomRunOptions {
  readonly seed: number;
  readonly nodeCount: number;
  readonly stepCount: number;
  /** Whether voters are demoted, promoted, removed and added on the way. */
  readonly changesMembers: boolean;
  /** Whether one voter loses its disk half way, and is admitted again in the end. */
  readonly wipesVoter: boolean;
}

/** Runs one history; throws InvariantError at the first violation of safety or liveness. */
export function runRandomCluster(options: RandomRunOptions): RandomRunResult {
  const cluster = new RandomCluster(options);
  cluster.found();
  for (let step = 0; step < options.stepCount; step++) {
    if (options.wipesVoter && 2 * step === options.stepCount) cluster.wipeVoter();
    cluster.step();
  }
  cluster.heal();
  if (options.wipesVoter) cluster.readmit();
  return cluster.result;
}

class RandomCluster {
  readonly #rng: SeededRng;
  readonly #options: RandomRunOptions;
  readonly #nodes: SimNode[];
  readonly #checker = new InvariantChecker();
  readonly #cuts = new Set<string>();
  /** A persist in flight ends with a chance of one in this, by node. */
  readonly #persistOdds = new Map<NodeId, number>();
  /** Reads on their way: the least index they may be answered with. */
  readonly #reads = new Map<number, number>();
  #wiped: SimNode | undefined;
  #network: Message[] = [];
  #proposedCount = 0;
  #readCount = 0;
  #changeCount = 0;
  #snapshotCount = 0;

  constructor(options: RandomRunOptions) {
    this.#options = options;
    this.#rng = new SeededRng(options.seed);
    const voters = Array.from({ length: options.nodeCount }, (_, i) => toNodeId(i + 1));
    const snapshots = new WeakMap<SnapshotMeta, AppliedState>();
    this.#nodes = voters.map(
      (id) =>
        new SimNode(
          {
            id,
            incarnation: id * 100,
            voters,
            learners: [],
            // A wiped voter costs a disk on record; a majority of them must be left.
            foundingVotes: options.wipesVoter || this.#chance(2) ? 'all' : 'majority',
            electionTicks: 10,
            heartbeatTicks: 2,
            limits: { maxAppendBytes: 150, maxInflightBytes: 500, maxUncommittedBytes: 2000 },
            seed: this.#below(2 ** 31),
          },
          snapshots,
        ),
    );
  }

  get result(): RandomRunResult {
    return {
      appliedCount: this.#checker.appliedCount,
      proposedCount: this.#proposedCount,
      readCount: this.#readCount,
      changeCount: this.#changeCount,
      snapshotCount: this.#snapshotCount,
      termReached: Math.max(...this.#nodes.map(({ node }) => node.status.term)),
    };
  }

  /** Elects the first leader, for which every node must be up. */
  found(): void {
    this.#nodes[0]?.node.campaign();
    this.#settle();
  }

  /** Every node does a little, messages move, and sometimes something goes wrong. */
  step(): void {
    for (const sim of this.#nodes) {
      if (sim.isDown) continue;
      if (this.#chance(4)) sim.node.tick();
      if (!this.#chance(5)) this.#takeReady(sim);
      if (this.#chance(this.#persistOdds.get(sim.id) ?? 2)) this.#post(sim.finishPersist());
      if (this.#chance(3)) this.#propose(sim);
      if (this.#chance(8)) this.#read(sim);
    }
    for (let count = this.#below(2 * this.#nodes.length + 4); count > 0; count--)
      this.#deliverAny();
    const sim = this.#anyNode();
    this.#fault(sim);
    this.#checker.check(sim);
  }

  #fault(sim: SimNode): void {
    const dice = this.#below(100);
    if (dice < 8) this.#network.splice(this.#below(this.#network.length + 1), 1 + this.#below(3));
    else if (dice < 14) this.#duplicateAny();
    else if (dice < 17) this.#toggleCut(sim);
    else if (dice < 19) this.#partition();
    else if (dice < 24) this.#crashOrRestart(sim);
    else if (dice < 27) this.#persistOdds.set(sim.id, this.#chance(2) ? 25 : 2);
    else if (sim.isDown) return;
    else if (dice < 29) this.#compact(sim);
    else if (dice < 31) this.#transfer(sim);
    else if (dice < 50 && this.#options.changesMembers) this.#change(sim);
  }

  /** A voter restarts with an empty disk: from here on a majority of the others is needed. */
  wipeVoter(): void {
    const sim = this.#anyNode();
    this.#wiped = sim;
    if (!sim.isDown) sim.crash();
    sim.wipe(sim.id * 100 + 1);
    sim.restart();
  }

  /** Ends all faults; the group must then elect, commit and agree within 10 election timeouts. */
  heal(): void {
    this.#cuts.clear();
    for (const sim of this.#nodes) if (sim.isDown) sim.restart();
    this.#tickAll(50);
    this.#leader().node.propose(this.#command());
    this.#tickAll(50);
    this.#expectAgreement();
  }

  /** Gives the wiped voter its vote back, unless its first disk had never been recorded. */
  readmit(): void {
    const wiped = this.#wiped;
    assert(wiped !== undefined, 'no voter was wiped');
    const { id } = wiped;
    const recorded = (): number | undefined =>
      memberOf(this.#leader().node.status.membership, id)?.incarnation;
    if (recorded() !== wiped.hardState.incarnation) {
      for (const kind of ['demote', 'promote'] as const) {
        const result = this.#leader().node.proposeMembership({ kind, id });
        assert(result.ok, () => `${kind} ${id}: ${JSON.stringify(result)}`);
        this.#tickAll(20);
      }
    }
    assert(recorded() === wiped.hardState.incarnation, () => `disk of ${id} is ${recorded()}`);
    this.#expectAgreement();
  }

  #tickAll(count: number): void {
    for (let tick = 0; tick < count; tick++) {
      for (const sim of this.#nodes) sim.node.tick();
      this.#settle();
      for (const sim of this.#nodes) this.#checker.check(sim);
    }
  }

  /** Every member that counts has applied the leader's whole log. */
  #expectAgreement(): void {
    const { membership, lastIndex, commitIndex, peers } = this.#leader().node.status;
    assert(lastIndex === commitIndex, () => `commit ${commitIndex} of ${lastIndex} after healing`);
    for (const { id } of membership.members) {
      if (peers.some((peer) => peer.id === id && peer.isIdentityRefused)) continue;
      const applied = this.#nodes.find((sim) => sim.id === id)?.state.index;
      assert(applied === lastIndex, () => `${id} applied ${applied} of ${lastIndex}`);
    }
  }

  #settle(): void {
    for (let round = 0; round < 200; round++) {
      const taken = this.#nodes.filter((sim) => this.#takeReady(sim));
      for (const sim of this.#nodes) this.#post(sim.finishPersist());
      const messages = this.#network;
      this.#network = [];
      for (const message of messages) this.#deliver(message);
      if (taken.length === 0 && messages.length === 0) return;
    }
    throw new Error('the cluster does not settle');
  }

  #leader(): SimNode {
    const leaders = this.#nodes.filter(({ node }) => node.status.role === 'leader');
    const [leader] = leaders.sort((a, b) => b.node.status.term - a.node.status.term);
    assert(leader !== undefined, 'no leader after healing');
    return leader;
  }

  #takeReady(sim: SimNode): boolean {
    const ready = sim.takeReady();
    if (ready === undefined) return false;
    this.#post(ready.messages);
    for (const { to, term, minIndex } of ready.snapshotsToSend) {
      assert(sim.state.index >= minIndex, () => `snapshot ${sim.state.index} < ${minIndex}`);
      this.#post([sim.snapshotMessage(to, term)]);
      this.#snapshotCount += 1;
      const outcome = this.#chance(3) ? 'failed' : 'finished';
      sim.node.reportSnapshot({ to, outcome, index: sim.state.index });
    }
    for (const { contextId, index } of ready.readStates) {
      const least = this.#reads.get(contextId) ?? 0;
      assert(index >= least, () => `read ${contextId} at ${index}, ${least} was committed before`);
    }
    return true;
  }

  #deliverAny(): void {
    if (this.#network.length === 0) return;
    // Mostly in order, sometimes not.
    const at = this.#chance(4) ? this.#below(this.#network.length) : 0;
    const [message] = this.#network.splice(at, 1);
    if (message !== undefined) this.#deliver(message);
  }

  #deliver(message: Message): void {
    const receiver = this.#nodes.find(({ id }) => id === message.to);
    const isCut = this.#cuts.has(`${message.from}->${message.to}`);
    if (receiver === undefined || receiver.isDown || isCut) return;
    receiver.node.step(message);
  }

  #post(messages: readonly Message[]): void {
    for (const message of messages) {
      if (this.#network.length < NETWORK_SIZE_MAX) this.#network.push(message);
    }
  }

  #duplicateAny(): void {
    const message = this.#network[this.#below(this.#network.length + 1)];
    if (message !== undefined) this.#network.push(message);
  }

  #propose(sim: SimNode): void {
    if (sim.node.propose(this.#command()).ok) this.#proposedCount += 1;
  }

  /** A read must see all that any node had committed when it was asked for. */
  #read(sim: SimNode): void {
    const contextId = this.#reads.size + 1;
    const commitIndexes = this.#nodes.filter(({ isDown }) => !isDown).map(commitIndexOf);
    if (!sim.node.readIndex(contextId).ok) return;
    this.#reads.set(contextId, Math.max(...commitIndexes));
    this.#readCount += 1;
  }

  #compact(sim: SimNode): void {
    const index = Math.min(sim.state.index, sim.node.status.appliedIndex);
    if (index > sim.log.firstIndex && sim.persisting === undefined) sim.compact(index - 1);
  }

  #transfer(sim: SimNode): void {
    sim.node.transferLeadership(this.#anyNode().id);
  }

  #change(sim: SimNode): void {
    const { id } = this.#anyNode();
    if (sim.node.proposeMembership(this.#changeFor(id, sim.node.status)).ok) this.#changeCount += 1;
  }

  #changeFor(id: NodeId, { membership }: RaftStatus): MembershipChange {
    const member = memberOf(membership, id);
    if (member === undefined) return { kind: 'addLearner', id, address: '' };
    if (member.role === 'learner') return { kind: this.#chance(4) ? 'remove' : 'promote', id };
    // Keeps the group big enough to bear a crash.
    if (votersOf(membership).length <= 2) return { kind: 'promote', id };
    return { kind: this.#chance(2) ? 'demote' : 'remove', id };
  }

  #toggleCut(sim: SimNode): void {
    if (this.#chance(2)) return this.#cuts.clear();
    this.#cuts.add(`${sim.id}->${this.#anyNode().id}`);
  }

  /** Splits the cluster in two, at random, until something heals it. */
  #partition(): void {
    this.#cuts.clear();
    const side = new Set(this.#nodes.filter(() => this.#chance(2)).map(({ id }) => id));
    for (const { id: from } of this.#nodes) {
      for (const { id: to } of this.#nodes) {
        if (side.has(from) !== side.has(to)) this.#cuts.add(`${from}->${to}`);
      }
    }
  }

  #crashOrRestart(sim: SimNode): void {
    // Mostly one node at a time, so that the others get something done.
    const down = this.#nodes.find(({ isDown }) => isDown);
    if (down !== undefined && !this.#chance(6)) down.restart();
    else if (!sim.isDown) sim.crash(TORN[this.#below(TORN.length)]);
  }

  #command(): { head: Uint8Array; payload: Uint8Array } {
    const head = Uint8Array.from(`c${this.#proposedCount}`, (character) => character.charCodeAt(0));
    return { head, payload: new Uint8Array(this.#below(80)) };
  }

  #anyNode(): SimNode {
    const sim = this.#nodes[this.#below(this.#nodes.length)];
    assert(sim !== undefined, 'a cluster has nodes');
    return sim;
  }

  #chance(oneIn: number): boolean {
    return this.#below(oneIn) === 0;
  }

  #below(bound: number): number {
    return randomBelow(this.#rng, bound);
  }
}

function commitIndexOf(sim: SimNode): number {
  return sim.node.status.commitIndex;
}
