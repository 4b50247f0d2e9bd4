// Leader completeness (Raft figure 3.2): what was committed in a term is in the log of every leader of
// a later one, and so in every log that has an entry of such a leader. And the rule that it rests on
// (3.6.2, figure 3.7): a leader raises its commit index only to an entry of its own term.

import type { Entry, Message } from '@queen-ts/raft';
import type { Process } from '../nodes/process.ts';
import type { SimNode } from '../nodes/sim-node.ts';
import type { Facts, Invariant } from './invariant.ts';
import { isSameEntry } from './log-matching.ts';

/** Watches logs and commit indexes. */
export class LeaderCompleteness implements Invariant {
  readonly name = 'leader completeness';
  readonly #facts: Facts;
  /** The newest term with which each node's log was compared. */
  readonly #comparedTerms = new Map<SimNode, number>();
  /** The commit index that the leader of a term last spoke of. */
  readonly #commitIndexes = new Map<number, number>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  appended(node: SimNode, entries: readonly Entry[]): string | undefined {
    const term = entries.at(-1)?.term ?? 0;
    if (term <= (this.#comparedTerms.get(node) ?? 0)) return undefined;
    this.#comparedTerms.set(node, term);
    const { committed } = this.#facts;
    const first = node.disk.startIndex + 1;
    for (let index = first; index <= committed.lastIndex; index += 1) {
      if (committed.committedInTerm(index) >= term) return undefined;
      const own = node.disk.written(index);
      const agreed = committed.entry(index)!;
      if (own === undefined || !isSameEntry(own, agreed)) {
        return (
          `node ${node.id} has an entry of term ${term}, but not entry ${index} of term ` +
          `${agreed.term}, which was committed before`
        );
      }
    }
    return undefined;
  }

  sent(process: Process, message: Message): string | undefined {
    if (message.kind !== 'append') return undefined;
    const { term, commitIndex, from } = message;
    const before = this.#commitIndexes.get(term);
    if (before !== undefined && commitIndex <= before) return undefined;
    this.#commitIndexes.set(term, commitIndex);
    // What it knew when it took office it learned as a follower.
    if (before === undefined) return undefined;
    const entry = process.log?.peek(commitIndex);
    return entry === undefined || entry.term === term
      ? undefined
      : `leader ${from} of term ${term} commits up to ${commitIndex}, an entry of term ${entry.term}`;
  }
}
