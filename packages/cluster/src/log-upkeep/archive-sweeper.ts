// Finds the old records in which nothing is referred to any more and has them purged. A record is judged
// by the state as it is now, and purged only when the older of the two checkpoints contains that state: no
// start, from whichever of them, can then look for what is gone.

import type { Clock } from '@queen-ts/base';
import { liveRanges } from '@queen-ts/engine';
import type { Engine, LiveRange } from '@queen-ts/engine';
import type { ArchivedRecord, CheckpointStore, LogStore, PurgedRecord } from '@queen-ts/raft';
import type { Scheduler } from '../scheduler.ts';
import type { LogLimits } from './limits.ts';

/** Parts of a payload that a store can purge: chunks of this size from its start on. */
const CHUNK_BYTES = 65_536;

/** A state to judge by. */
export interface JudgedState {
  readonly engine: Engine;
  /** The state contains every entry of the log up to here and nothing after. */
  readonly index: number;
}

/** Parts of an {@link ArchiveSweeper}. */
export interface ArchiveSweeperParts {
  readonly log: LogStore;
  readonly checkpoints: CheckpointStore;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: LogLimits;
  /** The state now; undefined while there is none. */
  readonly state: () => JudgedState | undefined;
  readonly onFailure: (error: unknown) => void;
}

/** What was done so far. */
export interface SweepCounters {
  readonly passesTotal: number;
  readonly purgedRecordsTotal: number;
  readonly purgedBytesTotal: number;
  readonly reclaimsTotal: number;
}

/** Walks the archive of one node, again and again. */
export class ArchiveSweeper {
  readonly #parts: ArchiveSweeperParts;
  /** Next index to judge. */
  #next = 1;
  /** Found dead or partly dead by states up to `#judgedIndex`. */
  #found: PurgedRecord[] = [];
  #judgedIndex = 0;
  /** All that is found is to be purged as soon as it is covered. */
  #isWaiting = false;
  /** What was kept of records when parts of them were purged last, in bytes: nothing new until that changes. */
  readonly #partlyPurged = new Map<number, number>();
  #unreclaimedBytes = 0;
  /** Counts resets: what was begun before one does not go on. */
  #generation = 0;
  #cancel: () => void = () => {};
  #purging: Promise<void> | undefined;
  #isStopped = false;
  #counters = { passesTotal: 0, purgedRecordsTotal: 0, purgedBytesTotal: 0, reclaimsTotal: 0 };

  constructor(parts: ArchiveSweeperParts) {
    this.#parts = parts;
  }

  get counters(): SweepCounters {
    return this.#counters;
  }

  /** Starts the first pass after one pause. */
  start(): void {
    this.#later(this.#parts.limits.sweepPauseUs);
  }

  /**
   * The state was thrown away, or the log was replaced: what was judged by it may be wrong. The next pass
   * begins anew.
   */
  reset(): void {
    this.#generation += 1;
    this.#found = [];
    this.#judgedIndex = 0;
    this.#isWaiting = false;
    this.#next = 1;
    this.#partlyPurged.clear();
  }

  /** Ends the sweep; resolves when nothing runs any more. `start` may follow. */
  async pause(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    this.reset();
    await this.#purging;
    this.#isStopped = false;
  }

  #later(delayUs: number): void {
    if (this.#isStopped) return;
    this.#cancel();
    this.#cancel = this.#parts.scheduler.after(delayUs, () => this.#turn());
  }

