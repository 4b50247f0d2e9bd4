// The state that all roles share, and the transitions between roles. What a node does in a role is
// in the file of that role; nothing here looks at a message.

import { assert, randomBelow } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';
import type { Election } from './candidate.ts';
import type { Leadership } from './leader.ts';
import { RaftLog } from './log.ts';
import { decodeMembership } from './membership-codec.ts';
import { foundingMembership, memberOf, MembershipHistory, votersOf } from './membership.ts';
import type { Message, SnapshotMeta } from './messages.ts';
import type { NodeId } from './node-id.ts';
import type { RaftLimits, RaftNodeOptions } from './options.ts';
import { Outbox } from './outbox.ts';
import type { Entry, LogReader } from './ports.ts';
import type { Role } from './ready.ts';

/** How much of the log is read at a time when a node starts. */
const SCAN_SIZE_BYTES = 2 ** 20;

/** A message without what every message of this node has in common. */
export type Outgoing = Message extends infer M
  ? M extends Message
    ? Omit<M, 'from' | 'incarnation' | 'term'> & { readonly term?: number }
    : never
  : never;

/** Everything a node knows. Only `becomeX` functions change `role`, `election` and `leadership`. */
export class Core {
  readonly id: NodeId;
  readonly incarnation: number;
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  readonly limits: RaftLimits;
  readonly foundingVotes: 'all' | 'majority';
  readonly log: RaftLog;
  readonly memberships: MembershipHistory;
  readonly outbox: Outbox;
  readonly #rng: Rng;

  term: number;
  votedFor: NodeId | 0;
  role: Role = 'follower';
  leaderId: NodeId | 0 = 0;
  /** Set in roles preCandidate and candidate. */
  election: Election | undefined;
  /** Set in role leader. */
  leadership: Leadership | undefined;
  /** Ticks since a leader was heard, or since the election began. */
  electionElapsed = 0;
  /** `electionElapsed` at which the next election starts. */
  electionTimeout = 0;
  /** Ticks since the persist in flight began or last made progress; 0 while none is. */
  stalledTicks = 0;
  /** Another member refused this node's incarnation, and no newer membership was seen since. */
  wasIdentityRefused = false;

  constructor(options: RaftNodeOptions) {
    const { hardState, heartbeatTicks, electionTicks } = options;
    assert(
      heartbeatTicks >= 1 && heartbeatTicks < electionTicks,
      () => `heartbeat every ${heartbeatTicks} of ${electionTicks} ticks`,
    );
    assert(
      Number.isSafeInteger(options.incarnation) && options.incarnation >= 1,
      () => `incarnation ${options.incarnation}`,
    );
    const { maxAppendBytes, maxInflightBytes, maxUncommittedBytes } = options.limits;
    assert(
      Math.min(maxAppendBytes, maxInflightBytes, maxUncommittedBytes) >= 1,
      'limits are at least 1 byte',
    );
    this.id = options.id;
    this.incarnation = options.incarnation;
    this.electionTicks = electionTicks;
    this.heartbeatTicks = heartbeatTicks;
    this.limits = options.limits;
    this.foundingVotes = options.foundingVotes ?? 'all';
    this.#rng = options.rng;
    this.term = hardState.term;
    this.votedFor = hardState.votedFor;
    this.outbox = new Outbox(hardState.term);
    const { log: store, appliedIndex } = options;
    this.log = new RaftLog({ store, commitIndex: hardState.commitIndex, appliedIndex });
    assert(
      this.log.lastTerm <= this.term,
      () => `log ends in term ${this.log.lastTerm}, hard state is of term ${this.term}`,
    );
    this.memberships = new MembershipHistory({
      index: 0,
      membership: options.membership ?? foundingMembership(options),
    });
    this.#readMemberships(store, options);
    this.resetElectionTimer();
  }

  /** Whether the newest membership, committed or not, gives this node a vote. */
  get isVoter(): boolean {
    return memberOf(this.memberships.latest, this.id)?.role === 'voter';
  }

  /**
   * This node's disk is not the one that was admitted under its id. It may hold fewer promises than
   * were made in its name, so it neither votes nor campaigns (I10).
   */
  get isIdentityRefused(): boolean {
    const bound = memberOf(this.memberships.latest, this.id)?.incarnation ?? 0;
    return this.wasIdentityRefused || (bound !== 0 && bound !== this.incarnation);
  }

  /** This node decides alone. */
  get isOnlyVoter(): boolean {
    const voters = votersOf(this.memberships.latest);
    return voters.length === 1 && voters[0] === this.id;
  }

  /** The disk has made no progress for an election timeout. */
  get isDiskStalled(): boolean {
    return this.stalledTicks >= this.electionTicks;
  }

