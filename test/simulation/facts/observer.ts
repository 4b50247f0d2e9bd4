// Watches a running cluster and turns what it sees into facts: who leads, what is durable, what is
// committed, what each node applied.

import { memberOf } from '@queen-ts/raft';
import type { CheckpointMeta, Entry, Membership, Message, NodeId } from '@queen-ts/raft';
import type { Facts } from '../invariants/invariant.ts';
import { InvariantSuite } from '../invariants/suite.ts';
import type { Process, SnapshotPeerCall } from '../nodes/process.ts';
import type { NodeWatch, SimNode } from '../nodes/sim-node.ts';
import type { World } from '../world/world.ts';
import { CommittedLog } from './committed-log.ts';
import { History } from './history.ts';
import type { Tie } from './history.ts';
import { Leaders } from './leader-facts.ts';
import { Ledger } from './ledger.ts';
import { membershipIn, Memberships } from './memberships.ts';

/** How fast leaders approach their wall clocks, in parts per million. */
const SLEW_PPM = 500;

/** Longest pause of a process that the nemesis makes, in election timeouts, and some more. */
const SLEEP_ELECTIONS_MAX = 8;

/** Rounding, and skew between the wall clocks of machines that were just set. */
const CLOCK_ERROR_US_MIN = 60_000;

/** The eyes of one run. */
export class Observer implements NodeWatch, Facts {
  readonly nodes: SimNode[] = [];
  readonly committed = new CommittedLog();
  readonly ledger = new Ledger();
  readonly history = new History();
  readonly suite: InvariantSuite;
  readonly leaders = new Leaders();
  readonly memberships: Memberships;
  newestTerm = 0;
  /** Who was seen leading in the newest term; 0 before the first. */
  leaderId = 0;
  readonly #world: World;
  readonly #transmit: (message: Message) => void;
  readonly #call: (process: Process, call: SnapshotPeerCall) => Promise<Uint8Array>;

  /**
   * @param founders the ids of the founding members.
   * @param ways hand messages, and calls about snapshots, to the network.
   */
  constructor(
    world: World,
    founders: readonly NodeId[],
    ways: {
      readonly send: (message: Message) => void;
      readonly call: (process: Process, call: SnapshotPeerCall) => Promise<Uint8Array>;
    },
  ) {
    this.#world = world;
    this.memberships = new Memberships(this.nodes, founders);
    this.#transmit = ways.send;
    this.#call = ways.call;
    this.suite = new InvariantSuite(world, this);
  }

  get acknowledged(): ReadonlyMap<number, string> {
    return this.history.acknowledged;
  }

  get delivered(): ReadonlyMap<string, ReadonlySet<number>> {
    return this.history.delivered;
  }

  get groups(): ReadonlyMap<string, readonly string[]> {
    return this.history.groups;
  }

  get askedForLeaseUs(): ReadonlyMap<string, number> {
    return this.history.askedForLeaseUs;
  }

  get ties(): ReadonlyMap<number, Tie> {
    return this.history.ties;
  }

  get isLogTimeKnown(): boolean {
    return this.#world.isLogTimeKnown;
  }

  get latenessMaxUs(): number {
    const { network, electionMs } = this.#world.profile;
    return network.stragglerUs + SLEEP_ELECTIONS_MAX * electionMs * 1000;
  }

  get clockErrorUs(): number {
    const { driftPpm } = this.#world.profile;
    return CLOCK_ERROR_US_MIN + (this.nowUs * (2 * driftPpm + 2 * SLEW_PPM)) / 1_000_000;
  }

  get nowUs(): number {
    return this.#world.time.nowUs;
  }

  sent(process: Process, message: Message): void {
    const isLeading = message.kind === 'append' || message.kind === 'heartbeat';
    if (isLeading && message.term > this.newestTerm) {
      this.newestTerm = message.term;
      this.leaderId = message.from;
      this.#leads(process, message.term);
      this.#world.trace.add(() => `node ${message.from}: leads in term ${message.term}`);
    }
    this.suite.tell('sent', process, message);
    this.#transmit(message);
  }

  /** The wall clock of a node jumps. */
  wallJumped(node: SimNode): void {
    const { process } = node;
    if (process === undefined) return;
    process.timeKnowledge.hasWallJumped = true;
    if (this.leaders.wallJumped(process)) this.#world.isLogTimeKnown = false;
  }

  /** A message reached a running process. */
  received(message: Message): void {
    this.suite.tell('received', message);
  }

  appended(node: SimNode, entries: readonly Entry[]): void {
    this.suite.tell('appended', node, entries);
  }

  checkpointed(node: SimNode, meta: CheckpointMeta): void {
    this.suite.tell('checkpointed', node, meta);
  }

  snapshotCalled(process: Process, call: SnapshotPeerCall): Promise<Uint8Array> {
    return this.#call(process, call);
  }

  /** Looks at a node after something happened there. */
  look(nodeId: number): void {
    const process = this.nodes[nodeId - 1]?.process;
    const replica = process?.broker?.replica;
    if (process === undefined || replica === undefined || !process.isAlive) return;
    const { appliedIndex } = replica;
    if (appliedIndex <= process.observedIndex) return;
    for (let index = process.observedIndex + 1; index <= appliedIndex; index += 1) {
      this.#applied(process, index);
      if (this.#world.violation !== undefined) return;
    }
    process.observedIndex = appliedIndex;
    this.suite.tell('settled', process);
  }

  #leads(process: Process, term: number): void {
    const { isKnown, hasWallJumped } = process.timeKnowledge;
    if (!isKnown && hasWallJumped) this.#world.isLogTimeKnown = false;
    this.leaders.add(term, process);
  }

  /** A node that lost its disk counts again once the disk that it has now was admitted. */
  #readmit(membership: Membership): void {
    for (const node of this.nodes) {
      const member = memberOf(membership, node.id);
      const isAdmitted = member?.role === 'voter' && member.incarnation === node.disk.incarnation;
      if (isAdmitted && !node.disk.hasDamage) node.isLost = false;
    }
  }

  #applied(process: Process, index: number): void {
    const entry = process.log?.peek(index);
    // What a snapshot covers was committed, and is judged by its digest.
    if (index < (process.log?.firstIndex ?? 0) && index <= this.committed.lastIndex) return;
    if (entry === undefined) {
      this.#world.violate('nodes apply what is durable', `node ${process.host.id} has no ${index}`);
      return;
    }
    if (index > this.committed.lastIndex) this.#committed(entry);
    this.suite.tell('applied', process, entry);
  }

  #committed(entry: Entry): void {
    this.suite.tell('committed', entry);
    try {
      this.committed.add(entry, this.newestTerm);
      this.memberships.take(entry);
      if (entry.type === 'membership') this.#readmit(membershipIn(entry));
      this.ledger.take(entry, (effect, at) => this.suite.tell('effect', effect, at, entry));
      this.suite.tell('taken', entry);
    } catch (error) {
      this.#world.violate(
        'committed entries can be applied',
        `entry ${entry.index}: ${String(error)}`,
      );
    }
  }
}
