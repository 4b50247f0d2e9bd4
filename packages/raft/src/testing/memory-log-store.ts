// A LogStore in memory. Writes become durable only when synced, so a crash can lose the rest; the
// synchronous half (`begin`, `sync`) lets a test decide when, the asynchronous half is the port. Its
// archive is exact to the byte: what was not asked to be kept cannot be read.

import { assert } from '@queen-ts/base';
import type { ArchivedRecord, Entry, LogArchive, LogStore } from '../ports.ts';
import type { PayloadRange, PurgedRecord } from '../ports.ts';
import { MemoryStoreError } from './memory-store-error.ts';

/** An archived entry and what of its payload is left. */
export interface KeptEntry {
  readonly entry: Entry;
  /** `undefined`: all of it. */
  readonly kept: readonly PayloadRange[] | undefined;
}

/** What one store holds: entries after a base that stands for everything compacted or installed. */
interface Image {
  baseIndex: number;
  baseTerm: number;
  entries: Entry[];
  /** What is left of the entries up to the base, ascending by index. */
  archive: Map<number, KeptEntry>;
}

/** What a received snapshot installs. */
export interface StagedInstall {
  readonly index: number;
  readonly term: number;
  readonly archive: readonly KeptEntry[];
  /** Called when the install is durable. */
  readonly onDurable: () => void;
}

/** LogStore without a disk. `crash` gives the store a restarted process would find. */
export class MemoryLogStore implements LogStore {
  #live: Image;
  #durable: Image;
  #appendRunning = false;
  #failed = false;
  #closed = false;
  #staged: StagedInstall | undefined;
  #onDurable: (() => void) | undefined;
  #purgedBytesTotal = 0;
  readonly archive: LogArchive = {
    next: (from, toExclusive) => this.#nextArchived(from, toExclusive),
    purge: async (records) => {
      this.#checkWritable();
      await Promise.resolve();
      return this.purgeNow(records);
    },
    reclaim: () => Promise.resolve(true),
  };

  constructor() {
    this.#live = { baseIndex: 0, baseTerm: 0, entries: [], archive: new Map() };
    this.#durable = copyOf(this.#live);
  }

  /** Bytes of heads and payloads that were purged. */
  get purgedBytesTotal(): number {
    return this.#purgedBytesTotal;
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
    this.#checkOpen();
    const { index, from, toExclusive } = range;
    if (index > this.#live.baseIndex) return this.#at(index).payload.subarray(from, toExclusive);
    const archived = this.#live.archive.get(index);
    const isKept = archived?.kept?.some((it) => it.from <= from && it.toExclusive >= toExclusive);
    if (archived !== undefined && isKept !== false) {
      return archived.entry.payload.subarray(from, toExclusive);
    }
    throw new MemoryStoreError('LOG_COMPACTED', `payload of ${index} was purged`);
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

  /** Gives what the next install brings beside its position; without it the archive is empty. */
  stage(staged: StagedInstall | undefined): void {
    this.#staged = staged;
  }

  /** Makes the snapshot's position visible, not yet durable. */
  beginInstall(snapshot: { index: number; term: number }): void {
    this.#checkWritable();
    const { index: baseIndex, term: baseTerm } = snapshot;
    const staged = this.#staged;
    this.#staged = undefined;
    assert(
      staged === undefined || (staged.index === baseIndex && staged.term === baseTerm),
      () => `install of ${baseIndex}, staged is ${staged?.index}`,
    );
    const archive = new Map(staged?.archive.map((kept) => [kept.entry.index, kept]));
    this.#live = { baseIndex, baseTerm, entries: [], archive };
    this.#onDurable = staged?.onDurable;
  }

  /** Everything begun so far is durable now. */
  sync(): void {
    this.#checkWritable();
    this.#durable = copyOf(this.#live);
    this.#onDurable?.();
    this.#onDurable = undefined;
  }

  /** Everything up to `lastIndex` that is left, ascending. */
  keptUpTo(lastIndex: number): KeptEntry[] {
    const { archive, entries } = this.#live;
    const retained = entries.map((entry) => ({ entry, kept: undefined }));
    return [...archive.values(), ...retained].filter(({ entry }) => entry.index <= lastIndex);
  }

  /** Purges at once; a crash may bring it back until the next sync. */
  purgeNow(records: readonly PurgedRecord[]): number {
    this.#checkWritable();
    const { archive, baseIndex } = this.#live;
    let purgedBytes = 0;
    for (const { index, kept } of records) {
      const found = archive.get(index);
      assert(
        found !== undefined && index <= baseIndex,
        () => `purge of ${index}, archived up to ${baseIndex}`,
      );
      const before = sizeOf(found);
      if (kept.length === 0) archive.delete(index);
      else archive.set(index, { entry: found.entry, kept });
      purgedBytes += before - (kept.length === 0 ? 0 : sizeOf({ entry: found.entry, kept }));
    }
    this.#purgedBytesTotal += purgedBytes;
    return purgedBytes;
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
      for (const entry of image.entries.splice(0, dropCount)) {
        image.archive.set(entry.index, { entry, kept: undefined });
      }
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

  #nextArchived(from: number, toExclusive: number): ArchivedRecord | undefined {
    this.#checkOpen();
    for (const { entry } of this.#live.archive.values()) {
      const { index, type, head, payload } = entry;
      if (index < from || index >= toExclusive) continue;
      return { index, type, head, payloadBytes: payload.length };
    }
    return undefined;
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
  return { ...image, entries: [...image.entries], archive: new Map(image.archive) };
}

function sizeOf({ entry, kept }: KeptEntry): number {
  const { head, payload } = entry;
  if (kept === undefined) return head.length + payload.length;
  return kept.reduce((sum, { from, toExclusive }) => sum + toExclusive - from, head.length);
}
