// Writes checkpoints beside everything else: when the log has grown enough, the engine is frozen at
// the end of a turn, encoded in slices, and written off the core thread. A leader's engine is ahead of
// what is committed, so what was frozen counts only once its index commits under the same leadership;
// until then it is neither finished nor visible.

import type { Clock } from '@queen-ts/base';
import type { Engine, FrozenState } from '@queen-ts/engine';
import type { CheckpointStore, CheckpointWriter, Entry } from '@queen-ts/raft';
import type { BrokerLimits } from './limits.ts';
import { clusterIdOf } from './load-state.ts';
import type { Scheduler } from './scheduler.ts';

/** What an entry counts for beside its bytes. */
const ENTRY_OVERHEAD_BYTES = 64;

/** A state that may be frozen now. */
export interface CheckpointSource {
  readonly engine: Engine;
  /** The engine contains every entry of the log up to here and nothing after. */
  readonly index: number;
}

/** Parts of the job. */
export interface CheckpointJobParts {
  readonly store: CheckpointStore;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: BrokerLimits;
  /** The state now, outside of any cycle; undefined while there is none to take. */
  readonly source: () => CheckpointSource | undefined;
  /** Called when writing failed: the node must stop (I11). */
  readonly onFailure: (error: unknown) => void;
}

/** Where the log stood when the node started. */
export interface CheckpointJobStart {
  readonly committedIndex: number;
  /** Head of the newest membership entry up to there. */
  readonly membership: Uint8Array | undefined;
  /** Size of the entries between the newest checkpoint and there, in bytes. */
  readonly grownBytes: number;
}

/** What the checkpoints of a node came to since it started. */
export interface CheckpointStatus {
  readonly finishedTotal: number;
  /** Given up: the leadership ended, a snapshot came, or the node stopped. */
  readonly droppedTotal: number;
  /** Could not be written; the node stops then. */
  readonly failedTotal: number;
  /** Size of the newest one in bytes, also of one that the node started from; 0 without one. */
  readonly sizeBytes: number;
  /** From freezing to finishing the last one that was finished, in microseconds. */
  readonly durationUs: number;
  /** Time since the last one was finished; undefined before that. */
  readonly ageUs: number | undefined;
  /** Log that the newest one does not cover, in bytes: what a start would replay. */
  readonly uncoveredBytes: number;
}

/** One checkpoint in the making. */
interface Run {
  readonly index: number;
  readonly frozen: FrozenState;
  readonly clusterId: string;
  /** In force at `index`; undefined until that is committed. */
  membership: Uint8Array | undefined;
  /** Set when it must not be finished any more. */
  isDropped: boolean;
  /** Wakes the run when one of the two changed. */
  wake: () => void;
  /** Log growth that it was started for. */
  readonly grownBytes: number;
  /** Monotonic. */
  readonly startedUs: number;
  done: Promise<void>;
}

/** Takes checkpoints of one node's state, one at a time. */
export class CheckpointJob {
  readonly #parts: CheckpointJobParts;
  #committedIndex: number;
  #membership: Uint8Array | undefined;
  #grownBytes: number;
  #run: Run | undefined;
  /** Time that encoding the last run took, and until when none is begun after it (monotonic). */
  #encodeUs = 0;
  #restUntilUs = 0;
  #isStopping = false;
  #isSuspended = false;
  #finishedTotal = 0;
  #droppedTotal = 0;
  #failedTotal = 0;
  #durationUs = 0;
  #finishedUs: number | undefined;

  constructor(parts: CheckpointJobParts, start: CheckpointJobStart) {
    this.#parts = parts;
    this.#committedIndex = start.committedIndex;
    this.#membership = start.membership;
    this.#grownBytes = start.grownBytes;
  }

  /** What they came to so far. */
  get status(): CheckpointStatus {
    const { clock, store } = this.#parts;
    const finishedUs = this.#finishedUs;
    return {
      finishedTotal: this.#finishedTotal,
      droppedTotal: this.#droppedTotal,
      failedTotal: this.#failedTotal,
      sizeBytes: store.newest?.sizeBytes ?? 0,
      durationUs: this.#durationUs,
      ageUs: finishedUs === undefined ? undefined : clock.monotonicUs() - finishedUs,
      uncoveredBytes: this.#grownBytes + (this.#run?.grownBytes ?? 0),
    };
  }

  /** Notes a committed entry; every one, in order. */
  committed(entry: Entry): void {
    this.#committedIndex = entry.index;
    this.#grownBytes += sizeOfEntry(entry);
    if (entry.type === 'membership') this.#membership = entry.head;
    const run = this.#run;
    if (run?.index !== entry.index) return;
    run.membership = this.#membership;
    run.wake();
  }

