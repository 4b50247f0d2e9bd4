// A leader and a replica over one log in memory. The leader plans, the replica applies the same
// entries; either may lead, and a third engine can be built from the whole log at any time.

import { deepStrictEqual } from 'node:assert/strict';
import { Engine, ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import { dump, MemoryPayloads } from '@queen-ts/engine/testing';
import type { EngineLimits, EntryParts } from '@queen-ts/engine';

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

  /** Applies the whole log to a fresh engine and expects the leader's state. */
  replay(): void {
    const fresh = this.#newEngine();
    for (const entry of this.#entries) fresh.apply(entry);
    this.#expectSame(fresh, 'engine that replayed the log');
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

  /** Each engine hashes names differently: nothing may depend on the order of a table. */
  #newEngine(): Engine {
    this.#engines += 1;
    const tableSeed = this.#engines;
    return new Engine({ payloads: this.payloads, limits: this.#limits, tableSeed });
  }
}
