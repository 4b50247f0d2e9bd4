// One member's broker with the doors that only its own node uses: messages of peers, what a forwarded
// request needs, and changes of the cluster itself.

import type {
  MembershipChange,
  MembershipResult,
  Message,
  NodeId,
  RaftStatus,
  TransferResult,
} from '@queen-ts/raft';
import type { Broker } from './broker.ts';
import type { ReplicaView } from './replica.ts';

/** A node that takes requests and the messages of its peers. */
export interface NodeBroker extends Broker {
  /** Takes a message from another member. */
  receive(message: Message): void;
  /**
   * Answers a peer's request of kind `SNAPSHOT_REQUEST_KIND`, about a snapshot for this node. Rejects
   * when it cannot be understood, and when the node has failed.
   */
  receiveSnapshot(from: NodeId, bytes: Uint8Array): Promise<Uint8Array>;
  /** Bulk messages to this peer were lost. */
  unreachable(to: NodeId): void;
  /** This node's copy of the state, to compare digests with those of its peers (I9). Read-only. */
  readonly replica: ReplicaView;
  /** Starts the timers; resolves when the cluster has a leader and this node knows its identity. */
  start(): Promise<void>;
  /** Who leads, as far as this node knows; 0 when nobody does. */
  readonly leaderId: NodeId | 0;
  /** Whether this node leads; what it is asked for then is planned here. */
  readonly isLeader: boolean;
  /** Set once the node stopped for good. */
  readonly failure: Error | undefined;
  readonly raftStatus: RaftStatus;
  /**
   * How long ago a quorum is known to have stood behind the leader, in microseconds; undefined while
   * there is no leader.
   */
  quorumAgeUs(): number | undefined;
  /** Refuses with `no_leader` what waits to be planned, parked pops included. Nothing was done for it. */
  handBack(): void;
  /**
   * Leader: an index whose state contains every write answered before the call. Rejects with
   * `no_leader`, `retry` or `timeout`.
   */
  confirmedIndex(deadlineUs: number): Promise<number>;
  /** Whether the state contains `index`, at the latest at `deadlineUs` (monotonic). */
  applied(index: number, deadlineUs: number): Promise<boolean>;
  /**
   * Asks the core for a change of the members; only a leader may. It is in force as soon as it is
   * appended, and final once it is committed.
   */
  changeMembers(change: MembershipChange): MembershipResult;
  /**
   * Leader: changes the members by one step; resolves when that is committed, or refused without an
   * effect. Rejects with `outcome_unknown` when the leadership or the time ended before.
   */
  commitMembers(change: MembershipChange, deadlineUs: number): Promise<MembershipResult>;
  /**
   * Leader: hands over to a voter; resolves when this node does not lead any more, or with a refusal.
   * Rejects with `outcome_unknown` when it still leads at the deadline or the other gave up.
   */
  transferLeadership(to: NodeId, deadlineUs: number): Promise<TransferResult>;
}
