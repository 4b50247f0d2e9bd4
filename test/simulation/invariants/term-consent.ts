// Terms need consent (dissertation 9.6): a node enters a new term as a candidate only after a majority
// told it that they would vote for it. So nobody deposes a leader that the others still hear.

import { votersOf } from '@queen-ts/raft';
import type { Message, NodeId } from '@queen-ts/raft';
import { isMajority } from '../facts/memberships.ts';
import type { Process } from '../nodes/process.ts';
import type { Facts, Invariant } from './invariant.ts';

/** Watches pre-votes. */
export class TermConsent implements Invariant {
  readonly name = 'terms need consent (pre-vote)';
  readonly #facts: Facts;
  /** Who consented, by candidate and term. */
  readonly #consents = new Map<string, Set<NodeId>>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  received(message: Message): undefined {
    if (message.kind !== 'voteReply' || !message.preVote || !message.granted) return;
    const key = `${message.to}/${message.term}`;
    this.#consents.set(key, (this.#consents.get(key) ?? new Set()).add(message.from));
  }

  sent(process: Process, message: Message): string | undefined {
    if (message.kind !== 'voteRequest' || message.preVote || message.transfer) return undefined;
    const { from, term } = message;
    const consents = new Set([from, ...(this.#consents.get(`${from}/${term}`) ?? [])]);
    // It may have got another membership since it set out, while its vote became durable.
    const hasConsent = this.#facts.memberships.newestOf(process).some((membership) => {
      const voters = votersOf(membership);
      return isMajority(voters.filter((id) => consents.has(id)).length, voters.length);
    });
    return hasConsent
      ? undefined
      : `node ${from} enters term ${term} with the consent of ${[...consents].join(', ')}`;
  }
}
