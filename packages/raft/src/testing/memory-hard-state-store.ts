// A HardStateStore in memory, with the same split between begun and durable as MemoryLogStore.

import type { HardState, HardStateStore } from '../ports.ts';
import { MemoryStoreError } from './memory-store-error.ts';

/** HardStateStore without a disk. `crash` gives the store a restarted process would find. */
export class MemoryHardStateStore implements HardStateStore {
  readonly incarnation: number;
  #current: HardState = { term: 0, votedFor: 0, commitIndex: 0 };
  #begun: HardState | undefined;
  #failed = false;

  /** @param incarnation of the disk this stands for, >= 1. */
  constructor(incarnation: number) {
    this.incarnation = incarnation;
  }

  get current(): HardState {
    return this.#current;
  }

  async save(state: HardState): Promise<void> {
    this.begin(state);
    await Promise.resolve();
    this.sync();
  }

  /** Starts a save that a crash before `sync` loses. */
  begin(state: HardState): void {
    this.#checkWritable();
    this.#begun = state;
  }

  /** What was begun is durable now. */
  sync(): void {
    this.#checkWritable();
    this.#current = this.#begun ?? this.#current;
    this.#begun = undefined;
  }

  /** From here on every save fails, as after ENOSPC. */
  failWrites(): void {
    this.#failed = true;
  }

  /** The store as a restarted process finds it. */
  crash(): MemoryHardStateStore {
    const survivor = new MemoryHardStateStore(this.incarnation);
    survivor.#current = this.#current;
    return survivor;
  }

  #checkWritable(): void {
    if (this.#failed) throw new MemoryStoreError('STORAGE_FAILED', 'an earlier save failed');
  }
}
