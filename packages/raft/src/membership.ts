// Who the members are: the value, the changes that may be asked for, and the history that lets an
// uncommitted change be taken back. Scheme and reasons: ADR 0002.

import { assert } from '@queen-ts/base';
import type { NodeId } from './node-id.ts';

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

/** Most members a group may have. */
export const MEMBER_COUNT_MAX = 64;

/** The membership a group is founded with: ids from the configuration, incarnations not yet known. */
export function foundingMembership(ids: {
  voters: readonly NodeId[];
  learners: readonly NodeId[];
}): Membership {
  const memberOf = (id: NodeId, role: MemberRole): Member => ({
    id,
    role,
    incarnation: 0,
    address: '',
  });
  return membershipOf([
    ...ids.voters.map((id) => memberOf(id, 'voter')),
    ...ids.learners.map((id) => memberOf(id, 'learner')),
  ]);
}

/** Sorts the members; asserts that no id repeats and that the count is in bounds. */
export function membershipOf(members: readonly Member[]): Membership {
  const sorted = [...members].sort((a, b) => a.id - b.id);
  assert(sorted.length <= MEMBER_COUNT_MAX, () => `${sorted.length} members`);
  sorted.forEach((member, i) => {
    assert(member.id !== sorted[i + 1]?.id, () => `member ${member.id} repeats`);
  });
  return { members: sorted };
}

export function memberOf(membership: Membership, id: NodeId): Member | undefined {
  return membership.members.find((member) => member.id === id);
}

/** Ids of the voters, ascending. */
export function votersOf(membership: Membership): NodeId[] {
  return membership.members.filter(({ role }) => role === 'voter').map(({ id }) => id);
}

export type ChangeRefusal =
  | 'alreadyMember'
  | 'notMember'
  | 'notLearner'
  | 'notVoter'
  /** Nobody would be left to vote. */
  | 'lastVoter'
  | 'tooManyMembers';

/**
 * The membership after `change`, or why it makes none. The sets of voters before and after differ by
 * at most one, so that any two majorities of them overlap (dissertation 4.1).
 * @param boundIncarnation what a promoted learner answers with, >= 1; ignored otherwise.
 */
export function changedMembership(
  membership: Membership,
  change: MembershipChange,
  boundIncarnation: number,
): Membership | ChangeRefusal {
  const member = memberOf(membership, change.id);
  const others = membership.members.filter(({ id }) => id !== change.id);
  if (change.kind === 'addLearner') {
    if (member !== undefined) return 'alreadyMember';
    if (others.length >= MEMBER_COUNT_MAX) return 'tooManyMembers';
    const { id, address } = change;
    return membershipOf([...others, { id, role: 'learner', incarnation: 0, address }]);
  }
  if (member === undefined) return 'notMember';
  const leavesNoVoter = !others.some(({ role }) => role === 'voter');
  switch (change.kind) {
    case 'promote':
      if (member.role !== 'learner') return 'notLearner';
      return membershipOf([...others, { ...member, role: 'voter', incarnation: boundIncarnation }]);
    case 'demote':
      if (member.role !== 'voter') return 'notVoter';
      if (leavesNoVoter) return 'lastVoter';
      return membershipOf([...others, { ...member, role: 'learner', incarnation: 0 }]);
    case 'remove':
      return leavesNoVoter ? 'lastVoter' : membershipOf(others);
  }
}

interface HistoryRecord {
  /** The entry that set it, or a later one where that is not known; 0 for what the node began with. */
  readonly index: number;
  readonly membership: Membership;
}

/** The memberships that may still be in force: the last committed one and those after it. */
export class MembershipHistory {
  #records: HistoryRecord[];

  /** @param base in force at `index`, which is committed. */
  constructor(base: HistoryRecord) {
    this.#records = [base];
  }

  /** The one in force: the newest, committed or not. */
  get latest(): Membership {
    return this.#last.membership;
  }

  /** Index of the entry that set `latest`. */
  get latestIndex(): number {
    return this.#last.index;
  }

  /** Whether `id` is a voter in the last committed membership or in any after it. */
  mayVote(id: NodeId): boolean {
    return this.#records.some(({ membership }) => memberOf(membership, id)?.role === 'voter');
  }

  /** A membership entry was appended. */
  append(index: number, membership: Membership): void {
    assert(index > this.latestIndex, () => `membership ${index} after ${this.latestIndex}`);
    this.#records.push({ index, membership });
  }

  /** Entries from `index` on were truncated: takes their memberships back. */
  truncate(index: number): void {
    assert(this.#records[0] !== undefined && this.#records[0].index < index, 'base truncated');
    this.#records = this.#records.filter((record) => record.index < index);
  }

  /** Everything up to `index` is committed: forgets what can no longer come back. */
  commit(index: number): void {
    while (this.#records[1] !== undefined && this.#records[1].index <= index) this.#records.shift();
  }

  /** A snapshot replaced the log. */
  reset(base: HistoryRecord): void {
    this.#records = [base];
  }

  get #last(): HistoryRecord {
    const last = this.#records.at(-1);
    assert(last !== undefined, 'the history is never empty');
    return last;
  }
}
