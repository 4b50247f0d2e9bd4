// A snapshot on its way in: a log database, a checkpoint and a durable bound of their own under
// `incoming/`, verified while they arrive and durable when they are finished. Nothing in use is touched.

import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { assert } from '@queen-ts/base';
import type { IncomingSnapshot, LogPosition, SnapshotDescription } from '@queen-ts/raft';

import { CHECKPOINT_DIRECTORY, checkpointName } from './checkpoint-directory.ts';
import { readCheckpoint } from './checkpoint-reader.ts';
import { BOUND_FILE, createDurableBound } from './durable-bound.ts';
import { describeError, StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import { syncDirectory } from './files.ts';
import type { NodeIdentity } from './identity.ts';
import {
  createLogDatabase,
  LOG_DIRECTORY,
  type LogLevel,
  type LogWrite,
  openLogDatabase,
} from './log-database.ts';
import { preflightLog } from './preflight.ts';
import { PurgeMap } from './purge-map.ts';
import { PieceChain, type SnapshotPiece } from './snapshot-piece.ts';
import { SnapshotVerifier } from './snapshot-verifier.ts';
import { parsePurgePageKey } from './keys.ts';
import { ValueAssembler } from './value-stream.ts';

/** Bytes of the checkpoint written before they are synced. */
const SYNC_BYTES = 8_388_608;

/** What a snapshot is received into. */
export interface IncomingOptions {
  /** The directory of its own; created. */
  readonly path: string;
  readonly owner: NodeIdentity;
  readonly latch: FailureLatch;
  readonly writeBufferBytes: number;
  /** Called when it is finished, and when it was abandoned. */
  readonly onFinished: (position: LogPosition) => void;
  readonly onAbandoned: () => void;
  /** Whether it was put into use: then it must not be removed. */
  readonly isInstalled: () => boolean;
}

/** What has arrived; `undefined` before the first piece. */
interface Arriving {
  readonly position: LogPosition;
  readonly verifier: SnapshotVerifier;
  readonly statePath: string;
  readonly state: FileHandle;
}

/** {@link IncomingSnapshot} on files. */
export class LevelIncomingSnapshot implements IncomingSnapshot {
  readonly #options: IncomingOptions;
  readonly #chain = new PieceChain();
  readonly #assembler = new ValueAssembler();
  #level: LogLevel | undefined;
  #arriving: Arriving | undefined;
  /** Pages of the piece in work that are not in the database yet. */
  readonly #pages = new Map<string, Uint8Array>();
  #valueCount = 0;
  #stateBytes = 0;
  #unsyncedBytes = 0;
  /** What may come next. */
  #stage: 'begin' | 'values' | 'state' | 'ended' | 'finished' | 'abandoned' = 'begin';
  #isBusy = false;

  private constructor(options: IncomingOptions, level: LogLevel) {
    this.#options = options;
    this.#level = level;
  }

  /** Creates the directory; whatever is there is removed. */
  static async create(options: IncomingOptions): Promise<LevelIncomingSnapshot> {
    const { path, owner, latch, writeBufferBytes } = options;
    try {
      await rm(path, { recursive: true, force: true });
      await mkdir(join(path, CHECKPOINT_DIRECTORY), { recursive: true });
      const logPath = join(path, LOG_DIRECTORY);
      await createLogDatabase(logPath, owner);
      const level = await openLogDatabase(logPath, owner, writeBufferBytes);
      return new LevelIncomingSnapshot(options, level);
    } catch (error) {
      throw latch.trip(`creating ${path}`, error);
    }
  }

  accept(piece: Uint8Array): Promise<void> {
    return this.#exclusive(() => this.#accept(piece));
  }

  finish(): Promise<SnapshotDescription> {
    return this.#exclusive(() => this.#finish());
  }

  async abandon(): Promise<void> {
    const { path, latch, onAbandoned, isInstalled } = this.#options;
    assert(!this.#isBusy, 'a snapshot is abandoned while it is written');
    if (this.#stage === 'abandoned' || isInstalled()) return;
    this.#stage = 'abandoned';
    try {
      await this.#level?.close();
      await this.#arriving?.state.close();
      await rm(path, { recursive: true, force: true });
    } catch (error) {
      throw latch.trip(`removing ${path}`, error);
    } finally {
      onAbandoned();
    }
  }

  async #accept(bytes: Uint8Array): Promise<void> {
    const piece = this.#chain.decode(bytes);
    if (typeof piece === 'string') throw this.#invalid(piece);
    this.#checkOrder(piece);
    switch (piece.kind) {
      case 'begin':
        return this.#begin(piece.position);
      case 'values':
        return this.#values(piece.bytes);
      case 'state':
        return this.#state(piece.bytes);
      case 'end':
        return this.#end(piece);
    }
  }

  #checkOrder({ kind }: SnapshotPiece): void {
    const stage = this.#stage;
    const isInOrder =
      kind === 'begin'
        ? stage === 'begin'
        : stage === 'values' || (stage === 'state' && kind !== 'values');
    if (!isInOrder) throw this.#invalid(`piece «${kind}» while waiting for «${stage}»`);
    if (kind === 'begin' || kind === 'values') this.#stage = 'values';
    else this.#stage = kind === 'state' ? 'state' : 'ended';
  }

  async #begin(position: LogPosition): Promise<void> {
    const { path } = this.#options;
    const read = (key: Uint8Array): Uint8Array | undefined =>
      this.#pages.get(hex(key)) ?? this.#level?.getSync(key);
    const purges = new PurgeMap(read, path);
    const verifier = new SnapshotVerifier(position, purges);
    const statePath = join(path, CHECKPOINT_DIRECTORY, checkpointName(position.index));
    const state = await this.#writing(open(statePath, 'w'));
    this.#arriving = { position, verifier, statePath, state };
  }

  async #values(bytes: Uint8Array): Promise<void> {
    const values = this.#assembler.accept(bytes);
    if (typeof values === 'string') throw this.#invalid(values);
    if (values.length === 0) return;
    const { verifier } = this.#started;
    const operations: LogWrite[] = [];
    for (const value of values) {
      const isPage = parsePurgePageKey(value.key) !== undefined;
      const problem = verifier.accept(value);
      if (problem !== undefined) throw this.#invalid(problem);
      if (isPage) this.#pages.set(hex(value.key), value.value);
      operations.push({ type: 'put', key: value.key, value: value.value });
    }
    this.#valueCount += values.length;
    const level = this.#level;
    assert(level !== undefined, 'values after the end');
    await this.#writing(level.batch(operations, { sync: false }));
    this.#pages.clear();
  }

  async #state(bytes: Uint8Array): Promise<void> {
    const { state } = this.#started;
    this.#stateBytes += bytes.byteLength;
    this.#unsyncedBytes += bytes.byteLength;
    await this.#writing(state.appendFile(bytes));
    if (this.#unsyncedBytes < SYNC_BYTES) return;
    this.#unsyncedBytes = 0;
    await this.#writing(state.datasync());
  }

  #end(piece: { readonly valueCount: number; readonly stateBytes: number }): void {
    const { verifier } = this.#started;
    const found = `${this.#valueCount} values, ${this.#stateBytes} bytes of state`;
    const sent = `${piece.valueCount} values, ${piece.stateBytes} bytes of state`;
    if (found !== sent || this.#assembler.isInside) throw this.#invalid(`${found}; sent: ${sent}`);
    const problem = verifier.finish();
    if (problem !== undefined) throw this.#invalid(problem);
  }

  async #finish(): Promise<SnapshotDescription> {
    assert(this.#stage === 'ended', () => `a snapshot is finished while «${this.#stage}»`);
    const { position, state, statePath } = this.#started;
    await this.#writing(state.sync());
    await this.#writing(state.close());
    const membership = await this.#checkState(statePath, position);
    await this.#writing(this.#settleFiles(position));
    this.#stage = 'finished';
    this.#options.onFinished(position);
    return { position, membership };
  }

  /** Reads the whole checkpoint; returns the membership that it describes. */
  async #checkState(path: string, position: LogPosition): Promise<Uint8Array> {
    const { index, term, checksum } = position;
    const visitor = { begin: () => undefined, piece: () => undefined };
    const loaded = await readCheckpoint({ path, index }, visitor).catch((error: unknown) => {
      const isOperating = error instanceof StorageError && error.code === 'STORAGE_FAILED';
      throw isOperating ? this.#options.latch.trip(`reading ${path}`, error) : this.#invalid(error);
    });
    const isSame = loaded.position.term === term && loaded.position.checksum === checksum;
    if (!isSame) throw this.#invalid('the checkpoint stands at another record');
    return loaded.meta.membership;
  }

  async #settleFiles(position: LogPosition): Promise<void> {
    const { path, owner, writeBufferBytes } = this.#options;
    const logPath = join(path, LOG_DIRECTORY);
    await this.#level?.close();
    this.#level = undefined;
    // Opening moves what is in write-ahead files, which were not synced, into tables, which are.
    await preflightLog(logPath, { toIndex: Infinity, fromIndex: 0 });
    const level = await openLogDatabase(logPath, owner, writeBufferBytes);
    await level.close();
    await createDurableBound(join(path, BOUND_FILE), owner, position);
    await syncDirectory(logPath);
    await syncDirectory(join(path, CHECKPOINT_DIRECTORY));
    await syncDirectory(path);
    // Before anything old is removed for it, the new one must be there after a power cut.
    await syncDirectory(dirname(path));
  }

  get #started(): Arriving {
    assert(this.#arriving !== undefined, 'a snapshot that has not begun');
    return this.#arriving;
  }

  async #exclusive<T>(run: () => Promise<T>): Promise<T> {
    assert(!this.#isBusy, 'overlapping calls on a snapshot');
    this.#options.latch.check();
    this.#isBusy = true;
    try {
      return await run();
    } finally {
      this.#isBusy = false;
    }
  }

  /** A failed write ends everything in the directory (I11). */
  async #writing<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } catch (error) {
      throw this.#options.latch.trip(`writing ${this.#options.path}`, error);
    }
  }

  #invalid(what: unknown): StorageError {
    const message = `${this.#options.path}: ${describeError(what)}`;
    return new StorageError({ code: 'SNAPSHOT_INVALID', message });
  }
}

function hex(key: Uint8Array): string {
  return Buffer.from(key).toString('hex');
}
