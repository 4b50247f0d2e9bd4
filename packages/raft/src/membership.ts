// Who the members are: the value, its encoding as an entry, the changes that may be asked for, and
// the history that lets an uncommitted change be taken back. Scheme and reasons: ADR 0002.

import type { NodeId } from './messages.ts';

export type MemberRole = 'voter' | 'learner';

/** One member of the group. */
export interface Member {
  readonly id: NodeId;
  readonly role: MemberRole;
  /**
   * The incarnation of the member's disk that was admitted: a number its node drew when it created
   * its data folder. 0 means not known yet: any is accepted. A *voter* answering with another
   * incarnation has lost what it promised, and its votes and acks are not counted.
   */
  readonly incarnation: number;
  /** How to reach the member, opaque to the core; '' means «from the configuration». */
  readonly address: string;
}

/** The members, sorted by id. The newest one in a log is in force as soon as it is appended. */
export interface Membership {
  readonly members: readonly Member[];
}

/** What an operator may ask for, one at a time. */
export type MembershipChange =
  /** Adds a member that only replicates. A new node always starts like this. */
  | { readonly kind: 'addLearner'; readonly id: NodeId; readonly address: string }
  /** Makes a learner that has caught up a voter, and binds the incarnation it answers with. */
  | { readonly kind: 'promote'; readonly id: NodeId }
  /**
   * Makes a voter a learner and forgets its incarnation: the way back for a node whose disk was
   * replaced (demote, let it catch up, promote).
   */
  | { readonly kind: 'demote'; readonly id: NodeId }
  /** Drops a member. A leader that removes itself leads until the change commits, then hands over. */
  | { readonly kind: 'remove'; readonly id: NodeId };
