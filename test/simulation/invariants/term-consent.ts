// Terms need consent (dissertation 9.6): a node enters a new term as a candidate only after a majority
// told it that they would vote for it. So nobody deposes a leader that the others still hear.

import type { Message } from '@queen-ts/raft';
import type { Process } from '../nodes/process.ts';
import type { Facts, Invariant } from './invariant.ts';

/** Watches pre-votes. */
export class TermConsent implements Invariant {
  readonly name = 'terms need consent (pre-vote)';
  readonly #facts: Facts;
  /** Who consented, by candidate and term. */
  readonly #consents = new Map<string, Set<number>>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  received(message: Message): undefined {
    if (message.kind !== 'voteReply' || !message.preVote || !message.granted) return;
    const key = `${message.to}/${message.term}`;
    this.#consents.set(key, (this.#consents.get(key) ?? new Set()).add(message.from));
  }

  sent(_process: Process, message: Message): string | undefined {
    if (message.kind !== 'voteRequest' || message.preVote || message.transfer) return undefined;
    const { from, term } = message;
    const count = (this.#consents.get(`${from}/${term}`)?.size ?? 0) + 1;
    const needed = Math.floor(this.#facts.nodes.length / 2) + 1;
    return count >= needed
      ? undefined
      : `node ${from} enters term ${term} with the consent of ${count}, itself included`;
  }
}
