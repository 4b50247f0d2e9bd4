// The checkpoints of one simulated disk. A finished one survives every death of a process, one that is
// being written none; a replaced disk has none. Opening the log compares it with the checkpoint.

import { assert } from '@queen-ts/base';
import type {
  CheckpointMeta,
  CheckpointStore,
  CheckpointVisitor,
  CheckpointWriter,
  LoadedCheckpoint,
  LogPosition,
  LogReader,
} from '@queen-ts/raft';
import { DiskError } from './disk-error.ts';
import type { SimDisk } from './disk.ts';

/** Small enough for a history of seconds to take several. */
export const CHECKPOINT_LOG_BYTES_MIN = 1_500;

interface Stored {
  readonly meta: CheckpointMeta;
  readonly term: number;
  readonly pieces: readonly Uint8Array[];
  readonly sizeBytes: number;
}

/** The newest checkpoint of each disk. */
const STORED = new WeakMap<SimDisk, Stored>();

/** CheckpointStore of one process. */
export class SimCheckpointStore implements CheckpointStore {
  readonly #disk: SimDisk;
  #log: LogReader | undefined;

  constructor(disk: SimDisk) {
    this.#disk = disk;
  }

  /** Gives the log that checkpoints are taken of; throws CORRUPTION if it is not the one at `from`. */
  attach(log: LogReader, from: LogPosition): void {
    if (log.term(from.index) !== from.term) {
      throw new DiskError('CORRUPTION', `the log does not hold the checkpoint at ${from.index}`);
    }
    this.#log = log;
  }

  get newest(): { readonly index: number; readonly sizeBytes: number } | undefined {
    const stored = STORED.get(this.#disk);
    return stored && { index: stored.meta.index, sizeBytes: stored.sizeBytes };
  }

  async load(visitor: CheckpointVisitor): Promise<LoadedCheckpoint | undefined> {
    const stored = STORED.get(this.#disk);
    if (stored === undefined) return undefined;
    const { meta, term, pieces, sizeBytes } = stored;
    visitor.begin(meta);
    for (const piece of pieces) await visitor.piece(piece);
    return { meta, position: { index: meta.index, term, checksum: 0 }, sizeBytes };
  }

  async begin(): Promise<CheckpointWriter> {
    await Promise.resolve();
    const pieces: Uint8Array[] = [];
    return {
      write: (piece) => Promise.resolve(void pieces.push(piece)),
      finish: (meta) => Promise.resolve(this.#finish(meta, pieces)),
      abandon: () => Promise.resolve(),
    };
  }

  #finish(meta: CheckpointMeta, pieces: readonly Uint8Array[]): void {
    const term = this.#log?.term(meta.index);
    assert(term !== undefined, () => `checkpoint at ${meta.index} beyond the log`);
    const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    STORED.set(this.#disk, { meta, term, pieces, sizeBytes });
  }
}
