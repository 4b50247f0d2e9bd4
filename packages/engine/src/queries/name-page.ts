// A page of a queue's partitions by name. Names are compared as the bytes that they are stored as.

import type { PageFilter } from './queue-view.ts';
import { TopList } from './top-list.ts';
import type { EngineView, Read } from './view.ts';

interface NamedPartition {
  readonly name: Uint8Array;
  readonly number: number;
}

/** Selects a page of partitions by name, in the order of UTF-8. */
export class NamePage {
  readonly #view: EngineView;
  readonly #from: number;
  readonly #top: TopList<NamedPartition>;

  constructor(view: EngineView, { limit, offset }: PageFilter) {
    this.#view = view;
    this.#from = offset;
    this.#top = new TopList(offset + limit, (a, b) => compareBytes(a.name, b.name));
  }

  /** Offers a partition of the queue; names inside a queue are unique. */
  offer(row: number): void {
    const { names, number } = this.#view.state.partitions;
    const last = this.#top.last;
    const start = names.nameStart(row);
    const lent = names.nameChunk(row).subarray(start, start + names.nameLength(row));
    if (last !== undefined && compareBytes(lent, last.name) >= 0) return;
    this.#top.offer({ name: lent.slice(), number: number.get(row) });
  }

  /** Takes the numbers of the page's partitions out, by name. */
  *drain(): Read<number[]> {
    const named = yield* this.#top.drain(this.#view);
    return named.slice(this.#from).map(({ number }) => number);
  }
}

/** Order of UTF-8 texts by bytes, which is that of their code points. */
function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    if (a[i] !== b[i]) return a[i]! - b[i]!;
  }
  return a.length - b.length;
}