  /** One slice: of judging, or of purging what is ripe. */
  #turn(): void {
    const { clock, limits, log, onFailure } = this.#parts;
    if (this.#purging !== undefined) return;
    // Judging more meanwhile would only move what must be covered further ahead, again and again.
    if (this.#isWaiting) return this.#purgeWhenCovered();
    const startUs = clock.monotonicUs();
    try {
      const isWhole = this.#judge(startUs + limits.sweepSliceUs);
      const isFull = this.#found.length >= limits.sweepRecordsMax;
      // What was alive a moment ago is looked at again by the next pass.
      if (isWhole) this.#next = 1;
      if (isWhole && log.firstIndex > 1) this.#counters.passesTotal += 1;
      this.#isWaiting = this.#found.length > 0 && (isWhole || isFull);
      if (this.#isWaiting) return this.#purgeWhenCovered();
      const restUs = (clock.monotonicUs() - startUs) * limits.sweepRestFactor;
      this.#later(isWhole ? limits.sweepPauseUs : Math.max(1000, restUs));
    } catch (error) {
      onFailure(error);
    }
  }

  /** Judges records until `untilUs`; returns whether the pass has come to the end of the archive. */
  #judge(untilUs: number): boolean {
    const { log, clock, limits, state } = this.#parts;
    const judged = state();
    if (judged === undefined || log.archive === undefined) return true;
    // Records beyond it are in the log's way to the archive, but not in the state's past.
    const toExclusive = Math.min(log.firstIndex, judged.index + 1);
    do {
      if (this.#found.length >= limits.sweepRecordsMax) return false;
      const record = log.archive.next(this.#next, toExclusive);
      if (record === undefined) return true;
      this.#next = record.index + 1;
      const purged = this.#deadPart(judged.engine, record);
      if (purged === undefined) continue;
      this.#found.push(purged);
      this.#judgedIndex = Math.max(this.#judgedIndex, judged.index);
    } while (clock.monotonicUs() < untilUs);
    return false;
  }

  /** What to purge of a record; undefined if all of it, or nearly all, is still referred to. */
  #deadPart(engine: Engine, record: ArchivedRecord): PurgedRecord | undefined {
    const { index, type, payloadBytes } = record;
    const kept = type === 'command' ? liveRanges(engine.state, record) : [];
    if (kept.length === 0) return { index, kept };
    if (payloadBytes <= CHUNK_BYTES || !hasFreeChunk(kept, payloadBytes)) return undefined;
    const keptBytes = sizeOf(kept);
    if (this.#partlyPurged.get(index) === keptBytes) return undefined;
    if (this.#partlyPurged.size >= this.#parts.limits.sweepRecordsMax) this.#partlyPurged.clear();
    this.#partlyPurged.set(index, keptBytes);
    return { index, kept };
  }

  #purgeWhenCovered(): void {
    const { checkpoints, limits, onFailure } = this.#parts;
    if (checkpoints.coveredIndex < this.#judgedIndex) return this.#later(limits.startMoveUs);
    this.#purging = this.#purge(this.#generation).then(
      () => {
        this.#purging = undefined;
        // A pass that was cut short, because much was found, goes on at once.
        this.#later(this.#next === 1 ? limits.sweepPauseUs : limits.startMoveUs);
      },
      (error: unknown) => onFailure(error),
    );
  }

  async #purge(generation: number): Promise<void> {
    const { log, limits } = this.#parts;
    const { archive } = log;
    while (archive !== undefined && this.#found.length > 0) {
      const records = this.#found.splice(0, limits.purgeRecordsMax);
      const purgedBytes = await archive.purge(records);
      this.#counters.purgedRecordsTotal += records.filter(({ kept }) => kept.length === 0).length;
      this.#counters.purgedBytesTotal += purgedBytes;
      this.#unreclaimedBytes += purgedBytes;
      if (generation !== this.#generation) return;
    }
    this.#judgedIndex = 0;
    this.#isWaiting = false;
    if (archive === undefined || this.#unreclaimedBytes < limits.reclaimBytesMin) return;
    if (!(await archive.reclaim())) return;
    this.#unreclaimedBytes = 0;
    this.#counters.reclaimsTotal += 1;
  }
}

/** Whether a whole chunk lies between the ranges. */
function hasFreeChunk(kept: readonly LiveRange[], payloadBytes: number): boolean {
  let from = 0;
  for (const range of kept.toSorted((a, b) => a.from - b.from)) {
    if (chunkEnd(from) + CHUNK_BYTES <= range.from) return true;
    from = Math.max(from, range.toExclusive);
  }
  // The last chunk may be short.
  return chunkEnd(from) < payloadBytes;
}

/** Where the chunk that `at` lies in ends, or `at` itself between two. */
function chunkEnd(at: number): number {
  return Math.ceil(at / CHUNK_BYTES) * CHUNK_BYTES;
}

function sizeOf(ranges: readonly LiveRange[]): number {
  return ranges.reduce((sum, { from, toExclusive }) => sum + toExclusive - from, 0);
}
