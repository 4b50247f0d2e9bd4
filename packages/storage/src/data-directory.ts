// The data directory as a whole: which files it has, how it is created so that a crash leaves either
// nothing of it or all of it, and what makes it refuse to open.
//
//   identity.json   whose directory this is; written last, so its presence ends creation
//   vote            hard state (hard-state.ts)
//   durable         lower bound of the durable log (durable-bound.ts)
//   log/            the Raft log, a LevelDB (log-database.ts, record.ts)
//   checkpoints/    states to start from (checkpoint-directory.ts); made with the first one
//   incoming/       a snapshot that is being received or put into use (installation.ts)
//   lock/           exclusive use (directory-lock.ts); no data
//   creating        only while the directory is being created

import { readdir, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { assert, InvariantError, type Rng } from '@queen-ts/base';
import type {
  CheckpointStore,
  HardStateStore,
  LogPosition,
  LogStore,
  NodeId,
  SnapshotStore,
} from '@queen-ts/raft';

import { CHECKPOINT_DIRECTORY, CheckpointDirectory } from './checkpoint-directory.ts';
import { DirectoryLock, LOCK_DIRECTORY } from './directory-lock.ts';
import { BOUND_FILE, createDurableBound, type LogStart, type Schedule } from './durable-bound.ts';
import { corruption, describeError, hasSystemCode, StorageError } from './errors.ts';
import { FailureLatch } from './failure-latch.ts';
import { makeDirectory, syncDirectory, writeFileAtomically } from './files.ts';
import { createHardStateFile, HardStateFile, VOTE_FILE } from './hard-state.ts';
import {
  IDENTITY_FILE,
  newIdentity,
  readIdentity,
  writeIdentity,
  type NodeIdentity,
} from './identity.ts';
import { createLogDatabase, LOG_DIRECTORY, WRITE_BUFFER_BYTES } from './log-database.ts';
import { INCOMING_DIRECTORY, settleIncoming } from './installation.ts';
import { LevelLogStore, type RecoveredLog } from './log-store.ts';
import { recoverLog, type OnEntry } from './recover.ts';
import { SnapshotDirectory } from './snapshot-directory.ts';

/** Default bound on the entries kept in memory, in bytes. */
export const ENTRY_CACHE_BYTES = 67_108_864;

const CREATING_FILE = 'creating';
const LOG_START: LogStart = { index: 0, term: 0, checksum: 0 };
const DATA_NAMES = [VOTE_FILE, BOUND_FILE, LOG_DIRECTORY, CHECKPOINT_DIRECTORY, INCOMING_DIRECTORY];
/** Entries of a directory that count as nothing: ours without data, and a new file system's own. */
const IGNORED_NAMES = new Set([LOCK_DIRECTORY, 'lost+found']);

/** How to open a data directory. */
export interface DataDirectoryOptions {
  /** The directory; created, with its parents, if it does not exist. */
  readonly path: string;
  /** The node this process is; the directory must be that node's. */
  readonly nodeId: NodeId;
  /** Draws the incarnation of a new directory. Must be unpredictable and unseeded in production. */
  readonly rng: Rng;
  /** Runs the periodic write of the durable bound. */
  readonly schedule: Schedule;
  /** Told once of the first storage error, also of one that nobody waits for. The process must end. */
  readonly onFailure?: (error: StorageError) => void;
}

/** How to open the log. */
export interface OpenLogOptions {
  /**
   * Where the state stands that the entries will be applied to, as a checkpoint says or all zero for
   * an empty one: only what follows is walked. Absent: everything from the log's start on, wherever
   * that is.
   */
  readonly from?: LogPosition;
  /**
   * Receives every walked entry, verified and in order, before `openLog` resolves. If `openLog` rejects later,
   * what was built from them must be thrown away.
   */
  readonly onEntry?: OnEntry;
  /** Bound on the newest entries kept in memory, in bytes; {@link ENTRY_CACHE_BYTES} if absent. */
  readonly cacheBytes?: number;
  /** LevelDB's write buffer in bytes; {@link WRITE_BUFFER_BYTES} if absent. */
  readonly writeBufferBytes?: number;
}

/**
 * Opens the data directory at `path`, or creates one if there is nothing there.
 *
 * Throws a {@link StorageError} whose one-line message names the file and the remedy:
 * DIRECTORY_FOREIGN, FORMAT_UNSUPPORTED, NODE_MISMATCH, DIRECTORY_LOCKED, CORRUPTION, or
 * STORAGE_FAILED for an error of the file system. Nothing is changed when it refuses.
 */
export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  const path = resolve(options.path);
  try {
    return await openOrCreate({ ...options, path });
  } catch (error) {
    throw translate(path, error);
  }
}

