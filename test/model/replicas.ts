// A leader and a replica over one log in memory. The leader plans, the replica applies the same
// entries; either may lead, and a third engine can be built from the whole log at any time.

import { deepStrictEqual } from 'node:assert/strict';
import { Engine, ENGINE_LIMITS_DEFAULT, EngineRestorer } from '@queen-ts/engine';
import { dump, MemoryPayloads } from '@queen-ts/engine/testing';
import type { EngineLimits, EngineOptions, EntryParts, FrozenState } from '@queen-ts/engine';

type Entry = { readonly index: number } & EntryParts;

/** When sequences start, in microseconds of wall time. */
export const START_US = 1_800_000_000_000_000;

/** Key of transaction-id hashes in all sequences. */
export const HASH_KEY = Uint32Array.of(0x51, 0x52, 0x53, 0x54);

/** Two engines and the log between them. */
export class Replicas {
  readonly payloads = new MemoryPayloads();
  readonly #limits: EngineLimits;
  readonly #entries: Entry[] = [];
  #leader: Engine;
  #replica: Engine;
  #index = 0;
  #engines = 0;
  #digestBefore = '';
  #frozen: FrozenState | undefined = undefined;

  constructor(limits: Partial<EngineLimits>) {
    this.#limits = { ...ENGINE_LIMITS_DEFAULT, ...limits };
    this.#leader = this.#newEngine();
    this.#replica = this.#newEngine();
    this.open(START_US);
    this.#leader.planGenesis({ clusterId: [9, 9, 9, 9], hashKey: HASH_KEY });
    this.close();
  }

  get leader(): Engine {
    return this.#leader;
  }

  /** Opens a cycle on the leader. */
  open(nowUs: number): void {
    this.#digestBefore = this.#leader.digest();
    this.#leader.openCycle({ index: this.#index + 1, nowUs, payloadSizeHint: 64 });
  }

  /** Closes the cycle and lets the replica follow; returns the entry if there is one. */
  close(): Entry | undefined {
    const parts = this.#leader.closeCycle();
    if (parts === undefined) {
      deepStrictEqual(this.#leader.digest(), this.#digestBefore, 'digest after an empty cycle');
      return undefined;
    }
    this.#index += 1;
    const entry = { index: this.#index, ...parts };
    this.payloads.add(entry.index, entry.payload);
    this.#entries.push(entry);
    this.#replica.apply(entry);
    this.#expectSame(this.#replica, `replica after entry ${entry.index}`);
    return entry;
  }

  /** The replica leads from now on, and the old leader follows. */
  failOver(): void {
    [this.#leader, this.#replica] = [this.#replica, this.#leader];
  }

  /** Freezes the leader's state, or restores what was frozen as the new replica. */
  checkpoint(): string {
    if (this.#frozen === undefined) {
      this.#frozen = this.#leader.freeze();
      return 'the state is frozen';
    }
    this.#restore(this.#frozen);
    return 'the frozen state is restored as the new replica';
  }

  /** Restores what is frozen, applies the whole log to a fresh engine, expects the leader's state. */
  finish(): void {
    if (this.#frozen !== undefined) this.#restore(this.#frozen);
    const fresh = this.#newEngine();
    for (const entry of this.#entries) fresh.apply(entry);
    this.#expectSame(fresh, 'engine that replayed the log');
  }

  /** The log went on since the state was frozen: the restored engine applies the rest. */
  #restore(frozen: FrozenState): void {
    const restorer = new EngineRestorer(this.#engineOptions());
    for (const piece of frozen.pieces()) restorer.accept(piece);
    frozen.release();
    this.#frozen = undefined;
    const restored = restorer.finish();
    for (const entry of this.#entries) {
      if (entry.index > frozen.closedIndex) restored.apply(entry);
    }
    this.#expectSame(restored, 'restored engine');
    this.#replica = restored;
  }

  #expectSame(other: Engine, who: string): void {
    deepStrictEqual(other.digest(), this.#leader.digest(), `digest of the ${who}`);
    deepStrictEqual(dump(other), dump(this.#leader), `rows of the ${who}`);
    const nowUs = this.#leader.nowUs;
    deepStrictEqual(
      other.listQueues({ nowUs }),
      this.#leader.listQueues({ nowUs }),
      `queues of the ${who}`,
    );
  }

  #newEngine(): Engine {
    return new Engine(this.#engineOptions());
  }

  /**
   * Each engine hashes names differently and has the places of few blocks in memory: nothing may depend
   * on the order of a table or on a cache.
   */
  #engineOptions(): EngineOptions {
    this.#engines += 1;
    const bytes = [0, 200, 2000][this.#engines % 3]!;
    return {
      payloads: this.payloads,
      limits: this.#limits,
      tableSeed: this.#engines,
      blockCache: { recentBytes: bytes, lookedUpBytes: bytes },
    };
  }
}
