// Election safety (Raft figure 3.2): at most one leader a term. And what it rests on: a node gives its
// vote of a term to one candidate only, across restarts.

import type { Message } from '@queen-ts/raft';
import type { Process } from '../nodes/process.ts';
import type { Invariant } from './invariant.ts';

/** Watches leaders and votes. */
export class ElectionSafety implements Invariant {
  readonly name = 'election safety';
  readonly #leaders = new Map<number, number>();
  readonly #votes = new Map<string, number>();

  sent(_process: Process, message: Message): string | undefined {
    if (message.kind === 'append' || message.kind === 'heartbeat') return this.#lead(message);
    const isVote = message.kind === 'voteReply' && message.granted && !message.preVote;
    if (isVote) return this.#vote(message, message.to);
    // A candidate's own vote.
    const isCandidacy = message.kind === 'voteRequest' && !message.preVote;
    return isCandidacy ? this.#vote(message, message.from) : undefined;
  }

  #lead({ from, term }: Message): string | undefined {
    const leader = this.#leaders.get(term);
    if (leader === undefined) this.#leaders.set(term, from);
    return leader === undefined || leader === from
      ? undefined
      : `term ${term} has two leaders, ${leader} and ${from}`;
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
