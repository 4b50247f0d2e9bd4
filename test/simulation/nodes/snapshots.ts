// Snapshots of one process: the pieces name what they stand for instead of holding it, as nodes hand each
// other the same immutable buffers anyway. Each piece that arrives takes the disk's time; a crash before the
// install forgets them all.

import { assert } from '@queen-ts/base';
import type {
  IncomingSnapshot,
  OutgoingSnapshot,
  SnapshotDescription,
  SnapshotStore,
} from '@queen-ts/raft';
import { DiskError } from './disk-error.ts';
import type { StagedSnapshot } from './disk-image.ts';
import type { SimDisk } from './disk.ts';
import type { SimLogStore } from './log-store.ts';
import type { FailureLatch, StoreUser } from './stores.ts';

/** Records of the archive that one piece stands for. */
const RECORDS_PER_PIECE = 8;

/** What the pieces of a run stand for. */
export class SnapshotLibrary {
  readonly #contents: StagedSnapshot[] = [];

  /** Keeps a snapshot; returns the number that its pieces name it by. */
  add(content: StagedSnapshot): number {
    return this.#contents.push(content) - 1;
  }

  get(number: number): StagedSnapshot | undefined {
    return this.#contents[number];
  }
}

/** Parts of a {@link SimSnapshotStore}. */
interface SnapshotStoreParts {
  readonly disk: SimDisk;
  readonly user: StoreUser;
  readonly latch: FailureLatch;
  readonly library: SnapshotLibrary;
  /** The log, once it is open. */
  readonly log: () => SimLogStore | undefined;
}

/** SnapshotStore of one process. */
export class SimSnapshotStore implements SnapshotStore {
  readonly #parts: SnapshotStoreParts;

  constructor(parts: SnapshotStoreParts) {
    this.#parts = parts;
  }

  async open(): Promise<OutgoingSnapshot | undefined> {
    await Promise.resolve();
    const { disk, latch, library } = this.#parts;
    const checkpoint = disk.checkpoints.at(-1);
    if (checkpoint === undefined) return undefined;
    const { index, membership } = checkpoint.meta;
    const archive = latch.read(() => disk.recordsUpTo(index));
    const number = library.add({ checkpoint, archive });
    let at = 0;
    return {
      position: { index, term: checkpoint.term, checksum: 0 },
      membership,
      next: async () => {
        await Promise.resolve();
        if (at >= pieceCountOf({ checkpoint, archive })) return undefined;
        at += 1;
        return new Uint8Array(Uint32Array.of(number, at - 1).buffer);
      },
      close: () => Promise.resolve(),
    };
  }

  receive(): Promise<IncomingSnapshot> {
    return Promise.resolve(new SimIncoming(this.#parts));
  }
}

class SimIncoming implements IncomingSnapshot {
  readonly #parts: SnapshotStoreParts;
  #content: StagedSnapshot | undefined;
  #next = 0;
  #isFinished = false;

  constructor(parts: SnapshotStoreParts) {
    this.#parts = parts;
  }

  async accept(piece: Uint8Array): Promise<void> {
    const { latch, disk, user, library } = this.#parts;
    const [number = -1, at] = new Uint32Array(piece.slice().buffer);
    const content = library.get(number);
    const isOther = this.#content !== undefined && this.#content !== content;
    if (content === undefined || isOther || at !== this.#next) {
      throw new DiskError('SNAPSHOT_INVALID', `piece ${at}, ${this.#next} must come next`);
    }
    this.#content = content;
    this.#next += 1;
    await latch.write(() => disk.stage(user));
  }

  async finish(): Promise<SnapshotDescription> {
    const { latch, disk, user, log } = this.#parts;
    const content = this.#content;
    if (content === undefined || this.#next !== pieceCountOf(content)) {
      throw new DiskError('SNAPSHOT_INVALID', `${this.#next} pieces are not all`);
    }
    await latch.write(() => disk.stage(user));
    const { meta, term } = content.checkpoint;
    assert(log() !== undefined, 'a snapshot before the log is open');
    this.#isFinished = true;
    log()?.stage(content);
    return { position: { index: meta.index, term, checksum: 0 }, membership: meta.membership };
  }

  abandon(): Promise<void> {
    if (this.#isFinished) this.#parts.log()?.stage(undefined);
    this.#isFinished = false;
    return Promise.resolve();
  }
}

function pieceCountOf({ archive }: StagedSnapshot): number {
  return 1 + Math.ceil(archive.length / RECORDS_PER_PIECE);
}
