// I7: an answer that says «nothing there» is linearizable: whatever was committed when the request set
// out, the group has claimed by the time of the answer. A leader that was deposed without noticing
// could not know, so it must not say.

import type { AnsweredPop, Facts, Invariant } from './invariant.ts';

/** Watches empty pops. */
export class Reads implements Invariant {
  readonly name = 'I7 no answer from old state';
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  popped(pop: AnsweredPop): string | undefined {
    const { command, outcome } = pop;
    if (outcome.emptyReason !== 'empty') return undefined;
    for (const { partitionNumber, tail } of pop.marks) {
      const partition = this.#facts.ledger.partition(partitionNumber);
      if (partition?.isDeleted === true) continue;
      const { next = 0 } = partition?.cursors.get(command.group)?.latest ?? {};
      if ((partition?.logStart ?? 0) >= tail) continue;
      if (next < tail) {
        return (
          `a pop of group ${command.group} was answered «empty», but partition ${partitionNumber} ` +
          `had ${tail} messages before it set out and the group is at ${next}`
        );
      }
    }
    return undefined;
  }
}