  /** Queues a message; see {@link Outbox.send}. `term` defaults to the current one. */
  send(outgoing: Outgoing): void {
    this.outbox.send(this.#complete(outgoing));
  }

  /** Queues a vote or an ack; see {@link Outbox.sendAfterPersist}. */
  sendAfterPersist(outgoing: Outgoing): void {
    this.outbox.sendAfterPersist(this.#complete(outgoing));
  }

  /** Appends entries and takes note of memberships among them, and of those they replace. */
  append(entries: readonly Entry[]): void {
    const first = entries[0];
    assert(first !== undefined, 'append of nothing');
    if (first.index <= this.memberships.latestIndex) this.memberships.truncate(first.index);
    this.log.append(entries);
    for (const entry of entries) {
      if (entry.type !== 'membership') continue;
      this.memberships.append(entry.index, decodeMembership(entry.head));
      this.wasIdentityRefused = false;
    }
  }

  /** Replaces log and membership by a snapshot's. */
  restore(snapshot: SnapshotMeta): void {
    this.log.restore(snapshot);
    this.memberships.reset(snapshot);
    this.wasIdentityRefused = false;
  }

  /** Raises the commit index. Returns whether it moved. */
  commitTo(index: number): boolean {
    if (!this.log.commitTo(index)) return false;
    this.memberships.commit(index);
    return true;
  }

  /** Draws a new timeout from [electionTicks, 2 * electionTicks) and starts waiting (3.4). */
  resetElectionTimer(): void {
    this.electionElapsed = 0;
    this.electionTimeout = this.electionTicks + randomBelow(this.#rng, this.electionTicks);
  }

  /** Follows `leaderId` (0: nobody yet) in `term`; a new term forgets the vote of the old one. */
  becomeFollower(term: number, leaderId: NodeId | 0): void {
    assert(term >= this.term, () => `term falls from ${this.term} to ${term}`);
    if (term > this.term) {
      this.term = term;
      this.votedFor = 0;
    }
    this.#enter('follower');
    this.leaderId = leaderId;
  }

  /** Asks around before raising the term: neither term nor vote change (9.6). */
  becomePreCandidate(election: Election): void {
    assert(this.role !== 'leader', 'a leader does not campaign');
    this.#enter('preCandidate');
    this.election = election;
  }

  /** Enters a new term with a vote for itself. */
  becomeCandidate(election: Election): void {
    assert(this.role !== 'leader', 'a leader does not campaign');
    this.term += 1;
    this.votedFor = this.id;
    this.#enter('candidate');
    this.election = election;
  }

  /** Won the election of the current term. */
  becomeLeader(leadership: Leadership): void {
    assert(this.role === 'candidate', () => `a ${this.role} cannot become leader`);
    this.#enter('leader');
    this.leaderId = this.id;
    this.leadership = leadership;
  }

  #enter(role: Role): void {
    this.role = role;
    this.leaderId = 0;
    this.election = undefined;
    this.leadership = undefined;
    this.resetElectionTimer();
  }

  #complete(outgoing: Outgoing): Message {
    const { id: from, incarnation, term } = this;
    return { from, incarnation, term, ...outgoing } as Message;
  }

  /**
   * Finds the memberships in the log after the one that the state machine kept; without one, all of
   * them, for which the log must be complete.
   */
  #readMemberships(store: LogReader, options: RaftNodeOptions): void {
    const { membership, appliedIndex } = options;
    const isKnown = membership !== undefined;
    assert(
      isKnown || store.firstIndex === 1,
      () => `the log starts at ${store.firstIndex}, and no membership was given`,
    );
    const range = { from: isKnown ? appliedIndex + 1 : 1, toExclusive: store.lastIndex + 1 };
    for (const { index, head } of membershipEntriesOf(store, range)) {
      this.memberships.append(index, decodeMembership(head));
    }
    this.memberships.commit(this.log.commitIndex);
  }
}

/** The membership entries of a range, by index where the store keeps one, else by reading it all. */
function membershipEntriesOf(
  store: LogReader,
  range: { readonly from: number; readonly toExclusive: number },
): Entry[] {
  const found: Entry[] = [];
  const indexes = store.membershipIndexes?.(range);
  if (indexes !== undefined) {
    for (const from of indexes) {
      found.push(...store.entries({ from, toExclusive: from + 1, maxBytes: 0 }));
    }
    return found;
  }
  let { from } = range;
  while (from < range.toExclusive) {
    const entries = store.entries({ ...range, from, maxBytes: SCAN_SIZE_BYTES });
    found.push(...entries.filter(({ type }) => type === 'membership'));
    from += entries.length;
  }
  return found;
}
