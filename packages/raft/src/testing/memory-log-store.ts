// A LogStore in memory. Writes become durable only when synced, so a crash can lose the rest; the
// synchronous half (`begin`, `sync`) lets a test decide when, the asynchronous half is the port.

import { assert } from '@queen-ts/base';
import type { Entry, LogStore } from '../ports.ts';
import { MemoryStoreError } from './memory-store-error.ts';

/** What one store holds: entries after a base that stands for everything compacted or installed. */
interface Image {
  baseIndex: number;
  baseTerm: number;
  entries: Entry[];
}

/** LogStore without a disk. `crash` gives the store a restarted process would find. */
export class MemoryLogStore implements LogStore {
  #live: Image;
  #durable: Image;
  #appendRunning = false;
  #failed = false;
  #closed = false;

  constructor() {
    this.#live = { baseIndex: 0, baseTerm: 0, entries: [] };
    this.#durable = copyOf(this.#live);
  }

  get firstIndex(): number {
    this.#checkOpen();
    return this.#live.baseIndex + 1;
  }

  get lastIndex(): number {
    this.#checkOpen();
    return this.#live.baseIndex + this.#live.entries.length;
  }

  term(index: number): number | undefined {
    this.#checkOpen();
    const { baseIndex, baseTerm, entries } = this.#live;
    return index === baseIndex ? baseTerm : entries[index - baseIndex - 1]?.term;
  }

  entries(range: { from: number; toExclusive: number; maxBytes: number }): Entry[] {
    this.#checkReadable(range.from);
    assert(range.toExclusive <= this.lastIndex + 1, () => `read to ${range.toExclusive}`);
    const result: Entry[] = [];
    let sizeBytes = 0;
    for (let index = range.from; index < range.toExclusive; index++) {
      const entry = this.#at(index);
      sizeBytes += entry.head.length + entry.payload.length;
      if (result.length > 0 && sizeBytes > range.maxBytes) break;
      result.push(entry);
    }
    return result;
  }

  payload(range: { index: number; from: number; toExclusive: number }): Uint8Array {
    this.#checkReadable(range.index);
    return this.#at(range.index).payload.subarray(range.from, range.toExclusive);
  }

  membershipIndexes(range: { from: number; toExclusive: number }): number[] {
    this.#checkOpen();
    return this.#live.entries
      .filter(({ type, index }) => {
        return type === 'membership' && index >= range.from && index < range.toExclusive;
      })
      .map(({ index }) => index);
  }

  async append(entries: readonly Entry[]): Promise<void> {
    assert(!this.#appendRunning, 'append overlaps another append');
    this.#appendRunning = true;
    try {
      this.begin(entries);
      await Promise.resolve();
      this.sync();
    } finally {
      this.#appendRunning = false;
    }
  }

  async install(snapshot: { index: number; term: number }): Promise<void> {
    this.beginInstall(snapshot);
    await Promise.resolve();
    this.sync();
  }

  async compact(toIndex: number): Promise<void> {
    this.#checkWritable();
    await Promise.resolve();
    this.compactNow(toIndex);
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  /** Makes the entries visible to readers, not yet durable. */
  begin(entries: readonly Entry[]): void {
    this.#checkWritable();
    const first = entries[0];
    assert(first !== undefined, 'append of nothing');
    assert(first.index >= this.firstIndex, () => `append at ${first.index} below the first index`);
    assert(first.index <= this.lastIndex + 1, () => `append at ${first.index} leaves a gap`);
    entries.forEach((entry, i) => {
      assert(entry.index === first.index + i, () => `entry ${entry.index} is out of order`);
    });
    this.#live.entries.length = first.index - this.#live.baseIndex - 1;
    this.#live.entries.push(...entries);
  }

  /** Makes the snapshot's position visible, not yet durable. */
  beginInstall(snapshot: { index: number; term: number }): void {
    this.#checkWritable();
    this.#live = { baseIndex: snapshot.index, baseTerm: snapshot.term, entries: [] };
  }

  /** Everything begun so far is durable now. */
  sync(): void {
    this.#checkWritable();
    this.#durable = copyOf(this.#live);
  }

  /** Compacts at once, in the durable image too. */
  compactNow(toIndex: number): void {
    this.#checkWritable();
    const baseTerm = this.term(toIndex);
    assert(baseTerm !== undefined, () => `compact to ${toIndex} outside the log`);
    for (const image of [this.#live, this.#durable]) {
      const dropCount = Math.max(0, toIndex - image.baseIndex);
      assert(dropCount <= image.entries.length, () => `compact to ${toIndex} beyond durable`);
      if (dropCount === 0) continue;
      image.entries.splice(0, dropCount);
      image.baseIndex = toIndex;
      image.baseTerm = baseTerm;
    }
  }

  /** From here on every write fails, as after ENOSPC. */
  failWrites(): void {
    this.#failed = true;
  }

  /** The store as a restarted process finds it: what was not synced is gone. This one is closed. */
  crash(): MemoryLogStore {
    const survivor = new MemoryLogStore();
    survivor.#live = copyOf(this.#durable);
    survivor.#durable = copyOf(this.#durable);
    this.#closed = true;
    return survivor;
  }

  #at(index: number): Entry {
    const entry = this.#live.entries[index - this.#live.baseIndex - 1];
    assert(entry !== undefined, () => `no entry ${index}`);
    return entry;
  }

  #checkReadable(index: number): void {
    if (index < this.firstIndex) {
      throw new MemoryStoreError('LOG_COMPACTED', `${index} is below ${this.firstIndex}`);
    }
  }

  #checkWritable(): void {
    this.#checkOpen();
    if (this.#failed) throw new MemoryStoreError('STORAGE_FAILED', 'an earlier write failed');
  }

  #checkOpen(): void {
    if (this.#closed) throw new MemoryStoreError('CLOSED', 'the store is closed');
  }
}

function copyOf(image: Image): Image {
  return { ...image, entries: [...image.entries] };
}
