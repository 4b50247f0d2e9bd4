// State-machine safety (Raft figure 3.2): no two nodes apply different entries at the same index.

import type { Entry } from '@queen-ts/raft';
import type { Process } from '../nodes/process.ts';
import type { Facts, Invariant } from './invariant.ts';
import { isSameEntry } from './log-matching.ts';

/** Compares what is applied. */
export class StateMachineSafety implements Invariant {
  readonly name = 'state-machine safety';
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  applied(process: Process, entry: Entry): string | undefined {
    const agreed = this.#facts.committed.entry(entry.index);
    if (agreed === undefined || isSameEntry(agreed, entry)) return undefined;
    const { id } = process.host;
    return (
      `node ${id} applied entry ${entry.index} of term ${entry.term}, ` +
      `another node one of term ${agreed.term} with other content or term`
    );
  }
}
