// RaftNode: the one door of the core. Takes one input at a time, yields one batch of output, and
// delegates the rules to the file of the current role. No I/O, no clock, no randomness of its own.

import { InvariantError } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';
import type { Membership, MembershipChange } from './membership.ts';
import type { Message, NodeId } from './messages.ts';
import type { HardState, LogReader } from './ports.ts';
import type { PersistToken, RaftStatus, Ready } from './ready.ts';

export interface RaftLimits {
  /** Soft limit on the entries of one append, and of one batch of committed entries; bytes, >= 1. */
  readonly maxAppendBytes: number;
  /** Appends sent to one peer and not yet acknowledged, bytes; one append is always allowed. */
  readonly maxInflightBytes: number;
  /** Proposed and not yet committed, bytes; one proposal is always allowed. */
  readonly maxUncommittedBytes: number;
}

export interface RaftNodeOptions {
  readonly id: NodeId;
  /**
   * The incarnation of this node's disk: a random integer in [1, 2^48), drawn and made durable with
   * the hard state when the data folder is created, and never again.
   */
  readonly incarnation: number;
  /**
   * Founding configuration: who votes and who only replicates before the log says otherwise. Equal
   * on all founding nodes; ignored once the log or `membership` knows better. A node that joins an
   * existing group gives the group's members and leaves itself out.
   */
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
  /**
   * How many votes found a group, that is, elect a leader whose log is empty. `all` (default): every
   * voter must answer once, after which a voter that lost its disk is always recognised. `majority`:
   * a group may be founded with voters missing; if then one founder loses its disk and the only
   * holder of the log is down, the wiped one and a never-started one could found a second group.
   */
  readonly foundingVotes?: 'all' | 'majority';
  /** Entries below `firstIndex` are covered by the state that `appliedIndex` speaks of. */
  readonly log: LogReader;
  readonly hardState: HardState;
  /** The index the state machine starts from; entries after it are handed out again. */
  readonly appliedIndex: number;
  /** The membership in force at `appliedIndex`, as the state machine kept it; absent on a new node. */
  readonly membership?: Membership;
  readonly rng: Rng;
  /** Ticks without a leader before an election, drawn from [electionTicks, 2 * electionTicks). */
  readonly electionTicks: number;
  /** Ticks between heartbeats; less than `electionTicks`. */
  readonly heartbeatTicks: number;
  readonly limits: RaftLimits;
}

export type ProposeResult =
  | { readonly ok: true; readonly index: number; readonly term: number }
  | {
      readonly ok: false;
      readonly refusal: 'notLeader' | 'tooManyUncommitted' | 'transferring';
    };

export type ReadIndexResult =
  { readonly ok: true } | { readonly ok: false; readonly refusal: 'notLeader' | 'tooManyReads' };

export type TransferResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** `transferring`: another transfer runs. `notVoter`: unknown, a learner, or refused. */
      readonly refusal: 'notLeader' | 'transferring' | 'notVoter' | 'isLeader';
    };

export type MembershipResult =
  | { readonly ok: true; readonly index: number; readonly term: number }
  | {
      readonly ok: false;
      readonly refusal:
        | 'notLeader'
        | 'transferring'
        /** An earlier change has not committed yet. */
        | 'changeInFlight'
        /** No entry of this term is committed yet (the single-server bug of 2015). */
        | 'termNotCommitted'
        | 'alreadyMember'
        | 'notMember'
        | 'notLearner'
        | 'notVoter'
        /** The learner has not replicated what was committed one heartbeat ago. */
        | 'learnerBehind'
        /** Nobody would be left to vote. */
        | 'lastVoter'
        | 'tooManyMembers';
    };

/**
 * One member of a Raft group. Not re-entrant; calls come from one thread, in any order except that
 * each `ready` is followed by `advance` before the next `ready`. See {@link Ready} for the driver's
 * duties. Any thrown InvariantError ends the process.
 */
export class RaftNode {
  constructor(_options: RaftNodeOptions) {
    throw new InvariantError('under construction');
  }

  /** Takes one message from a peer. Messages for another node are a bug; unknown senders are not. */
  step(_message: Message): void {}

  /** One step of logical time. The driver calls it at a fixed period, also when it is late (once). */
  tick(): void {}

  /**
   * Appends a command. The answer's (term, index) is what its outcome must be matched by: another
   * term at that index means it is lost. Buffers belong to the log from here on.
   */
  propose(_data: { head: Uint8Array; payload: Uint8Array }): ProposeResult {
    return { ok: false, refusal: 'notLeader' };
  }

  /**
   * Asks for an index at which a read is linearizable (6.4). The answer comes in `readStates` after
   * a quorum confirmed the leadership; many reads share one round. Lost without a word when the
   * term or role changes: the driver then fails or re-routes what it asked.
   * @param contextId the caller's name for the read, echoed.
   */
  readIndex(_contextId: number): ReadIndexResult {
    return { ok: false, refusal: 'notLeader' };
  }

  /**
   * Hands leadership to a voter: proposals are refused until it took over or an election timeout
   * passed. A lagging target is brought up to date first.
   */
  transferLeadership(_to: NodeId): TransferResult {
    return { ok: false, refusal: 'notLeader' };
  }

  /** Changes the members by one step; takes effect when appended, is final when committed. */
  proposeMembership(_change: MembershipChange): MembershipResult {
    return { ok: false, refusal: 'notLeader' };
  }

  /** Starts an election now (with pre-vote). The only voter of a group becomes leader at once. */
  campaign(): void {}

  /** The bulk connection to a peer broke: appends in flight are likely lost. */
  reportUnreachable(_to: NodeId): void {}

  /**
   * The transfer asked for by `snapshotsToSend` ended. `finished`: the peer's driver confirmed that
   * it received all of `index`. `failed`: anything else; the core asks again after a heartbeat.
   */
  reportSnapshot(_report: { to: NodeId; outcome: 'finished' | 'failed'; index: number }): void {}

  /** True if `ready` would return any work. False while a batch awaits `advance`. */
  hasReady(): boolean {
    return false;
  }

  /** Returns the next batch, possibly empty. Must be followed by `advance`. */
  ready(): Ready {
    throw new InvariantError('under construction');
  }

  /**
   * The persist of an earlier batch is durable. Only now does the leader count itself.
   * @param upTo that batch's `persistUpTo`. Entries that were replaced while the persist ran are not
   * counted, whatever it says.
   */
  persisted(_upTo: PersistToken): void {}

  /**
   * The store was replaced together with the state while a snapshot was installed. Called before the
   * `persisted` of that batch, with a log that is empty and ends at the snapshot.
   */
  replaceLog(_log: LogReader): void {}

  /** The batch is handled: its `committed` entries are applied. */
  advance(): void {}

  get status(): RaftStatus {
    throw new InvariantError('under construction');
  }
}
