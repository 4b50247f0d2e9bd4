// Changes of the cluster and views of it, from any member: what only the leader can do is asked of it.

import type { Clock } from '@queen-ts/base';
import { BrokerError } from '@queen-ts/protocol';
import { votersOf } from '@queen-ts/raft';
import type { MembershipChange, MembershipResult, NodeId, TransferResult } from '@queen-ts/raft';
import { clusterIdOf } from '../load-state.ts';
import type { NodeBroker } from '../node-broker.ts';
import { notLeading } from '../refusals.ts';
import type { Transport } from '../transport/transport.ts';
import { PeerRequestError } from '../transport/transport.ts';
import { nodeViewOf } from './membership-view.ts';
import type { NodeView, ProcessFacts } from './membership-view.ts';
import { CALL, decodeAnswer } from './peer-calls.ts';
import type { MembersCall, TransferCall } from './peer-calls.ts';
import { ANSWER_MARGIN_US } from './peer-service.ts';
import { encodeValue } from './peer-values.ts';
import type { Places } from './places.ts';

/** Parts of the administration. */
export interface ClusterAdminParts {
  readonly local: NodeBroker;
  /** Undefined for a node that is alone. */
  readonly transport: Pick<Transport, 'request'> | undefined;
  readonly places: Places;
  readonly clock: Clock;
  /** Period of the core's clock, in milliseconds. */
  readonly tickMs: number;
  readonly facts: ProcessFacts;
}

/** An age is not shown as more than this. */
const AGE_MS_MAX = 86_400_000;

/** See the head of the file. */
export class ClusterAdmin {
  readonly #parts: ClusterAdminParts;
  readonly #startedUs: number;

  constructor(parts: ClusterAdminParts) {
    this.#parts = parts;
    this.#startedUs = parts.clock.monotonicUs();
  }

  /** What this node knows. */
  view(): NodeView {
    const { local, places, tickMs, clock, facts } = this.#parts;
    const ageUs = local.quorumAgeUs();
    return nodeViewOf(local.raftStatus, {
      facts,
      places,
      tickMs,
      appliedIndex: local.replica.appliedIndex,
      clusterId: clusterIdOf(local.replica.engine),
      quorumAgeMs: ageUs === undefined ? null : Math.min(Math.floor(ageUs / 1000), AGE_MS_MAX),
      uptimeSeconds: Math.floor((clock.monotonicUs() - this.#startedUs) / 1e6),
    });
  }

  /** What another member says of itself. Rejects with PeerRequestError when it cannot be asked. */
  async viewOf(id: NodeId, deadlineUs: number): Promise<NodeView> {
    if (id === this.#parts.local.raftStatus.id) return this.view();
    return (await this.#ask(id, { kind: CALL.NODE_VIEW, body: {}, deadlineUs })) as NodeView;
  }

  /** What the leader says. Rejects with `no_leader` when it cannot be asked. */
  async leaderView(deadlineUs: number): Promise<NodeView> {
    const { leaderId } = this.#parts.local;
    if (leaderId === this.#parts.local.raftStatus.id) return this.view();
    return this.#askLeader({ kind: CALL.NODE_VIEW, body: {}, deadlineUs });
  }

  /** Changes the members by one step; see `NodeBroker.commitMembers`. */
  change(change: MembershipChange, deadlineUs: number): Promise<MembershipResult> {
    const { local } = this.#parts;
    if (local.isLeader) return local.commitMembers(change, deadlineUs);
    const body: MembersCall = { change };
    return this.#askLeader({ kind: CALL.CHANGE_MEMBERS, body, deadlineUs });
  }

  /**
   * Hands the leadership over: to `to`, or with 0 to the voter that is closest. Resolves when the old
   * leader does not lead any more.
   */
  async transfer(to: NodeId | 0, deadlineUs: number): Promise<TransferResult> {
    const { local } = this.#parts;
    if (!local.isLeader) {
      const body: TransferCall = { to };
      return this.#askLeader({ kind: CALL.TRANSFER, body, deadlineUs });
    }
    const target = to === 0 ? this.successor() : to;
    if (target === 0) return { ok: false, refusal: 'notVoter' };
    return local.transferLeadership(target, deadlineUs);
  }

  /** The live voter whose log is closest to this leader's; 0 if there is none. */
  successor(): NodeId | 0 {
    const { membership, peers } = this.#parts.local.raftStatus;
    const voters = votersOf(membership);
    const [best] = peers
      .filter((peer) => voters.includes(peer.id) && !peer.isIdentityRefused)
      .filter((peer) => peer.state === 'replicate')
      .sort((a, b) => b.matchIndex - a.matchIndex || a.ticksSinceHeard - b.ticksSinceHeard);
    return best?.id ?? 0;
  }

  async #askLeader<T>(call: {
    readonly kind: number;
    readonly body: unknown;
    readonly deadlineUs: number;
  }): Promise<T> {
    const { leaderId } = this.#parts.local;
    if (leaderId === 0) throw notLeading();
    try {
      return (await this.#ask(leaderId, call)) as T;
    } catch (error) {
      if (!(error instanceof PeerRequestError)) throw error;
      const isInDoubt = error.outcome === 'unknown' && call.kind !== CALL.NODE_VIEW;
      const code = isInDoubt ? 'outcome_unknown' : 'no_leader';
      const message = `the leader, node ${leaderId}, did not answer (${error.reason})`;
      throw new BrokerError(code, message, { cause: error });
    }
  }

  async #ask(
    to: NodeId,
    call: { readonly kind: number; readonly body: unknown; readonly deadlineUs: number },
  ): Promise<unknown> {
    const { transport } = this.#parts;
    if (transport === undefined) throw new PeerRequestError(to, 'unreachable', 'notApplied');
    const request = { kind: call.kind, bytes: encodeValue(call.body) };
    const deadlineUs = call.deadlineUs + ANSWER_MARGIN_US;
    return decodeAnswer(await transport.request(to, request, { deadlineUs })).value;
  }
}
