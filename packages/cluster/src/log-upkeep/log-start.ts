// Moves the log's start behind what the checkpoints cover, and keeps it far enough behind the end that a
// member which was briefly away needs no snapshot.

import type { Clock } from '@queen-ts/base';
import type { CheckpointStore, LogStore } from '@queen-ts/raft';
import { Fifo } from '../fifo.ts';
import type { LogLimits } from './limits.ts';

/** Marks that the time and the bytes that may be held are divided into. */
const MARKS = 1024;
/** Marks kept; beyond them the oldest go, which only makes the next move a larger one. */
const MARKS_MAX = 4096;

/** Parts of a {@link LogStart}. */
export interface LogStartParts {
  readonly log: LogStore;
  readonly checkpoints: CheckpointStore;
  readonly clock: Clock;
  readonly limits: LogLimits;
  /** Whether there are members that may be away. */
  readonly hasPeers: () => boolean;
  /** Nothing after this index may leave the log: a member that gets a snapshot goes on from there. */
  readonly heldIndex: () => number;
  readonly onFailure: (error: unknown) => void;
}

/** A place in the log where it may start, and what was known when it was the end. */
interface Mark {
  readonly index: number;
  readonly atUs: number;
  readonly totalBytes: number;
}

/** Where the log of one node starts. */
export class LogStart {
  readonly #parts: LogStartParts;
  readonly #marks = new Fifo<Mark>();
  #newest: Mark;
  #totalBytes = 0;
  /** The best mark that was passed; where the log may start once it is covered. */
  #ripe = 0;
  #nextMoveUs = 0;
  #moving: Promise<void> | undefined;

  /** @param committedIndex where the node stood when it started. */
  constructor(parts: LogStartParts, committedIndex: number) {
    this.#parts = parts;
    this.#newest = { index: committedIndex, atUs: parts.clock.monotonicUs(), totalBytes: 0 };
    this.#marks.push(this.#newest);
  }

  /** Notes a committed entry; every one, in order. */
  committed(index: number, sizeBytes: number): void {
    const { limits, clock } = this.#parts;
    this.#totalBytes += sizeBytes;
    const nowUs = clock.monotonicUs();
    const { atUs, totalBytes } = this.#newest;
    const isFar = this.#totalBytes - totalBytes >= limits.holdBytesMax / MARKS;
    if (!isFar && nowUs - atUs < limits.holdUs / MARKS) return;
    this.#newest = { index, atUs: nowUs, totalBytes: this.#totalBytes };
    this.#marks.push(this.#newest);
    if (this.#marks.size > MARKS_MAX) this.#marks.shift();
  }

  /** Moves the start if it is time to. Called at the end of a turn. */
  poll(): void {
    const { log, clock, limits, checkpoints } = this.#parts;
    const nowUs = clock.monotonicUs();
    if (nowUs < this.#nextMoveUs || this.#moving !== undefined || log.compact === undefined) return;
    this.#nextMoveUs = nowUs + limits.startMoveUs;
    const toIndex = this.#target(Math.min(checkpoints.coveredIndex, this.#parts.heldIndex()));
    if (toIndex < log.firstIndex) return;
    this.#moving = log.compact(toIndex).then(
      () => {
        this.#moving = undefined;
      },
      (error: unknown) => this.#parts.onFailure(error),
    );
  }

  /** A snapshot has replaced the log. */
  replaced(index: number): void {
    while (this.#marks.size > 0) this.#marks.shift();
    this.#ripe = 0;
    const atUs = this.#parts.clock.monotonicUs();
    this.#newest = { index, atUs, totalBytes: this.#totalBytes };
    this.#marks.push(this.#newest);
  }

  /** Resolves when no move is under way. */
  async settled(): Promise<void> {
    await this.#moving;
  }

  /** The last mark up to `coveredIndex` that is old or far enough. */
  #target(coveredIndex: number): number {
    for (let mark = this.#marks.peek(); mark !== undefined; mark = this.#marks.peek()) {
      if (mark.index > coveredIndex || !this.#isRipe(mark)) break;
      this.#ripe = mark.index;
      this.#marks.shift();
    }
    return Math.min(this.#ripe, coveredIndex);
  }

  #isRipe({ atUs, totalBytes }: Mark): boolean {
    const { limits, clock, hasPeers } = this.#parts;
    const behindBytes = this.#totalBytes - totalBytes;
    if (behindBytes < limits.trailBytesMin) return false;
    const isOld = !hasPeers() || clock.monotonicUs() - atUs >= limits.holdUs;
    return isOld || behindBytes >= limits.holdBytesMax;
  }
}
