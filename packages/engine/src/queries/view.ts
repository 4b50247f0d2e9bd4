// How the state is read: in slices. A read is a generator that yields when it has done a slice of work,
// so that whoever drives it decides when the next slice runs and no read holds the core thread for
// long. Rows, ordinals' contents and lists may change while it is suspended; numbers and names do not.

import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';

/** Work of one slice, in units of about 50 ns: a look at a column costs one. */
const SLICE_UNITS = 4096;

/** What reading one stored block costs, in units. */
export const BLOCK_READ_UNITS = 256;

/**
 * A read in progress: `next()` does one slice. Drive it to the end or drop it; it holds nothing. The
 * engine may be planned on and applied to between slices.
 */
export type Read<T> = Generator<undefined, T, undefined>;

/** The state as reads see it: as of now, in slices. */
export class EngineView {
  readonly state: State;
  /** Leases count as live when they end after this; in microseconds. */
  readonly nowUs: number;
  #unitsLeft = SLICE_UNITS;
  /** Block headers that were read when work was counted last. */
  #headersRead: number;

  constructor(state: State, nowUs: number) {
    this.state = state;
    this.nowUs = nowUs;
    this.#headersRead = state.blocks.reads;
  }

  /**
   * Counts work, and the block headers that looking blocks up has read since the last call; true when the
   * slice is used up and the read must yield.
   */
  spend(units: number): boolean {
    const { reads } = this.state.blocks;
    this.#unitsLeft -= units + (reads - this.#headersRead) * BLOCK_READ_UNITS;
    this.#headersRead = reads;
    if (this.#unitsLeft > 0) return false;
    this.#unitsLeft = SLICE_UNITS;
    return true;
  }
}

/** Runs a read to its end at once: for tests and for callers that know it to be small. */
export function completed<T>(read: Read<T>): T {
  for (;;) {
    const slice = read.next();
    if (slice.done === true) return slice.value;
  }
}

/** Visits the partitions of a queue by row, which is valid until `visit` returns. */
export function* eachPartition(
  view: EngineView,
  queue: QueueState,
  visit: (row: number) => void,
): Read<void> {
  const { partitions } = queue;
  for (let ordinal = 0; ordinal < partitions.end; ordinal += 1) {
    const row = queue.isDeleted ? 0 : partitions.row(ordinal);
    if (row !== 0) visit(row);
    // A cursor look-up per group dominates; it misses the cache.
    if (view.spend(2 + queue.groups.length * 4)) yield;
  }
}

/** Row of a partition by its name in a queue, or 0. */
export function partitionRow(view: EngineView, queue: QueueState, name: Uint8Array): number {
  return view.state.partitions.names.find(queue.number, name, 0, name.length);
}

/**
 * Walks the dead letters of a partition, newest first, by row, which is valid until the read yields.
 * Undefined asks to yield. A walk whose last row was removed meanwhile is over.
 */
export function* eachDeadLetter(
  view: EngineView,
  partition: number,
): Generator<number | undefined, void, undefined> {
  const { deadLetters, partitions } = view.state;
  const row = partitions.numbers.get(partition);
  let letter = row === 0 ? 0 : deadLetters.newestOf(row);
  while (letter !== 0) {
    const number = deadLetters.number.get(letter);
    yield letter;
    if (view.spend(2)) yield undefined;
    if (deadLetters.numbers.get(number) !== letter) return;
    letter = deadLetters.olderOf(letter);
  }
}
