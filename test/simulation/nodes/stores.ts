// The vote file of one process on its node's disk, and what all its stores share: one failure ends them.

import { assert } from '@queen-ts/base';
import type { HardState, HardStateStore } from '@queen-ts/raft';
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
    const isFatal =
      error instanceof DiskError &&
      (error.code === 'STORAGE_FAILED' || error.code === 'CORRUPTION');
    if (isFatal) {
      this.#error ??= error;
      this.#user.storageFailed(error);
    }
    return error;
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
