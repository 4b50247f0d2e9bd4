// The batch that the core hands its driver, and the rules for handling it.

import type { Membership } from './membership.ts';
import type { Message, SnapshotMeta } from './messages.ts';
import type { NodeId } from './node-id.ts';
import type { Entry, HardState } from './ports.ts';

export type Role = 'follower' | 'preCandidate' | 'candidate' | 'leader';

/** Volatile state; emitted when any of it changes. */
export interface SoftState {
  readonly role: Role;
  /** 0 while unknown. */
  readonly leaderId: NodeId | 0;
  /**
   * The current term. A node that lost leadership and won it back between two batches shows the
   * same role under another term: whatever was proposed or asked to be read under the old term must
   * be matched by (term, index) or given up (I14).
   */
  readonly term: number;
  /** Another member told this node that its disk is not the one that was admitted. It cannot vote. */
  readonly isIdentityRefused: boolean;
}

/** Answer to `readIndex`: the read may be served once `appliedIndex >= index`. */
export interface ReadState {
  readonly contextId: number;
  readonly index: number;
}

/** Names one persist for `RaftNode.persisted`. */
export interface PersistToken {
  /** Term and index of the last entry that is durable when this persist is done; 0 if none. */
  readonly term: number;
  readonly index: number;
}

/**
 * One batch of work. The driver's order:
 *
 * 1. Send `messages`, stream `snapshotsToSend`, answer `readStates`. Nothing in them depends on
 *    this batch's disk work, so they go out before or while it runs: the leader's own sync runs in
 *    parallel with replication.
 * 2. If `persistUpTo` is set, start the persist: save `hardState`, then install `snapshot`, then
 *    append `entries`, all synced. In that order: no entry may be durable whose term is not.
 * 3. Apply `committed`, in order, completely. They are already durable here, so this need not wait
 *    for step 2. Then call `advance()`.
 * 4. When the persist is durable: call `persisted(persistUpTo)`, send `messagesAfterPersist`.
 *
 * Between 2 and 4 the driver may call anything else, `ready` included: while one persist is in
 * flight the core gives out no second one. A persist that fails ends the process (I11).
 */
export interface Ready {
  /** Set when it differs from what was last handed out, `commitIndex` alone excepted (it rides along). */
  readonly hardState?: HardState;
  /** Replace all state by this snapshot: the log then is empty and starts at `snapshot.index + 1`. */
  readonly snapshot?: SnapshotMeta;
  /** To append; the first index may lie below the store's last, which truncates. Often empty. */
  readonly entries: readonly Entry[];
  /** True if there is anything to persist; all of it needs an fsync before step 4. */
  readonly mustSync: boolean;
  /** Set if `mustSync`: what to hand to `persisted` when it is durable. */
  readonly persistUpTo?: PersistToken;
  /** May be sent at once. */
  readonly messages: readonly Message[];
  /** Votes, acks and whatever speaks of a term that is not durable yet. Only after the persist. */
  readonly messagesAfterPersist: readonly Message[];
  /** Committed and locally durable, in index order, each handed out once; bounded by `maxAppendBytes`. */
  readonly committed: readonly Entry[];
  readonly readStates: readonly ReadState[];
  /** Peers that need a snapshot of at least `minIndex`; report each with `reportSnapshot`. */
  readonly snapshotsToSend: readonly SnapshotRequest[];
  readonly softState?: SoftState;
}

/** The peer lacks entries that this node's log no longer retains. */
export interface SnapshotRequest {
  readonly to: NodeId;
  /** The snapshot must cover at least this index for the log to continue it. */
  readonly minIndex: number;
  /** The term to put into the SnapshotMessage. */
  readonly term: number;
}

/** What the leader knows about a peer. */
export interface PeerStatus {
  readonly id: NodeId;
  readonly state: 'probe' | 'replicate' | 'snapshot';
  readonly matchIndex: number;
  readonly nextIndex: number;
  readonly inflightBytes: number;
  /** Ticks since anything of this term was heard from it, from 0. */
  readonly ticksSinceHeard: number;
  /** The peer answers with a disk that was not admitted. */
  readonly isIdentityRefused: boolean;
}

/** A consistent picture of the node, for answers, metrics and tests. */
export interface RaftStatus {
  readonly id: NodeId;
  readonly role: Role;
  readonly term: number;
  readonly votedFor: NodeId | 0;
  readonly leaderId: NodeId | 0;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  /** Highest index known durable on this node. */
  readonly persistedIndex: number;
  /** Leader only: an entry of its own term is committed, so it may plan, read and change members. */
  readonly hasCommittedInTerm: boolean;
  /** Leader only: bytes proposed in this term and not yet committed. */
  readonly uncommittedBytes: number;
  /** Target of a running leadership transfer; 0 if none. */
  readonly transferTarget: NodeId | 0;
  readonly isIdentityRefused: boolean;
  readonly membership: Membership;
  /** Index of the entry that set `membership`; 0, or its snapshot's index, where that is not known. */
  readonly membershipIndex: number;
  /** Leader only, by ascending id, without itself; else empty. */
  readonly peers: readonly PeerStatus[];
}
