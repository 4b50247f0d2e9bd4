// The node's log: the store's entries, overlaid by a window of entries that are not durable yet or
// not handed out as committed yet. Owns every index of the node; decides nothing.

import { assert } from '@queen-ts/base';
import type { SnapshotMeta } from './messages.ts';
import type { Entry, LogReader } from './ports.ts';

/** What an entry counts for in every limit: its bytes, and something for itself. */
export const ENTRY_OVERHEAD_BYTES = 32;

/** The size of an entry for limits and windows, in bytes. */
export function entrySizeBytes(entry: Entry): number {
  return entry.head.length + entry.payload.length + ENTRY_OVERHEAD_BYTES;
}

/**
 * Reads go to the window for indexes from `windowFrom` on and to the store below. The store may hold
 * other entries in the window's range until the next persist replaces them; they are never read.
 */
export class RaftLog {
  #store: LogReader;
  #window: Entry[] = [];
  #windowFrom: number;
  #commitIndex: number;
  #appliedIndex: number;
  /** Highest index handed out as committed. */
  #deliveredIndex: number;
  /** Highest index known durable. */
  #persistedIndex: number;
  /** Highest index that the persist in flight will make durable, if it was not replaced meanwhile. */
  #persistingIndex: number;
  /** Replaces everything; the store does not have it yet. */
  #snapshot: SnapshotMeta | undefined;

  /** `commitIndex` and `appliedIndex` as the disk remembers them: the log may know less. */
  constructor(options: { store: LogReader; commitIndex: number; appliedIndex: number }) {
    const { store, appliedIndex } = options;
    const { firstIndex, lastIndex } = store;
    assert(
      firstIndex - 1 <= appliedIndex && appliedIndex <= lastIndex,
      () => `applied ${appliedIndex} outside the log ${firstIndex}..${lastIndex}`,
    );
    assert(options.commitIndex <= lastIndex, () => `commit ${options.commitIndex} > ${lastIndex}`);
    this.#store = store;
    this.#windowFrom = lastIndex + 1;
    this.#commitIndex = Math.max(options.commitIndex, appliedIndex);
    this.#appliedIndex = appliedIndex;
    this.#deliveredIndex = appliedIndex;
    this.#persistedIndex = lastIndex;
    this.#persistingIndex = lastIndex;
  }

  get firstIndex(): number {
    return this.#snapshot === undefined ? this.#store.firstIndex : this.#snapshot.index + 1;
  }

  get lastIndex(): number {
    return this.#windowFrom + this.#window.length - 1;
  }

  get lastTerm(): number {
    return this.termAt(this.lastIndex);
  }

  get commitIndex(): number {
    return this.#commitIndex;
  }

  get appliedIndex(): number {
    return this.#appliedIndex;
  }

  get persistedIndex(): number {
    return this.#persistedIndex;
  }

  /** How far the commit index may be saved: a log that was cut short by a crash must still reach it. */
  get durableCommitIndex(): number {
    return this.#snapshot === undefined ? this.#deliverableIndex : this.#appliedIndex;
  }

  /** A snapshot that was accepted and is not installed yet. */
  get pendingSnapshot(): SnapshotMeta | undefined {
    return this.#snapshot;
  }

  /** Term of `index` in [firstIndex - 1, lastIndex]; `undefined` outside. */
  term(index: number): number | undefined {
    if (index >= this.#windowFrom) return this.#window[index - this.#windowFrom]?.term;
    const snapshot = this.#snapshot;
    if (snapshot !== undefined) return index === snapshot.index ? snapshot.term : undefined;
    return this.#store.term(index);
  }

  /** Term of an index that must be known. */
  termAt(index: number): number {
    const term = this.term(index);
    assert(term !== undefined, () => `no term for ${index}, log ends at ${this.lastIndex}`);
    return term;
  }

  /** Whether the log holds `term` at `index`, and so everything the other log holds up to there. */
  matches(index: number, term: number): boolean {
    return this.term(index) === term;
  }

  /** The rule for votes: whether a log that ends like this is at least as new as ours (3.6.1). */
  isUpToDate(lastIndex: number, lastTerm: number): boolean {
    return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.lastIndex);
  }

  /**
   * The highest index up to `index` whose term is at most `term`: where another log that has `term`
   * at `index` could still agree with ours. Stops at the first index whose term is known.
   */
  lastIndexUpToTerm(index: number, term: number): number {
    let candidate = Math.min(index, this.lastIndex);
    while (candidate >= this.firstIndex && this.termAt(candidate) > term) candidate -= 1;
    return candidate;
  }

