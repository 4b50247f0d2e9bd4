// Log matching (Raft figure 3.2): the same index and term mean the same entry, and the same entries
// before it, on whatever disk.

import type { Entry } from '@queen-ts/raft';
import type { SimNode } from '../nodes/sim-node.ts';
import type { Invariant } from './invariant.ts';

const INDEX_MAX = 2 ** 24;

/** Watches what becomes durable. */
export class LogMatching implements Invariant {
  readonly name = 'log matching';
  /** The first durable entry seen for each term and index, and the term before it. */
  readonly #seen = new Map<number, { readonly entry: Entry; readonly prevTerm: number }>();

  appended(node: SimNode, entries: readonly Entry[]): string | undefined {
    for (const entry of entries) {
      const prevTerm = node.disk.term(entry.index - 1) ?? 0;
      const key = entry.term * INDEX_MAX + entry.index;
      const seen = this.#seen.get(key);
      if (seen === undefined) {
        this.#seen.set(key, { entry, prevTerm });
        continue;
      }
      const isSame = seen.prevTerm === prevTerm && isSameEntry(seen.entry, entry);
      if (!isSame) return `node ${node.id} has another entry ${entry.index} of term ${entry.term}`;
    }
    return undefined;
  }
}

/** Whether two entries are equal; mostly they are the same object. */
export function isSameEntry(a: Entry, b: Entry): boolean {
  if (a === b) return true;
  return (
    a.index === b.index &&
    a.term === b.term &&
    a.type === b.type &&
    isSameBytes(a.head, b.head) &&
    isSameBytes(a.payload, b.payload)
  );
}

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
