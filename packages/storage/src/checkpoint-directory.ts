// The checkpoints of a data directory: one file each, named by index, the newest two undamaged kept. Loading
// takes the newest that is whole; a damaged one is passed over with a warning, because whether
// anything is missing then is seen when the log is opened from where the loaded one stands.
//
//   checkpoints/<index, 16 digits>.state    complete
//   checkpoints/writing                     being written, or left by a crash: removed by the next start

import { mkdir, open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { assert } from '@queen-ts/base';
import type {
  CheckpointStore,
  CheckpointVisitor,
  CheckpointWriter,
  LoadedCheckpoint,
  LogPosition,
} from '@queen-ts/raft';

import { readCheckpoint, readOpenCheckpoint } from './checkpoint-reader.ts';
import { CheckpointFileWriter } from './checkpoint-writer.ts';
import { hasSystemCode, StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import { syncDirectory } from './files.ts';

/** Directory name inside the data directory. */
export const CHECKPOINT_DIRECTORY = 'checkpoints';

/** Checkpoints kept: one more than needed, in case the newest is damaged at rest. */
const KEPT_COUNT = 2;

const TEMPORARY_NAME = 'writing';
const NAME_DIGITS = 16;
const NAME_PATTERN = /^(\d{16})\.state$/;

/** A verified checkpoint that stays readable. */
export interface OpenCheckpoint {
  readonly path: string;
  readonly handle: FileHandle;
  readonly loaded: LoadedCheckpoint;
}

interface Candidate {
  readonly index: number;
  readonly path: string;
}

/** {@link CheckpointStore} on files. */
export class CheckpointDirectory implements CheckpointStore {
  readonly #path: string;
  readonly #latch: FailureLatch;
  readonly #warn: (warning: string) => void;
  #positionOf: ((index: number) => LogPosition) | undefined;
  #newest: { readonly index: number; readonly sizeBytes: number } | undefined;
  /** Of files that are in their place, ascending, as far as they are known; damaged ones left out. */
  #indexes: readonly number[] = [];
  /** Those that were found damaged. */
  readonly #damaged = new Set<number>();
  #isWriting = false;

  /** @param options.path of the directory of checkpoints, which need not exist. */
  constructor(options: {
    readonly path: string;
    readonly latch: FailureLatch;
    readonly warn: (warning: string) => void;
  }) {
    this.#path = options.path;
    this.#latch = options.latch;
    this.#warn = options.warn;
  }

  get newest(): { readonly index: number; readonly sizeBytes: number } | undefined {
    return this.#newest;
  }

  get coveredIndex(): number {
    return this.#indexes.at(-KEPT_COUNT) ?? 0;
  }

  /** Removes what a crash left half written: a full disk needs the room. Before anything is written. */
  async removeUnfinished(): Promise<void> {
    await rm(join(this.#path, TEMPORARY_NAME), { force: true });
  }

  /** Gives the log that checkpoints are taken of; none can be written before. */
  attach(positionOf: (index: number) => LogPosition): void {
    this.#positionOf = positionOf;
  }

  async load(visitor: CheckpointVisitor): Promise<LoadedCheckpoint | undefined> {
    for (const candidate of await this.#candidates()) {
      const loaded = await this.#unlessDamaged(candidate, () => readCheckpoint(candidate, visitor));
      if (loaded === undefined) continue;
      this.#newest = { index: loaded.meta.index, sizeBytes: loaded.sizeBytes };
      await this.#list();
      return loaded;
    }
    return undefined;
  }

  /** The newest undamaged checkpoint, open, so that it stays readable when it is superseded. */
  async openNewest(): Promise<OpenCheckpoint | undefined> {
    for (const candidate of await this.#candidates()) {
      const found = await this.#unlessDamaged(candidate, () => openVerified(candidate));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** All files were replaced by those of a snapshot. */
  async replaced(): Promise<void> {
    this.#damaged.clear();
    this.#newest = undefined;
    await this.#list();
  }

  async begin(): Promise<CheckpointWriter> {
    const positionOf = this.#positionOf;
    assert(
      positionOf !== undefined && !this.#isWriting,
      'one checkpoint at a time, of an open log',
    );
    this.#latch.check();
    this.#isWriting = true;
    const temporaryPath = join(this.#path, TEMPORARY_NAME);
    try {
      const created = await mkdir(this.#path, { recursive: true });
      if (created !== undefined) await syncDirectory(dirname(this.#path));
      return await CheckpointFileWriter.create({
        temporaryPath,
        pathOf: (index) => join(this.#path, checkpointName(index)),
        latch: this.#latch,
        positionOf,
        onFinished: (finished) => this.#finished(finished),
        onEnded: () => {
          this.#isWriting = false;
        },
      });
    } catch (error) {
      throw this.#latch.trip(`writing ${temporaryPath}`, error);
    }
  }

  async #finished(finished: { index: number; sizeBytes: number }): Promise<void> {
    this.#newest = finished;
    this.#damaged.delete(finished.index);
    const whole = (await this.#candidates()).filter(({ index }) => !this.#damaged.has(index));
    const oldestKept = whole[KEPT_COUNT - 1]?.index ?? 0;
    for (const { index, path } of await this.#candidates()) {
      if (index < oldestKept) await rm(path);
    }
    await this.#list();
  }

  async #list(): Promise<void> {
    const candidates = await this.#candidates();
    const whole = candidates.filter(({ index }) => !this.#damaged.has(index));
    this.#indexes = whole.map(({ index }) => index).toReversed();
  }

  async #unlessDamaged<T>(candidate: Candidate, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      const isDamaged = error instanceof StorageError && error.code === 'CORRUPTION';
      if (!isDamaged) throw error;
      this.#damaged.add(candidate.index);
      this.#warn(`${error.summary}; passed over: an older checkpoint or the log stands in`);
      return undefined;
    }
  }

  /** What looks like a checkpoint, newest first. */
  async #candidates(): Promise<Candidate[]> {
    const names = await readdir(this.#path).catch((error: unknown) => {
      if (hasSystemCode(error, 'ENOENT')) return [];
      throw error;
    });
    const found = names.flatMap((name) => {
      const digits = NAME_PATTERN.exec(name)?.[1];
      return digits === undefined ? [] : [{ index: Number(digits), path: join(this.#path, name) }];
    });
    return found.sort((a, b) => b.index - a.index);
  }
}

async function openVerified(candidate: Candidate): Promise<OpenCheckpoint> {
  const { path } = candidate;
  const handle = await open(path, 'r');
  try {
    const visitor = { begin: () => undefined, piece: () => undefined };
    return { path, handle, loaded: await readOpenCheckpoint(handle, candidate, visitor) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** File name of the checkpoint at `index`. */
export function checkpointName(index: number): string {
  return `${String(index).padStart(NAME_DIGITS, '0')}.state`;
}
