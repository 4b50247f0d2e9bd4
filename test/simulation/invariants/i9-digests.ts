// I9: replicas are identical. An engine that contains exactly the committed entries up to an index has
// the digest that the reference engine had there; in the end the rows are compared one by one.

import { dump } from '@queen-ts/engine/testing';
import type { CheckpointMeta } from '@queen-ts/raft';
import type { Process } from '../nodes/process.ts';
import type { SimNode } from '../nodes/sim-node.ts';
import type { Facts, Invariant } from './invariant.ts';

/** Compares digests. */
export class Digests implements Invariant {
  readonly name = 'I9 replicas are identical';
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  settled(process: Process): string | undefined {
    const replica = process.broker?.replica;
    if (replica === undefined || !replica.isCurrent) return undefined;
    const { engine, appliedIndex } = replica;
    const { closedIndex } = engine.state;
    // A leader's engine is ahead of what is committed.
    if (closedIndex > appliedIndex) return undefined;
    const expected = this.#facts.committed.digest(closedIndex);
    const digest = engine.digest();
    if (closedIndex === 0 || digest === expected) return undefined;
    return `node ${process.host.id} has digest ${digest} after entry ${closedIndex}, not ${expected}`;
  }

  /** A checkpoint holds what was committed up to its index, and nothing else. */
  checkpointed(node: SimNode, meta: CheckpointMeta): string | undefined {
    const { committed } = this.#facts;
    let index = meta.index;
    while (index > 0 && index <= committed.lastIndex && committed.digest(index) === undefined) {
      index -= 1;
    }
    return index === 0 || meta.digest === committed.digest(index)
      ? undefined
      : `node ${node.id} keeps a checkpoint at ${meta.index} that is not what was committed`;
  }

  finished(): string | undefined {
    const expected = dump(this.#facts.committed.engine).join('\n');
    for (const { id, running } of this.#facts.memberships.members()) {
      const engine = running?.broker?.replica.engine;
      if (engine === undefined || engine.identity === undefined) continue;
      const rows = dump(engine).join('\n');
      if (rows !== expected) return `node ${id} has other rows:\n${rows}\nnot\n${expected}`;
    }
    return undefined;
  }
}