  /**
   * Entries in [from, toExclusive), at least one, soft-limited by `maxBytes`; `undefined` if the log
   * no longer retains `from`.
   */
  entries(range: { from: number; toExclusive: number; maxBytes: number }): Entry[] | undefined {
    const { from, toExclusive, maxBytes } = range;
    assert(from < toExclusive && toExclusive <= this.lastIndex + 1, () => `read ${from}`);
    if (from < this.firstIndex) return undefined;
    if (from < this.#windowFrom) {
      const upTo = Math.min(toExclusive, this.#windowFrom);
      return this.#store.entries({ from, toExclusive: upTo, maxBytes });
    }
    const start = from - this.#windowFrom;
    let sizeBytes = 0;
    let count = 0;
    for (; count < toExclusive - from; count++) {
      const entry = this.#window[start + count];
      assert(entry !== undefined, () => `no entry ${from + count}`);
      sizeBytes += entrySizeBytes(entry);
      if (count > 0 && sizeBytes > maxBytes) break;
    }
    return this.#window.slice(start, start + count);
  }

  /**
   * Appends consecutive entries, truncating what they replace. The caller has made sure that the
   * first one conflicts or extends; committed entries are never replaced (I1).
   */
  append(entries: readonly Entry[]): void {
    const first = entries[0];
    assert(first !== undefined, 'append of nothing');
    assert(
      first.index > this.#commitIndex && first.index <= this.lastIndex + 1,
      () => `append at ${first.index}: commit ${this.#commitIndex}, last ${this.lastIndex}`,
    );
    assert(first.term >= (this.term(first.index - 1) ?? 0), () => `term falls at ${first.index}`);
    if (first.index <= this.lastIndex) this.#truncate(first.index);
    this.#window.push(...entries);
  }

  /** Raises the commit index; lower values are old news. Returns whether it moved. */
  commitTo(index: number): boolean {
    if (index <= this.#commitIndex) return false;
    assert(index <= this.lastIndex, () => `commit ${index} beyond the log ${this.lastIndex}`);
    this.#commitIndex = index;
    return true;
  }

  /** Replaces everything by a snapshot that covers more than is committed here. */
  restore(snapshot: SnapshotMeta): void {
    assert(snapshot.index > this.#commitIndex, () => `snapshot ${snapshot.index} is old`);
    this.#snapshot = snapshot;
    this.#window = [];
    this.#windowFrom = snapshot.index + 1;
    this.#commitIndex = snapshot.index;
    this.#deliveredIndex = snapshot.index;
    this.#persistedIndex = snapshot.index;
    this.#persistingIndex = snapshot.index;
  }

  /** Whether there are entries that no persist has been given yet. */
  get hasUnpersisted(): boolean {
    return this.#persistedIndex < this.lastIndex;
  }

  /** The entries to persist now; the caller keeps one persist in flight at a time. */
  takeUnpersisted(): Entry[] {
    const from = this.#persistedIndex + 1;
    this.#persistingIndex = this.lastIndex;
    assert(from >= this.#windowFrom, () => `unpersisted ${from} outside the window`);
    return this.#window.slice(from - this.#windowFrom);
  }

  /** The persist is durable: whatever it wrote that was not replaced meanwhile counts. */
  persisted(): void {
    this.#persistedIndex = this.#persistingIndex;
    this.#dropDelivered();
  }

  /** The pending snapshot is installed; `store` is the log from now on. */
  snapshotInstalled(store: LogReader): void {
    const snapshot = this.#snapshot;
    assert(snapshot !== undefined, 'no snapshot to install');
    assert(
      store.firstIndex === snapshot.index + 1 && store.term(snapshot.index) === snapshot.term,
      () => `the store starts at ${store.firstIndex} after a snapshot to ${snapshot.index}`,
    );
    this.#store = store;
    this.#snapshot = undefined;
    this.#appliedIndex = Math.max(this.#appliedIndex, snapshot.index);
  }

  /** Whether committed, durable entries wait to be handed out. */
  get hasCommitted(): boolean {
    return this.#snapshot === undefined && this.#deliveredIndex < this.#deliverableIndex;
  }

  /** The next committed entries, at least one if any, soft-limited by `maxBytes`. */
  takeCommitted(maxBytes: number): Entry[] {
    if (!this.hasCommitted) return [];
    const from = this.#deliveredIndex + 1;
    const toExclusive = this.#deliverableIndex + 1;
    const entries = this.entries({ from, toExclusive, maxBytes });
    assert(entries !== undefined, () => `committed entry ${from} was compacted before it applied`);
    this.#deliveredIndex += entries.length;
    return entries;
  }

  /** Entries up to `index` are applied. */
  applied(index: number): void {
    assert(index <= this.#deliveredIndex, () => `applied ${index} before it was handed out`);
    this.#appliedIndex = Math.max(this.#appliedIndex, index);
    this.#dropDelivered();
  }

  /** Summed size of the entries in (fromExclusive, to] that the window still holds. */
  windowSizeBytes(fromExclusive: number, to: number): number {
    let sizeBytes = 0;
    for (let index = Math.max(fromExclusive + 1, this.#windowFrom); index <= to; index++) {
      const entry = this.#window[index - this.#windowFrom];
      if (entry !== undefined) sizeBytes += entrySizeBytes(entry);
    }
    return sizeBytes;
  }

  /** Only durable entries are applied, so that no checkpoint can be ahead of the log it rests on. */
  get #deliverableIndex(): number {
    return Math.min(this.#commitIndex, this.#persistedIndex);
  }

  #truncate(from: number): void {
    if (from >= this.#windowFrom) {
      this.#window.length = from - this.#windowFrom;
    } else {
      this.#window = [];
      this.#windowFrom = from;
    }
    this.#persistedIndex = Math.min(this.#persistedIndex, from - 1);
    this.#persistingIndex = Math.min(this.#persistingIndex, from - 1);
  }

  #dropDelivered(): void {
    const upTo = Math.min(this.#persistedIndex, this.#appliedIndex);
    if (this.#snapshot !== undefined || upTo < this.#windowFrom) return;
    this.#window.splice(0, upTo - this.#windowFrom + 1);
    this.#windowFrom = upTo + 1;
  }
}
