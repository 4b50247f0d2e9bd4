// What an operator asks for, as a sequence of single changes: the core changes one voter at a time, and
// every step is judged by the leader. Asking again for what is so already changes nothing.

import type { ClusterAdmin, MemberView, NodeId, NodeView, Place } from '@queen-ts/cluster';
import { placeText } from '@queen-ts/cluster';
import type { Clock } from '@queen-ts/base';
import { setTimeout as pause } from 'node:timers/promises';
import { ChangeRefused } from './change-refused.ts';
import type { ChangeCode } from './change-refused.ts';

type Change = Parameters<ClusterAdmin['change']>[0];
type Refusal = Extract<Awaited<ReturnType<ClusterAdmin['change']>>, { ok: false }>['refusal'];

/** Time between two attempts at what may go in a moment. */
const RETRY_MS = 100;

const REFUSALS: Readonly<Record<Refusal, readonly [code: ChangeCode, message: string]>> = {
  notLeader: ['leader_changed', 'the leader changed meanwhile'],
  transferring: ['in_flight', 'the leadership is being handed over'],
  changeInFlight: ['in_flight', 'another change is not committed yet'],
  termNotCommitted: ['in_flight', 'the leader has just been elected'],
  learnerBehind: ['learner_behind', 'the learner has not caught up'],
  noQuorum: ['no_quorum', 'the voters afterwards that are alive would be no majority'],
  alreadyMember: ['membership_changed', 'the node has become a member meanwhile'],
  notMember: ['not_a_member', 'the node is no member'],
  notLearner: ['not_a_learner', 'the node is no learner'],
  notVoter: ['not_a_voter', 'the node is no voter'],
  lastVoter: ['last_voter', 'nobody would be left to vote'],
  tooManyMembers: ['too_many_members', 'the cluster has as many members as it may have'],
};

/** Refusals that may be over in a moment. */
const PASSING: ReadonlySet<Refusal> = new Set([
  'notLeader',
  'transferring',
  'changeInFlight',
  'termNotCommitted',
  'learnerBehind',
]);

/** What a changer works with. */
export interface ChangerParts {
  readonly admin: Pick<ClusterAdmin, keyof ClusterAdmin>;
  readonly clock: Clock;
  /** Entries that a learner may lag behind and still be promoted. */
  readonly promoteLagEntriesMax: number;
  /** Monotonic microseconds after which nothing more is begun. */
  readonly deadlineUs: number;
}

/** Changes on behalf of one request. */
export class Changer {
  readonly #parts: ChangerParts;

  constructor(parts: ChangerParts) {
    this.#parts = parts;
  }

  /** Adds a node that only replicates. */
  async addLearner(id: NodeId, place: Place): Promise<void> {
    const member = find(await this.#view(), id);
    if (member === undefined) {
      await this.#change({ kind: 'addLearner', id, address: placeText(place) });
      return;
    }
    if (member.raft !== place.raft || member.http !== place.http) {
      const known = placeText({ raft: member.raft, http: member.http });
      throw new ChangeRefused('address_mismatch', `node ${id} is a member at ${known}`);
    }
    if (member.role === 'voter') {
      throw new ChangeRefused('already_voter', `node ${id} is a voter already`);
    }
  }

  /** Makes learners that have caught up voters; waits for those that nearly have. */
  async promote(ids: readonly NodeId[], force: boolean): Promise<void> {
    for (const id of ids) await this.#promote(id, force);
  }

  /** Makes exactly these the voters: promotes who is missing, then drops who is too many. */
  async setVoters(ids: readonly NodeId[], force: boolean): Promise<void> {
    const view = await this.#view();
    for (const id of ids) {
      if (find(view, id) === undefined) throw refusalOf('notMember', id);
    }
    await this.promote(ids, force);
    const dropped = (await this.#view()).members
      .filter((member) => member.role === 'voter' && !ids.includes(member.nodeId as NodeId))
      .map((member) => member.nodeId as NodeId)
      // The leader goes last: until then it can do the other steps.
      .toSorted((a, b) => Number(a === view.leaderId) - Number(b === view.leaderId));
    for (const id of dropped) await this.remove(id);
  }

  /** Drops a member. */
  async remove(id: NodeId): Promise<void> {
    if (find(await this.#view(), id) === undefined) return;
    await this.#change({ kind: 'remove', id });
  }

  async #promote(id: NodeId, force: boolean): Promise<void> {
    const view = await this.#view();
    const member = find(view, id);
    if (member === undefined) throw refusalOf('notMember', id);
    if (member.role === 'voter') return;
    const lag = view.lastIndex - (member.matchIndex ?? 0);
    if (!force && lag > this.#parts.promoteLagEntriesMax) {
      const text = `node ${id} is ${lag} entries behind`;
      throw new ChangeRefused('learner_behind', text);
    }
    await this.#change({ kind: 'promote', id });
  }

  #view(): Promise<NodeView> {
    return this.#parts.admin.leaderView(this.#parts.deadlineUs);
  }

  async #change(change: Change): Promise<void> {
    const { admin, clock, deadlineUs } = this.#parts;
    for (;;) {
      const result = await admin.change(change, deadlineUs);
      if (result.ok) return;
      const isOver = clock.monotonicUs() + RETRY_MS * 1000 >= deadlineUs;
      if (!PASSING.has(result.refusal) || isOver) throw refusalOf(result.refusal, change.id);
      await pause(RETRY_MS);
    }
  }
}

function find(view: NodeView, id: NodeId): MemberView | undefined {
  return view.members.find((member) => member.nodeId === id);
}

function refusalOf(refusal: Refusal, id: NodeId): ChangeRefused {
  const [code, message] = REFUSALS[refusal];
  return new ChangeRefused(code, `node ${id}: ${message}`);
}
