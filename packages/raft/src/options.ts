// What a RaftNode is built from.

import type { Rng } from '@queen-ts/base';
import type { Membership } from './membership.ts';
import type { NodeId } from './node-id.ts';
import type { HardState, LogReader } from './ports.ts';

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
   * a group may be founded with voters missing, whose votes count once their disk is on record; if
   * then a founder loses its disk while every other holder of the log is down, it and a node that
   * never started could found a second group.
   */
  readonly foundingVotes?: 'all' | 'majority';
  /** Entries below `firstIndex` are covered by the state that `appliedIndex` speaks of. */
  readonly log: LogReader;
  readonly hardState: HardState;
  /** The index the state machine starts from; entries after it are handed out again. */
  readonly appliedIndex: number;
  /**
   * The membership in force at `appliedIndex`, as the state machine kept it. May be absent as long as
   * the log is complete from index 1 on.
   */
  readonly membership?: Membership;
  readonly rng: Rng;
  /** Ticks without a leader before an election, drawn from [electionTicks, 2 * electionTicks). */
  readonly electionTicks: number;
  /** Ticks between heartbeats; less than `electionTicks`. */
  readonly heartbeatTicks: number;
  readonly limits: RaftLimits;
}
