// The messages between members, and which of a peer's two connections each one travels on. The core
// never encodes them: the transport owns the wire format and checks it.

import type { Membership } from './membership.ts';
import type { NodeId } from './node-id.ts';
import type { Entry } from './ports.ts';

/** What every message carries. */
export interface MessageHeader {
  readonly from: NodeId;
  readonly to: NodeId;
  /**
   * The sender's term. Two exceptions, both pre-vote: a request and a granting reply carry the term
   * of the election that *would* follow, which nobody has entered yet.
   */
  readonly term: number;
  /** The incarnation of the sender's disk, >= 1; see {@link Membership}. */
  readonly incarnation: number;
}

/** Asks for a vote, or (`preVote`) whether one would be given (dissertation 3.4, 9.6). */
export interface VoteRequest extends MessageHeader {
  readonly kind: 'voteRequest';
  readonly preVote: boolean;
  /** The leader asked for this election, so a live leader is no reason to refuse (3.10). */
  readonly transfer: boolean;
  readonly lastIndex: number;
  readonly lastTerm: number;
}

export interface VoteReply extends MessageHeader {
  readonly kind: 'voteReply';
  readonly preVote: boolean;
  readonly granted: boolean;
}

/** Replicates entries; with none it only carries the commit index or probes the peer's log. */
export interface AppendMessage extends MessageHeader {
  readonly kind: 'append';
  /** Index and term of the entry before `entries[0]`; 0 and 0 at the start of the log. */
  readonly prevIndex: number;
  readonly prevTerm: number;
  /** Consecutive, from `prevIndex + 1`. Shared with the log: nobody may mutate the buffers. */
  readonly entries: readonly Entry[];
  /** The leader's commit index, which may lie beyond the entries sent so far. */
  readonly commitIndex: number;
}

export interface AppendReply extends MessageHeader {
  readonly kind: 'appendReply';
  readonly rejected: boolean;
  /** Accepted: everything up to here is durable at the peer. Rejected: the refused `prevIndex`. */
  readonly index: number;
  /** Rejected: the leader may go on below here; the largest index that could still match. Else 0. */
  readonly hintIndex: number;
  /** Term of the peer's entry at `hintIndex`; 0 if there is none. */
  readonly hintTerm: number;
}

/** Leader is alive. Never queued behind entries, so that a big append cannot cost the leadership. */
export interface Heartbeat extends MessageHeader {
  readonly kind: 'heartbeat';
  /** The newest read-index round; 0 if there was none. */
  readonly readRound: number;
}

export interface HeartbeatReply extends MessageHeader {
  readonly kind: 'heartbeatReply';
  /** Echo of the heartbeat's round. */
  readonly readRound: number;
  /** The sender's commit index: one that is behind gets an append, which alone may move it. */
  readonly commitIndex: number;
}

/**
 * A complete, verified snapshot has arrived. Built by the *sending* driver when the core asks
 * ({@link Ready.snapshotsToSend}), streamed with its bytes, and stepped into the receiving core by
 * its driver only after the last byte was checked. `term` is the leader's term when the transfer
 * began. The receiving core takes it ({@link Ready.snapshot} is this very object) or, if it knows as
 * much already, does not: then the bytes are dropped.
 */
export interface SnapshotMessage extends MessageHeader {
  readonly kind: 'snapshot';
  readonly snapshot: SnapshotMeta;
}

/** The target of a leadership transfer shall start an election at once (3.10). */
export interface TimeoutNow extends MessageHeader {
  readonly kind: 'timeoutNow';
}

/** The receiver answered under a member's id with another disk; its votes and acks are not counted. */
export interface IdentityConflict extends MessageHeader {
  readonly kind: 'identityConflict';
  /** The incarnation that was refused. */
  readonly refusedIncarnation: number;
}

export type Message =
  | VoteRequest
  | VoteReply
  | AppendMessage
  | AppendReply
  | Heartbeat
  | HeartbeatReply
  | SnapshotMessage
  | TimeoutNow
  | IdentityConflict;

/** What identifies a snapshot: the last entry it covers, and who the members were there. */
export interface SnapshotMeta {
  /** `snapshotIndex`: the last index covered, >= 1. */
  readonly index: number;
  /** `snapshotTerm`: the term of that entry, >= 1. */
  readonly term: number;
  /** The membership in force at `index`. */
  readonly membership: Membership;
}

/**
 * The connection a message belongs on. Votes, heartbeats and every reply go on `control`, entries
 * and snapshots on `bulk`; order matters on neither and nothing on `bulk` may delay `control`.
 */
export function channelOf(message: Message): 'control' | 'bulk' {
  return message.kind === 'append' || message.kind === 'snapshot' ? 'bulk' : 'control';
}
