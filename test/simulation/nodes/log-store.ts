// The log of one process on its node's disk: what the product's LevelDB log is to the real one.

import { assert } from '@queen-ts/base';
import type { ArchivedRecord, Entry, LogArchive, LogStore, PurgedRecord } from '@queen-ts/raft';
import { DiskError } from './disk-error.ts';
import type { StagedSnapshot } from './disk-image.ts';
import type { SimDisk } from './disk.ts';
import type { FailureLatch, StoreUser } from './stores.ts';

/** The log as one process sees it: begun appends included. */
export class SimLogStore implements LogStore {
  readonly archive: LogArchive = {
    next: (from, toExclusive) => this.#nextArchived(from, toExclusive),
    purge: (records) => this.#purge(records),
    reclaim: () => Promise.resolve(true),
  };
  readonly #disk: SimDisk;
  readonly #user: StoreUser;
  readonly #latch: FailureLatch;
  /** Entries of the log, and those that are left of the archive. */
  readonly #live = new Map<number, Entry>();
  #memberships: Entry[] = [];
  #startIndex = 0;
  #startTerm = 0;
  #lastIndex = 0;
  #isAppending = false;
  #isInstalling = false;
  #staged: StagedSnapshot | undefined;

  /** Reads and verifies what is durable; throws CORRUPTION when it is damaged. */
  constructor(disk: SimDisk, user: StoreUser, latch: FailureLatch) {
    this.#disk = disk;
    this.#user = user;
    this.#latch = latch;
    this.#readAll();
  }

  get firstIndex(): number {
    return this.#startIndex + 1;
  }

  get lastIndex(): number {
    return this.#lastIndex;
  }

  term(index: number): number | undefined {
    if (index === this.#startIndex) return this.#startTerm;
    return index > this.#startIndex ? this.#live.get(index)?.term : undefined;
  }

  /** The entries of type membership that the log or the archive holds, in order. */
  get memberships(): readonly Entry[] {
    return this.#memberships;
  }

  membershipIndexes({ from, toExclusive }: { from: number; toExclusive: number }): number[] {
    const indexes = this.#memberships.map(({ index }) => index);
    return indexes.filter((index) => index >= from && index < toExclusive);
  }

  /** The entry at `index` without a look at its record; for the simulation's own checks. */
  peek(index: number): Entry | undefined {
    return this.#live.get(index);
  }

  entries(range: { from: number; toExclusive: number; maxBytes: number }): Entry[] {
    const { from, toExclusive, maxBytes } = range;
    if (from <= this.#startIndex) {
      throw new DiskError('LOG_COMPACTED', `${from} is below ${this.firstIndex}`);
    }
    assert(toExclusive <= this.lastIndex + 1, () => `read to ${toExclusive}`);
    const result: Entry[] = [];
    let sizeBytes = 0;
    for (let index = from; index < toExclusive; index += 1) {
      const entry = this.#read(index);
      sizeBytes += entry.head.length + entry.payload.length;
      if (result.length > 0 && sizeBytes > maxBytes) break;
      result.push(entry);
    }
    return result;
  }

  payload(range: { index: number; from: number; toExclusive: number }): Uint8Array {
    const { index, from, toExclusive } = range;
    const isArchived = index <= this.#startIndex;
    if (isArchived && !this.#disk.keeps(range)) {
      throw new DiskError(
        'LOG_COMPACTED',
        `bytes ${from} to ${toExclusive} of ${index} were purged`,
      );
    }
    return this.#read(index).payload.subarray(from, toExclusive);
  }

  async append(entries: readonly Entry[]): Promise<void> {
    assert(!this.#isAppending, 'append overlaps another append');
    this.#isAppending = true;
    const first = entries[0];
    assert(first !== undefined && first.index <= this.lastIndex + 1, 'append leaves a gap');
    assert(first.index > this.#startIndex, 'append below the start of the log');
    for (let index = first.index; index <= this.lastIndex; index += 1) this.#live.delete(index);
    while ((this.#memberships.at(-1)?.index ?? 0) >= first.index) this.#memberships.pop();
    for (const entry of entries) this.#hold(entry);
    await this.#latch.write(() => this.#disk.append(this.#user, entries));
    this.#isAppending = false;
  }

  async compact(toIndex: number): Promise<void> {
    await this.#latch.write(() => this.#disk.compact(this.#user, toIndex));
    if (toIndex <= this.#startIndex) return;
    const term = this.term(toIndex);
    assert(term !== undefined, () => `the log's start moves to ${toIndex}, which is not there`);
    this.#startIndex = toIndex;
    this.#startTerm = term;
  }

  /** Gives what the next install puts in place. */
  stage(snapshot: StagedSnapshot | undefined): void {
    this.#staged = snapshot;
  }

  async install({ index, term }: { index: number; term: number }): Promise<void> {
    const staged = this.#staged;
    assert(
      staged?.checkpoint.meta.index === index && staged.checkpoint.term === term,
      () => `install of ${index}, staged is ${staged?.checkpoint.meta.index}`,
    );
    assert(!this.#isAppending, 'install overlaps an append');
    this.#staged = undefined;
    this.#isInstalling = true;
    await this.#latch.write(() => this.#disk.install(this.#user, staged));
    this.#readAll();
    this.#isInstalling = false;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #readAll(): void {
    this.#live.clear();
    this.#memberships = [];
    this.#startIndex = this.#disk.startIndex;
    this.#startTerm = this.#disk.startTerm;
    for (const entry of this.#disk.readAll()) this.#hold(entry);
    this.#lastIndex = this.#disk.lastIndex;
  }

  #hold(entry: Entry): void {
    this.#live.set(entry.index, entry);
    if (entry.type === 'membership') this.#memberships.push(entry);
    this.#lastIndex = entry.index;
  }

  #nextArchived(from: number, toExclusive: number): ArchivedRecord | undefined {
    const end = Math.min(toExclusive, this.firstIndex);
    for (let index = from; index < end; index += 1) {
      if (!this.#live.has(index)) continue;
      const { type, head, payload } = this.#read(index);
      return { index, type, head, payloadBytes: payload.length };
    }
    return undefined;
  }

  async #purge(records: readonly PurgedRecord[]): Promise<number> {
    await this.#latch.write(() => this.#disk.purge(this.#user, records));
    let purgedBytes = 0;
    for (const { index, kept } of records) {
      const entry = this.#live.get(index);
      if (entry === undefined || kept.length > 0) continue;
      purgedBytes += entry.head.length + entry.payload.length;
      this.#live.delete(index);
      this.#memberships = this.#memberships.filter((other) => other !== entry);
    }
    return purgedBytes;
  }

  #read(index: number): Entry {
    if (this.#isInstalling) throw new DiskError('STORE_CLOSED', 'a snapshot is being installed');
    const entry = this.#live.get(index);
    assert(entry !== undefined, () => `no entry ${index}`);
    return this.#latch.read(() => this.#disk.check(entry));
  }
}
