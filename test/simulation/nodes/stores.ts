// The two stores of one process on its node's disk: what the product's LevelDB log and vote file are
// to the real one.

import { assert } from '@queen-ts/base';
import type { Entry, HardState, HardStateStore, LogStore } from '@queen-ts/raft';
import { DiskError } from './disk-error.ts';
import type { DiskUser, SimDisk } from './disk.ts';

/** What a process must know of its disk besides the answers. */
export interface StoreUser extends DiskUser {
  /** A write failed or damage was read: nothing may be written any more (I11). */
  storageFailed(error: DiskError): void;
}

/** Whether the stores of a process still take writes; one failure ends both. */
export class FailureLatch {
  readonly #user: StoreUser;
  #error: DiskError | undefined;

  constructor(user: StoreUser) {
    this.#user = user;
  }

  /** Runs a write unless an earlier one failed. */
  async write(start: () => Promise<void>): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    try {
      await start();
    } catch (error) {
      throw this.#note(error);
    }
  }

  /** Runs a read; damage counts as a failure. */
  read<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw this.#note(error);
    }
  }

  #note(error: unknown): unknown {
    if (error instanceof DiskError && error.code !== 'LOG_COMPACTED') {
      this.#error ??= error;
      this.#user.storageFailed(error);
    }
    return error;
  }
}

/** The log as one process sees it: begun writes included. */
export class SimLogStore implements LogStore {
  readonly #disk: SimDisk;
  readonly #user: StoreUser;
  readonly #latch: FailureLatch;
  readonly #live: Entry[];
  readonly #memberships: Entry[];
  #isAppending = false;

  /** Reads and verifies what is durable; throws CORRUPTION when it is damaged. */
  constructor(disk: SimDisk, user: StoreUser, latch: FailureLatch) {
    this.#disk = disk;
    this.#user = user;
    this.#latch = latch;
    this.#live = disk.readAll();
    this.#memberships = this.#live.filter(({ type }) => type === 'membership');
  }

  // Nothing is compacted: checkpoints only shorten a start, the log keeps the messages.
  get firstIndex(): number {
    return 1;
  }

  get lastIndex(): number {
    return this.#live.length;
  }

  term(index: number): number | undefined {
    return index === 0 ? 0 : this.#live[index - 1]?.term;
  }

  /** The entries of type membership, in order. */
  get memberships(): readonly Entry[] {
    return this.#memberships;
  }

  membershipIndexes({ from, toExclusive }: { from: number; toExclusive: number }): number[] {
    const indexes = this.#memberships.map(({ index }) => index);
    return indexes.filter((index) => index >= from && index < toExclusive);
  }

  /** The entry at `index` without a look at its record; for the simulation's own checks. */
  peek(index: number): Entry | undefined {
    return this.#live[index - 1];
  }

  entries(range: { from: number; toExclusive: number; maxBytes: number }): Entry[] {
    const { from, toExclusive, maxBytes } = range;
    if (from < 1) throw new DiskError('LOG_COMPACTED', `${from} is below 1`);
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
    return this.#read(range.index).payload.subarray(range.from, range.toExclusive);
  }

  async append(entries: readonly Entry[]): Promise<void> {
    assert(!this.#isAppending, 'append overlaps another append');
    this.#isAppending = true;
    const first = entries[0];
    assert(first !== undefined && first.index <= this.lastIndex + 1, 'append leaves a gap');
    this.#live.length = first.index - 1;
    this.#live.push(...entries);
    while ((this.#memberships.at(-1)?.index ?? 0) >= first.index) this.#memberships.pop();
    for (const entry of entries) if (entry.type === 'membership') this.#memberships.push(entry);
    await this.#latch.write(() => this.#disk.append(this.#user, entries));
    this.#isAppending = false;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #read(index: number): Entry {
    const entry = this.#live[index - 1];
    assert(entry !== undefined, () => `no entry ${index}`);
    return this.#latch.read(() => this.#disk.check(entry));
  }
}

/** The vote file as one process sees it. */
export class SimHardStateStore implements HardStateStore {
  readonly incarnation: number;
  readonly #disk: SimDisk;
  readonly #user: StoreUser;
  readonly #latch: FailureLatch;
  #current: HardState;
  #isSaving = false;

  constructor(disk: SimDisk, user: StoreUser, latch: FailureLatch) {
    this.incarnation = disk.incarnation;
    this.#disk = disk;
    this.#user = user;
    this.#latch = latch;
    this.#current = disk.hardState;
  }

  get current(): HardState {
    return this.#current;
  }

  async save(state: HardState): Promise<void> {
    assert(!this.#isSaving, 'save overlaps another save');
    this.#isSaving = true;
    await this.#latch.write(() => this.#disk.save(this.#user, state));
    this.#current = state;
    this.#isSaving = false;
  }
}
