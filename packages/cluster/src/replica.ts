// This node's copy of the state: the engine and the index up to which it has applied the log. A
// leader's engine runs ahead of what is committed; when the leadership ends with entries in flight,
// the engine is thrown away and rebuilt from committed entries only (design §7, crash-only).

import { assert } from '@queen-ts/base';
import type { Engine } from '@queen-ts/engine';
import type { Entry, LogReader } from '@queen-ts/raft';
import type { Scheduler } from './scheduler.ts';

/** Entries that one slice of a rebuild reads and applies, in bytes. */
const REBUILD_SLICE_BYTES = 256 * 1024;

/** An engine and where in the log it stands. */
export interface EngineState {
  readonly engine: Engine;
  /** The last entry that is part of it; 0 for an empty engine. */
  readonly appliedIndex: number;
}

/**
 * A node's state as others may look at it. A leader's engine is ahead of `appliedIndex` by what is in
 * flight: compare digests only where the engine's newest entry is not beyond it.
 */
export interface ReplicaView extends EngineState {
  /** False while the engine is rebuilt: then it lags behind what the node has committed. */
  readonly isCurrent: boolean;
}

/** Parts of a replica. */
export interface ReplicaParts {
  /** An engine that has seen nothing. */
  readonly createEngine: () => Engine;
  /** Loads the newest state that the log continues. */
  readonly loadState: () => Promise<EngineState>;
  readonly log: LogReader;
  readonly scheduler: Scheduler;
  /** Called after a rebuild caught up with what is committed. */
  readonly onRebuilt: () => void;
  /** Called when a rebuild throws: the node must stop. */
  readonly onFailure: (error: unknown) => void;
}

/** The state of one node. */
export class Replica implements ReplicaView {
  readonly #parts: ReplicaParts;
  #engine: Engine;
  #appliedIndex: number;
  /** Set while rebuilding: the committed index that the rebuild must reach. */
  #rebuildTo: number | undefined;
  #rebuildsTotal = 0;
  /** Counts the logs: what was read of one that was replaced is of no use. */
  #generation = 0;

  /** @param initial the state that the start of the node arrived at. */
  constructor(parts: ReplicaParts, initial: EngineState) {
    this.#parts = parts;
    this.#engine = initial.engine;
    this.#appliedIndex = initial.appliedIndex;
  }

  get engine(): Engine {
    return this.#engine;
  }

  /** The last committed entry that the engine contains. */
  get appliedIndex(): number {
    return this.#appliedIndex;
  }

  /** False while a rebuild runs: then the engine must not be planned on or read from. */
  get isCurrent(): boolean {
    return this.#rebuildTo === undefined;
  }

  /** How often the engine was thrown away. */
  get rebuildsTotal(): number {
    return this.#rebuildsTotal;
  }

  /** Takes the next committed entry. `isPlanned`: this engine planned it, so it contains it. */
  commit(entry: Entry, isPlanned: boolean): void {
    if (this.#rebuildTo !== undefined) {
      // The rebuild reads it from the log when it gets there.
      this.#rebuildTo = entry.index;
      return;
    }
    assert(
      entry.index === this.#appliedIndex + 1,
      () => `entry ${entry.index} committed, the state is at ${this.#appliedIndex}`,
    );
    if (!isPlanned && entry.type === 'command') this.#engine.apply(entry);
    this.#appliedIndex = entry.index;
  }

  /** Throws the engine away and rebuilds it up to `committedIndex` and whatever commits meanwhile. */
  rebuild(committedIndex: number): void {
    this.#rebuildsTotal += 1;
    const isRunning = this.#rebuildTo !== undefined;
    this.#rebuildTo = committedIndex;
    // A rebuild that runs has seen committed entries only: it goes on.
    if (isRunning) return;
    this.#load();
  }

  /** A snapshot up to `index` is about to replace log and checkpoints: there is no state until it has. */
  suspend(index: number): void {
    this.#rebuildTo = index;
    this.#generation += 1;
    this.#clear();
  }

  /** The snapshot has replaced them: loads it. */
  resume(): void {
    this.#rebuildsTotal += 1;
    this.#load();
  }

  #load(): void {
    this.#clear();
    const generation = this.#generation;
    const isOld = (): boolean => generation !== this.#generation;
    this.#parts.loadState().then(
      ({ engine, appliedIndex }) => {
        if (isOld()) return;
        this.#engine = engine;
        this.#appliedIndex = appliedIndex;
        this.#rebuildSlice(generation);
      },
      (error: unknown) => {
        // The files went away under it, as they should.
        if (!isOld()) this.#parts.onFailure(error);
      },
    );
  }

  /** The old engine goes before a new one comes: memory has room for one. */
  #clear(): void {
    this.#engine = this.#parts.createEngine();
    this.#appliedIndex = 0;
  }

  #rebuildSlice(generation: number): void {
    if (generation !== this.#generation) return;
    try {
      this.#applySlice();
    } catch (error) {
      this.#parts.onFailure(error);
      return;
    }
    if (this.isCurrent) this.#parts.onRebuilt();
    else this.#parts.scheduler.defer(() => this.#rebuildSlice(generation));
  }

  #applySlice(): void {
    assert(this.#rebuildTo !== undefined, 'a slice of no rebuild');
    const from = this.#appliedIndex + 1;
    const toExclusive = this.#rebuildTo + 1;
    if (from < toExclusive) {
      const range = { from, toExclusive, maxBytes: REBUILD_SLICE_BYTES };
      for (const entry of this.#parts.log.entries(range)) {
        if (entry.type === 'command') this.#engine.apply(entry);
        this.#appliedIndex = entry.index;
      }
    }
    if (this.#appliedIndex >= this.#rebuildTo) this.#rebuildTo = undefined;
  }
}