/** An open data directory. */
export class DataDirectory {
  /** Absolute path. */
  readonly path: string;
  readonly identity: NodeIdentity;
  /** Whether it was created by this opening. */
  readonly isNew: boolean;
  /** Term, vote and commit index. */
  readonly hardState: HardStateStore;
  /** States to start from; can be loaded at any time, written once the log is open. */
  readonly checkpoints: CheckpointStore;
  /** States with their archive, for members that the log cannot bring up to date; once it is open. */
  readonly snapshots: SnapshotStore;
  readonly #snapshots: SnapshotDirectory;
  readonly #checkpoints: CheckpointDirectory;
  readonly #hardState: HardStateFile;
  readonly #lock: DirectoryLock;
  readonly #latch: FailureLatch;
  readonly #schedule: Schedule;
  readonly #warnings: string[] = [];
  #log: LogStore | undefined;
  #isLogOpened = false;
  #closing: Promise<void> | undefined;

  /** Use {@link openDataDirectory}. */
  constructor(parts: {
    readonly options: DataDirectoryOptions;
    readonly identity: NodeIdentity;
    readonly isNew: boolean;
    readonly hardState: HardStateFile;
    readonly lock: DirectoryLock;
    readonly latch: FailureLatch;
  }) {
    this.path = parts.options.path;
    this.identity = parts.identity;
    this.isNew = parts.isNew;
    this.hardState = parts.hardState;
    this.#hardState = parts.hardState;
    this.#lock = parts.lock;
    this.#latch = parts.latch;
    this.#schedule = parts.options.schedule;
    this.#checkpoints = new CheckpointDirectory({
      path: join(this.path, CHECKPOINT_DIRECTORY),
      latch: parts.latch,
      warn: (warning) => this.#warn(warning),
    });
    this.checkpoints = this.#checkpoints;
    this.#snapshots = new SnapshotDirectory({
      path: this.path,
      owner: parts.identity,
      latch: parts.latch,
      checkpoints: this.#checkpoints,
    });
    this.snapshots = this.#snapshots;
    this.#warn(parts.hardState.warning);
  }

  /** The first storage error, after which nothing is acknowledged; `undefined` while all is well. */
  get failure(): StorageError | undefined {
    return this.#latch.failure;
  }

  /** What was found damaged but not in doubt, so far: one line each, for the node's log. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /**
   * Verifies the log after `from` in one pass, streams it to `onEntry` and opens it. Once per directory.
   * What lies before is verified when it is read, and in the background. Throws CORRUPTION if anything
   * below the last synced record is missing or changed, if the log does not hold the record at `from`,
   * if it is of a newer term than the vote file, and the errors of {@link openDataDirectory}.
   */
  async openLog(options: OpenLogOptions = {}): Promise<LogStore> {
    assert(!this.#isLogOpened, 'the log of a directory is opened once');
    this.#isLogOpened = true;
    try {
      this.#log = await this.#recover(options);
      return this.#log;
    } catch (error) {
      throw translate(this.path, error);
    }
  }

  /** Closes the log, the vote file and the lock, in this order. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #recover(options: OpenLogOptions): Promise<LogStore> {
    await this.#checkpoints.removeUnfinished();
    const recovered = await this.#recoverLog(options);
    const log = new LevelLogStore(recovered, this.#snapshots);
    const { term } = this.hardState.current;
    const lastTerm = log.term(log.lastIndex) ?? 0;
    if (lastTerm <= term) {
      this.#checkpoints.attach((index) => log.position(index));
      this.#snapshots.attach({
        view: () => log.view(),
        // What was installed is the whole log: nothing follows it that would have to be replayed.
        reopen: () => this.#recoverLog({ ...options, from: undefined, onEntry: undefined }),
        writeBufferBytes: options.writeBufferBytes ?? WRITE_BUFFER_BYTES,
      });
      return log;
    }
    await log.close();
    const what = `term ${term}, but the log has an entry of term ${lastTerm}: an older copy`;
    throw corruption(join(this.path, VOTE_FILE), what);
  }

  #recoverLog(options: {
    readonly [Name in keyof OpenLogOptions]: OpenLogOptions[Name] | undefined;
  }): Promise<RecoveredLog> {
    return recoverLog({
      path: join(this.path, LOG_DIRECTORY),
      boundPath: join(this.path, BOUND_FILE),
      owner: this.identity,
      latch: this.#latch,
      schedule: this.#schedule,
      writeBufferBytes: options.writeBufferBytes ?? WRITE_BUFFER_BYTES,
      cacheBytes: options.cacheBytes ?? ENTRY_CACHE_BYTES,
      onEntry: options.onEntry ?? (() => undefined),
      from: options.from,
      warn: (warning) => this.#warn(warning),
    });
  }

  #warn(warning: string | undefined): void {
    if (warning !== undefined) this.#warnings.push(warning);
  }

  async #close(): Promise<void> {
    try {
      await this.#log?.close();
    } finally {
      await this.#hardState.close();
      await this.#lock.release();
    }
  }
}

async function openOrCreate(options: DataDirectoryOptions): Promise<DataDirectory> {
  const { path, nodeId } = options;
  await makeDirectory(path);
  // Before the lock: a directory that is not ours must not even get a lock file.
  await inspect(path, nodeId);
  const lock = await DirectoryLock.acquire(path);
  try {
    // Again under the lock: another process may have created the directory in between.
    const found = await inspect(path, nodeId);
    const identity = found ?? (await create(path, newIdentity(nodeId, options.rng)));
    if (found !== undefined) {
      await rm(join(path, CREATING_FILE), { force: true });
      await settleIncoming(path);
    }
    const latch = new FailureLatch(options.onFailure ?? (() => undefined));
    const votePath = join(path, VOTE_FILE);
    const hardState = await HardStateFile.open({ path: votePath, owner: identity, latch });
    const isNew = found === undefined;
    return new DataDirectory({ options, identity, isNew, hardState, lock, latch });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Returns the identity of an existing directory, `undefined` for one to create; else throws. */
async function inspect(path: string, nodeId: NodeId): Promise<NodeIdentity | undefined> {
  const identity = await readIdentity(path);
  const identityPath = join(path, IDENTITY_FILE);
  if (identity !== undefined) {
    if (identity.nodeId === nodeId) return identity;
    const message = `${identityPath}: belongs to node ${identity.nodeId}, but this is node ${nodeId}`;
    throw new StorageError({ code: 'NODE_MISMATCH', message, details: { path } });
  }
  const names = (await readdir(path)).filter((name) => !IGNORED_NAMES.has(name));
  if (names.every((name) => name.startsWith(CREATING_FILE)) || names.includes(CREATING_FILE)) {
    return undefined;
  }
  if (names.some((name) => DATA_NAMES.includes(name))) {
    throw corruption(identityPath, 'the file is missing');
  }
  const message = `${path}: holds ${names[0]} and is not a data directory`;
  throw new StorageError({ code: 'DIRECTORY_FOREIGN', message, details: { path } });
}

async function create(path: string, identity: NodeIdentity): Promise<NodeIdentity> {
  const marker = join(path, CREATING_FILE);
  await writeFileAtomically(marker, '');
  // Left over by a creation that a crash interrupted: nobody was ever told that it succeeded.
  for (const name of DATA_NAMES) await rm(join(path, name), { recursive: true, force: true });
  await createLogDatabase(join(path, LOG_DIRECTORY), identity);
  await createHardStateFile(join(path, VOTE_FILE), identity);
  await createDurableBound(join(path, BOUND_FILE), identity, LOG_START);
  await syncDirectory(path);
  await writeIdentity(path, identity);
  await rm(marker);
  await syncDirectory(path);
  await syncDirectory(dirname(path));
  return identity;
}

function translate(path: string, error: unknown): unknown {
  if (error instanceof StorageError || error instanceof InvariantError) return error;
  if (hasSystemCode(error, 'ENOTDIR') || hasSystemCode(error, 'EEXIST')) {
    const message = `${path}: not a directory`;
    return new StorageError({ code: 'DIRECTORY_FOREIGN', message, cause: error });
  }
  const message = `opening ${path} failed: ${describeError(error)}`;
  return new StorageError({ code: 'STORAGE_FAILED', message, cause: error });
}
