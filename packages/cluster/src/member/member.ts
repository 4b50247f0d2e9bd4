// A member of a cluster put together: the node's own broker, the way to the others, what it does for
// them and what it asks of them.

import type { Clock, Rng } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import type { Broker } from '../broker.ts';
import { SNAPSHOT_REQUEST_KIND } from '../log-upkeep/snapshot-calls.ts';
import type { NodeBroker } from '../node-broker.ts';
import type { Scheduler } from '../scheduler.ts';
import { openBroker } from '../start-broker.ts';
import type { BrokerOptions } from '../start-broker.ts';
import { PeerRequestError } from '../transport/transport.ts';
import type { Transport } from '../transport/transport.ts';
import { ClusterAdmin } from './cluster-admin.ts';
import { DiskReports } from './disk-reports.ts';
import type { ProcessFacts } from './membership-view.ts';
import { FORWARD_LIMITS_DEFAULT } from './forward-budget.ts';
import { LeaderWatch } from './leader-watch.ts';
import { MemberBroker } from './member-broker.ts';
import { PeerService } from './peer-service.ts';
import { Places } from './places.ts';
import type { Place } from './places.ts';

/** How long a leader that stops tries to hand over, in microseconds. */
const HANDOVER_US = 3_000_000;

/** What a member is made of. */
export interface MemberOptions extends BrokerOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** For request ids: unpredictable. */
  readonly rng: Rng;
  /** Members that the configuration names, this one included. Empty for a node that is alone. */
  readonly configured: ReadonlyMap<NodeId, Place>;
  /** The founders, if nothing was founded yet; a node that waits to be added is not among them. */
  readonly voters: readonly NodeId[];
  readonly facts: ProcessFacts;
  /** Called once when another member says that this node's disk is not the one that was admitted. */
  readonly onIdentityRefused: () => void;
  /** Builds the way to the others; undefined for a node that is alone. */
  readonly openTransport: ((local: NodeBroker) => Transport) | undefined;
}

/** A member that can be started and stopped. */
export class Member {
  readonly local: NodeBroker;
  readonly broker: Broker;
  readonly admin: ClusterAdmin;
  readonly transport: Transport | undefined;
  readonly #options: MemberOptions;
  readonly #places: Places;
  readonly #watch: LeaderWatch;
  readonly #members: MemberBroker | undefined;
  readonly #service: PeerService;
  readonly #disks: DiskReports | undefined;
  #dialed = '';
  #isIdentityRefused = false;

  private constructor(options: MemberOptions, local: NodeBroker, watch: LeaderWatch) {
    const { clock, scheduler, rng, configured, facts, heartbeatMs: tickMs } = options;
    this.#options = options;
    this.local = local;
    this.#watch = watch;
    this.#places = new Places(configured);
    this.transport = options.openTransport?.(local);
    const { transport } = this;
    this.admin = new ClusterAdmin({ local, transport, places: this.#places, clock, tickMs, facts });
    const { admin } = this;
    const gate = options.diskGate;
    this.#disks = gate && new DiskReports({ local, transport, gate, clock });
    this.#service = new PeerService({
      local,
      disks: this.#disks,
      successor: () => admin.successor(),
      nodeView: () => admin.view(),
    });
    const limits = FORWARD_LIMITS_DEFAULT;
    this.#members =
      transport === undefined
        ? undefined
        : new MemberBroker({ local, transport, watch, clock, scheduler, rng, limits });
    this.broker = this.#members ?? local;
  }

  /** Opens log and state; rejects as `openBroker`. Neither votes nor serves before `start`. */
  static async open(options: MemberOptions): Promise<Member> {
    const watch = new LeaderWatch(options.clock, options.scheduler);
    let member: Member | undefined;
    const local = await openBroker(options, {
      voters: options.voters,
      send: (messages) => member?.transport?.send(messages),
      requestSnapshot: (to, bytes, call) => {
        const request = { kind: SNAPSHOT_REQUEST_KIND, bytes };
        const transport = member?.transport;
        if (transport !== undefined) return transport.request(to, request, call);
        return Promise.reject(new PeerRequestError(to, 'unreachable', 'notApplied'));
      },
      onChange: () => {
        if (member !== undefined) member.#changed();
      },
    });
    member = new Member(options, local, watch);
    return member;
  }

  /** Listens, joins in and resolves when this node can serve. Rejects when it cannot listen. */
  async start(): Promise<void> {
    const { local, transport } = this;
    await transport?.start({
      receive: (message) => local.receive(message),
      unreachable: (to) => local.unreachable(to),
      request: (request) => this.#service.answer(request),
    });
    this.#dial();
    await local.start();
    const identity = local.replica.engine.identity;
    if (identity !== undefined) transport?.setClusterId(identity.clusterId);
  }

  /** Call regularly with the used part of this node's disk, in [0, 1]: the gate of the cluster goes by it. */
  tellDisk(used: number): void {
    this.#disks?.tell(used);
  }

  /** Hands the leadership over, if it is here and somebody can take it. Never rejects. */
  async handOver(): Promise<void> {
    if (!this.local.isLeader || this.admin.successor() === 0) return;
    const deadlineUs = this.#options.clock.monotonicUs() + HANDOVER_US;
    // Who does not take over in time finds out by itself: this node goes silent next.
    await this.admin.transfer(0, deadlineUs).catch(() => {});
  }

  /** Answers the pops that wait here: nothing came. What is claimed for them goes back. */
  endPops(): void {
    this.#members?.endPops();
  }

  /** Answers what is in hand, then closes the broker and the way to the others. */
  async stop(): Promise<void> {
    await this.broker.stop();
    await this.transport?.stop();
  }

  /** Role, leader or members changed. */
  #changed(): void {
    this.#dial();
    if (!this.#isIdentityRefused && this.local.raftStatus.isIdentityRefused) {
      this.#isIdentityRefused = true;
      this.#options.onIdentityRefused();
    }
    // What waits here would wait for as long as its deadline: it looks for the leader instead.
    if (this.#members !== undefined && !this.local.isLeader) this.local.handBack();
    this.#watch.changed();
  }

  #dial(): void {
    const peers = this.#places.peers(this.local.raftStatus.membership);
    const text = JSON.stringify(peers);
    if (text === this.#dialed) return;
    this.#dialed = text;
    this.transport?.setPeers(peers);
  }
}
