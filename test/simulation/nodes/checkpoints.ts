// The checkpoints of one simulated disk. One is durable when its last write is, a crash before that
// leaves the one before it; a damaged one is passed over. Opening the log compares it with the state.

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
import type { DiskUser, SimDisk } from './disk.ts';
import type { FailureLatch } from './stores.ts';

/** A durable checkpoint. */
export interface StoredCheckpoint {
  readonly meta: CheckpointMeta;
  /** Term of the log record that it stands at. */
  readonly term: number;
  readonly pieces: readonly Uint8Array[];
  readonly sizeBytes: number;
}

/** CheckpointStore of one process. */
export class SimCheckpointStore implements CheckpointStore {
  readonly #disk: SimDisk;
  readonly #user: DiskUser;
  readonly #latch: FailureLatch;
  #log: LogReader | undefined;
  /** Indexes of the checkpoints that this process knows to be whole, oldest first; two at most. */
  #known: number[] = [];
  #newestBytes = 0;

  constructor(disk: SimDisk, user: DiskUser, latch: FailureLatch) {
    this.#disk = disk;
    this.#user = user;
    this.#latch = latch;
  }

  /** Gives the log that checkpoints are taken of; throws CORRUPTION if it is not the one at `from`. */
  attach(log: LogReader, from: LogPosition): void {
    if (log.term(from.index) !== from.term) {
      throw new DiskError('CORRUPTION', `the log does not hold the checkpoint at ${from.index}`);
    }
    this.#log = log;
  }

  get newest(): { readonly index: number; readonly sizeBytes: number } | undefined {
    const index = this.#known.at(-1);
    return index === undefined ? undefined : { index, sizeBytes: this.#newestBytes };
  }

  get coveredIndex(): number {
    if (this.#disk.bugs.coversNewest) return this.#known.at(-1) ?? 0;
    return this.#known.length < 2 ? 0 : (this.#known[0] ?? 0);
  }

  async load(visitor: CheckpointVisitor): Promise<LoadedCheckpoint | undefined> {
    const { checkpoints } = this.#disk;
    const stored = checkpoints.at(-1);
    if (stored === undefined) return undefined;
    const { meta, term, pieces, sizeBytes } = stored;
    this.#known = checkpoints.map((it) => it.meta.index);
    this.#newestBytes = sizeBytes;
    visitor.begin(meta);
    for (const piece of pieces) await visitor.piece(piece);
    return { meta, position: { index: meta.index, term, checksum: 0 }, sizeBytes };
  }

  async begin(): Promise<CheckpointWriter> {
    await Promise.resolve();
    const pieces: Uint8Array[] = [];
    return {
      write: (piece) => Promise.resolve(void pieces.push(piece)),
      finish: (meta) => this.#finish(meta, pieces),
      abandon: () => Promise.resolve(),
    };
  }

  async #finish(meta: CheckpointMeta, pieces: readonly Uint8Array[]): Promise<void> {
    const term = this.#log?.term(meta.index);
    assert(term !== undefined, () => `checkpoint at ${meta.index} beyond the log`);
    const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    const stored = { meta, term, pieces, sizeBytes };
    const keptIndex = this.#known.at(-1) ?? 0;
    await this.#latch.write(() => this.#disk.saveCheckpoint(this.#user, stored, keptIndex));
    this.#known = [...this.#known.slice(-1), meta.index];
    this.#newestBytes = sizeBytes;
  }
}