  /**
   * Begins a checkpoint if the log has grown enough and the last one is long enough ago: a big state
   * under a heavy load would be encoded all the time. Called at the end of a turn.
   */
  poll(): void {
    const { store, limits, clock } = this.#parts;
    if (this.#run !== undefined || this.#isStopping || this.#isSuspended) return;
    const wantedBytes = Math.max(limits.checkpointLogBytesMin, store.newest?.sizeBytes ?? 0);
    if (this.#grownBytes < wantedBytes || clock.monotonicUs() < this.#restUntilUs) return;
    this.#begin();
  }

  /** The leadership ended: what was frozen beyond `committedIndex` may never commit. */
  leadershipLost(committedIndex: number): void {
    if (this.#run !== undefined && this.#run.index > committedIndex) drop(this.#run);
  }

  /** Drops the checkpoint in the making; resolves when nothing of it is left. None is begun until `resume`. */
  async suspend(): Promise<void> {
    this.#isSuspended = true;
    if (this.#run === undefined) return;
    drop(this.#run);
    await this.#run.done;
  }

  /** A snapshot has taken the place of log and checkpoints. */
  resume(start: CheckpointJobStart): void {
    this.#committedIndex = start.committedIndex;
    this.#membership = start.membership;
    this.#grownBytes = start.grownBytes;
    this.#isSuspended = false;
  }

  /**
   * Takes a last checkpoint if a start would have much to replay without it, after the one that runs.
   * Resolves by `giveUpUs` (monotonic): what is not finished then is dropped.
   */
  async stop(giveUpUs: number): Promise<void> {
    const { clock, scheduler, limits } = this.#parts;
    this.#isStopping = true;
    const late = Promise.withResolvers<void>();
    let isLate = false;
    const cancel = scheduler.after(Math.max(0, giveUpUs - clock.monotonicUs()), () => {
      isLate = true;
      if (this.#run !== undefined) drop(this.#run);
      late.resolve();
    });
    // What waits for a commit waits in vain: nothing is planned or sent any more.
    if (this.#run !== undefined && this.#run.index > this.#committedIndex) drop(this.#run);
    await Promise.race([this.#run?.done, late.promise]);
    if (!isLate && this.#grownBytes >= limits.checkpointStopBytesMin) this.#begin();
    await Promise.race([this.#run?.done, late.promise]);
    cancel();
  }

  #begin(): void {
    if (this.#isSuspended) return;
    const source = this.#parts.source();
    // Nothing to describe it by before the cluster has an identity and members.
    if (source?.engine.identity === undefined || this.#membership === undefined) return;
    const { engine, index } = source;
    const isCommitted = index <= this.#committedIndex;
    if (this.#isStopping && !isCommitted) return;
    const run: Run = {
      index,
      frozen: engine.freeze(),
      clusterId: clusterIdOf(engine),
      membership: isCommitted ? this.#membership : undefined,
      isDropped: false,
      wake: () => undefined,
      grownBytes: this.#grownBytes,
      startedUs: this.#parts.clock.monotonicUs(),
      done: Promise.resolve(),
    };
    this.#grownBytes = 0;
    this.#run = run;
    run.done = this.#write(run).catch((error: unknown) => {
      this.#failedTotal += 1;
      this.#parts.onFailure(error);
    });
  }

  async #write(run: Run): Promise<void> {
    const writer = await this.#parts.store.begin();
    try {
      await this.#writePieces(run, writer);
    } finally {
      run.frozen.release();
    }
    while (run.membership === undefined && !run.isDropped) {
      await new Promise<void>((resolve) => {
        run.wake = resolve;
      });
    }
    const { index, clusterId, membership } = run;
    if (run.isDropped || membership === undefined) {
      await writer.abandon();
      // The log is still to be covered.
      this.#grownBytes += run.grownBytes;
      this.#droppedTotal += 1;
    } else {
      await writer.finish({ index, clusterId, digest: run.frozen.digest, membership });
      this.#finishedTotal += 1;
      this.#finishedUs = this.#parts.clock.monotonicUs();
      this.#durationUs = this.#finishedUs - run.startedUs;
    }
    const { clock, limits } = this.#parts;
    this.#restUntilUs = clock.monotonicUs() + this.#encodeUs * limits.checkpointRestFactor;
    this.#run = undefined;
  }

  async #writePieces(run: Run, writer: CheckpointWriter): Promise<void> {
    const pieces = run.frozen.pieces();
    this.#encodeUs = 0;
    for (let isDone = false; !isDone && !run.isDropped;) {
      await this.#turn();
      const slice: Uint8Array[] = [];
      isDone = this.#encodeSlice(pieces, slice);
      for (const piece of slice) await writer.write(piece);
    }
  }

  /** Encodes for about `checkpointSliceUs`; returns whether that was all. */
  #encodeSlice(pieces: Generator<Uint8Array>, slice: Uint8Array[]): boolean {
    const { clock, limits } = this.#parts;
    const startUs = clock.monotonicUs();
    for (;;) {
      const step = pieces.next();
      if (step.done !== true && step.value.length > 0) slice.push(step.value);
      const spentUs = clock.monotonicUs() - startUs;
      if (step.done !== true && spentUs < limits.checkpointSliceUs) continue;
      this.#encodeUs += spentUs;
      return step.done === true;
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.#parts.scheduler.defer(resolve));
  }
}

/** What an entry counts for in the growth of the log, in bytes. */
export function sizeOfEntry({ head, payload }: Entry): number {
  return head.length + payload.length + ENTRY_OVERHEAD_BYTES;
}

function drop(run: Run): void {
  run.isDropped = true;
  run.wake();
}
