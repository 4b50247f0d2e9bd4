// The safety properties of Raft (dissertation, figure 3.2), checked over a whole cluster while a test
// runs. Everything is remembered, so a value that was true once must stay true.

import { assert } from '@queen-ts/base';
import { describeEntry } from '../describe.ts';
import type { NodeId } from '../node-id.ts';
import type { Entry } from '../ports.ts';
import type { SimNode } from './sim-node.ts';

/** Watches nodes; throws InvariantError at the first violation. */
export class InvariantChecker {
  readonly #leaders = new Map<number, NodeId>();
  /** Every entry seen in any log, by index and term, and the term of its predecessor. */
  readonly #seen = new Map<number, { readonly entry: Entry; readonly prevTerm: number }>();
  /** What was applied at each index, anywhere. */
  readonly #applied: string[] = [];

  /** Checks every property that concerns the node's state now. */
  check(sim: SimNode): void {
    if (sim.isDown) return;
    this.#checkStateMachineSafety(sim);
    const { role, term } = sim.node.status;
    if (role === 'leader') this.#checkLeader(sim, term);
    this.#checkLogMatching(sim);
  }

  /** How many entries are applied somewhere. */
  get appliedCount(): number {
    return this.#applied.length;
  }

  /** Election safety: one leader a term. Leader completeness: it has all that was applied before. */
  #checkLeader(sim: SimNode, term: number): void {
    const leader = this.#leaders.get(term);
    assert(
      leader === undefined || leader === sim.id,
      () => `term ${term} has leaders ${leader} and ${sim.id}`,
    );
    if (leader !== undefined) return;
    this.#leaders.set(term, sim.id);
    const { lastIndex } = sim.node.status;
    assert(
      lastIndex >= this.#applied.length,
      () => `leader ${sim.id} of term ${term} ends at ${lastIndex} < ${this.#applied.length}`,
    );
    for (let index = sim.log.firstIndex; index <= sim.log.lastIndex; index++) {
      const applied = this.#applied[index - 1];
      const [entry] = sim.log.entries({ from: index, toExclusive: index + 1, maxBytes: 0 });
      const isLost =
        applied !== undefined && entry !== undefined && describeEntry(entry) !== applied;
      assert(!isLost, () => `leader ${sim.id} of term ${term} lacks ${applied}`);
    }
  }

  /** State-machine safety: one entry per index, for ever. */
  #checkStateMachineSafety({ id, state }: SimNode): void {
    state.entries.forEach((entry, i) => {
      const applied = this.#applied[i];
      assert(
        applied === undefined || applied === entry,
        () => `node ${id} applied ${entry}, another ${applied}`,
      );
      this.#applied[i] = entry;
    });
  }

  /** Log matching: the same index and term mean the same entry and the same predecessor. */
  #checkLogMatching({ id, log, persisting }: SimNode): void {
    // What is not durable may be lost and made again with other content, unknown to everybody.
    if (persisting !== undefined) return;
    const { firstIndex, lastIndex } = log;
    if (lastIndex < firstIndex) return;
    const range = { from: firstIndex, toExclusive: lastIndex + 1, maxBytes: 2 ** 40 };
    let prevTerm = log.term(firstIndex - 1) ?? 0;
    for (const entry of log.entries(range)) {
      const key = entry.index * 2 ** 20 + entry.term;
      const seen = this.#seen.get(key);
      if (seen === undefined) this.#seen.set(key, { entry, prevTerm });
      // Nodes share entries by reference here, so an equal entry is the same object.
      const isSame = seen === undefined || (seen.entry === entry && seen.prevTerm === prevTerm);
      assert(isSame, () => `node ${id}: another ${describeEntry(entry)} after t${prevTerm}`);
      prevTerm = entry.term;
    }
  }
}
