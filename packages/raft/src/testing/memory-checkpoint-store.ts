// A CheckpointStore in memory. Finished checkpoints survive a crash, one that is being written does
// not. Writes can be made to fail.

import { assert } from '@queen-ts/base';
import type {
  CheckpointMeta,
  CheckpointStore,
  CheckpointVisitor,
  CheckpointWriter,
  LoadedCheckpoint,
} from '../checkpoints.ts';
import { MemoryStoreError } from './memory-store-error.ts';

/** A finished checkpoint. */
export interface StoredCheckpoint {
  readonly meta: CheckpointMeta;
  readonly term: number;
  readonly pieces: readonly Uint8Array[];
}

/** CheckpointStore without a disk. */
export class MemoryCheckpointStore implements CheckpointStore {
  /** The term of a durable entry of the log that checkpoints are taken of. */
  readonly #termOf: (index: number) => number | undefined;
  /** Oldest first. */
  readonly #stored: StoredCheckpoint[];
  #isWriting = false;
  #failed = false;
  #begunTotal = 0;

  constructor(
    termOf: (index: number) => number | undefined,
    survivors: readonly StoredCheckpoint[] = [],
  ) {
    this.#termOf = termOf;
    this.#stored = [...survivors];
  }

  get newest(): { readonly index: number; readonly sizeBytes: number } | undefined {
    const stored = this.#stored.at(-1);
    return stored && { index: stored.meta.index, sizeBytes: sizeOf(stored) };
  }

  get coveredIndex(): number {
    return this.#stored.length < 2 ? 0 : (this.#stored[0]?.meta.index ?? 0);
  }

  /** Indexes of the finished checkpoints, oldest first. */
  get indexes(): number[] {
    return this.#stored.map(({ meta }) => meta.index);
  }

  /** Checkpoints begun, finished or not. */
  get begunTotal(): number {
    return this.#begunTotal;
  }

  async load(visitor: CheckpointVisitor): Promise<LoadedCheckpoint | undefined> {
    const stored = this.#stored.at(-1);
    if (stored === undefined) return undefined;
    const { meta, term, pieces } = stored;
    visitor.begin(meta);
    for (const piece of pieces) await visitor.piece(piece.slice());
    const position = { index: meta.index, term, checksum: 0 };
    return { meta, position, sizeBytes: sizeOf(stored) };
  }

  begin(): Promise<CheckpointWriter> {
    assert(!this.#isWriting, 'one checkpoint at a time');
    if (this.#failed) return Promise.reject(failed());
    this.#isWriting = true;
    this.#begunTotal += 1;
    const pieces: Uint8Array[] = [];
    const step = (run: () => void): Promise<void> => {
      if (this.#failed) return Promise.reject(failed());
      run();
      return Promise.resolve();
    };
    return Promise.resolve({
      write: (piece) => step(() => pieces.push(piece)),
      finish: (meta) => step(() => this.#finish(meta, pieces)),
      abandon: () => step(() => (this.#isWriting = false)),
    });
  }

  /** The newest one with everything in it. */
  get newestStored(): StoredCheckpoint | undefined {
    return this.#stored.at(-1);
  }

  /** A snapshot has taken the place of log and checkpoints. */
  replaceAll(stored: StoredCheckpoint): void {
    this.#stored.splice(0, this.#stored.length, stored);
    this.#isWriting = false;
  }

  /** The newest one is damaged: the older one is all that is left. */
  loseNewest(): void {
    this.#stored.pop();
  }

  /** From here on every write fails, as after ENOSPC. */
  failWrites(): void {
    this.#failed = true;
  }

  /** The store as a restarted process finds it, on the log that the process finds. */
  crash(termOf: (index: number) => number | undefined): MemoryCheckpointStore {
    return new MemoryCheckpointStore(termOf, this.#stored);
  }

  #finish(meta: CheckpointMeta, pieces: readonly Uint8Array[]): void {
    const term = this.#termOf(meta.index);
    assert(term !== undefined, () => `a checkpoint at ${meta.index}, which is not in the log`);
    this.#isWriting = false;
    this.#stored.push({ meta, term, pieces });
    if (this.#stored.length > 2) this.#stored.shift();
  }
}

function sizeOf({ pieces }: StoredCheckpoint): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

function failed(): MemoryStoreError {
  return new MemoryStoreError('STORAGE_FAILED', 'an earlier write failed');
}
