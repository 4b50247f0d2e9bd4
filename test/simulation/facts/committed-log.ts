// The one history that the cluster agreed on: each entry as the first node applied it, and what an
// engine makes of them. Every other node must agree.

import { assert } from '@queen-ts/base';
import { Engine, ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import type { Entry } from '@queen-ts/raft';

/** Committed entries from index 1 on, and a reference engine that has applied them. */
export class CommittedLog {
  readonly #entries: Entry[] = [];
  /** By position index - 1: a term in which a leader had the entry committed, at the latest. */
  readonly #terms: number[] = [];
  /** Digest of the reference engine after the entry with this index, where it had effects. */
  readonly #digests = new Map<number, string>();
  readonly engine: Engine;

  constructor() {
    this.engine = new Engine(engineOptions(this.#entries));
  }

  get lastIndex(): number {
    return this.#entries.length;
  }

  entry(index: number): Entry | undefined {
    return this.#entries[index - 1];
  }

  /** The term by which the entry was committed. */
  committedInTerm(index: number): number {
    return this.#terms[index - 1] ?? 0;
  }

  /** What the digest of an engine must be that contains the entries up to `index`, the last included. */
  digest(index: number): string | undefined {
    return this.#digests.get(index);
  }

  /** Adds the next entry. */
  add(entry: Entry, term: number): void {
    assert(entry.index === this.lastIndex + 1, () => `entry ${entry.index} committed out of order`);
    this.#entries.push(entry);
    this.#terms.push(term);
    if (entry.type !== 'command') return;
    this.engine.apply(entry);
    this.#digests.set(entry.index, this.engine.digest());
  }
}

function engineOptions(entries: readonly Entry[]) {
  return {
    limits: ENGINE_LIMITS_DEFAULT,
    payloads: {
      payload: ({
        index,
        from,
        toExclusive,
      }: {
        index: number;
        from: number;
        toExclusive: number;
      }) => {
        const entry = entries[index - 1];
        assert(entry !== undefined, () => `no entry ${index}`);
        return entry.payload.subarray(from, toExclusive);
      },
    },
  };
}
