// Election safety (Raft figure 3.2): at most one leader a term. And what it rests on: a node gives its
// vote of a term to one candidate only, across restarts; and whoever leads has the votes of a majority
// of the voters, each from the disk that was admitted under the voter's id.

import { votersOf } from '@queen-ts/raft';
import type { Message } from '@queen-ts/raft';
import { isMajority } from '../facts/memberships.ts';
import type { Process } from '../nodes/process.ts';
import type { Facts, Invariant } from './invariant.ts';

/** Watches leaders and votes. */
export class ElectionSafety implements Invariant {
  readonly name = 'election safety';
  readonly #facts: Facts;
  readonly #leaders = new Map<number, number>();
  readonly #votes = new Map<string, number>();
  /** Incarnations of the disks whose votes reached a candidate, by candidate and term, then voter. */
  readonly #received = new Map<string, Map<number, number>>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  received(message: Message): undefined {
    if (message.kind !== 'voteReply' || message.preVote || !message.granted) return;
    const key = `${message.to}/${message.term}`;
    const votes = this.#received.get(key) ?? new Map<number, number>();
    this.#received.set(key, votes.set(message.from, message.incarnation));
  }

  sent(process: Process, message: Message): string | undefined {
    if (message.kind === 'append' || message.kind === 'heartbeat') {
      return this.#lead(process, message);
    }
    const isVote = message.kind === 'voteReply' && message.granted && !message.preVote;
    if (isVote) return this.#vote(message, message.to);
    // A candidate's own vote.
    const isCandidacy = message.kind === 'voteRequest' && !message.preVote;
    return isCandidacy ? this.#vote(message, message.from) : undefined;
  }

  #lead(process: Process, message: Message): string | undefined {
    const { from, term } = message;
    const leader = this.#leaders.get(term);
    if (leader === undefined) {
      this.#leaders.set(term, from);
      return this.#wonBy(process, message);
    }
    return leader === from ? undefined : `term ${term} has two leaders, ${leader} and ${from}`;
  }

  /** What is wrong with the election that a leader won. */
  #wonBy(process: Process, { from, term, incarnation }: Message): string | undefined {
    const received = this.#received.get(`${from}/${term}`) ?? new Map<number, number>();
    const votes = new Map([...received, [from, incarnation]]);
    const [membership] = this.#facts.memberships.newestOf(process);
    const counted = membership.members.filter(({ id, role, incarnation: bound }) => {
      const vote = votes.get(id);
      return role === 'voter' && vote !== undefined && (bound === 0 || bound === vote);
    });
    return isMajority(counted.length, votersOf(membership).length)
      ? undefined
      : `node ${from} leads in term ${term} with the votes of ${counted.map(({ id }) => id).join(', ')}`;
  }

  #vote({ from, term, incarnation }: Message, candidate: number): string | undefined {
    // A wiped node is another voter, whose votes are not counted.
    const key = `${from}/${incarnation}/${term}`;
    const before = this.#votes.get(key);
    if (before === undefined) this.#votes.set(key, candidate);
    return before === undefined || before === candidate
      ? undefined
      : `node ${from} votes for ${before} and for ${candidate} in term ${term}`;
  }
}
