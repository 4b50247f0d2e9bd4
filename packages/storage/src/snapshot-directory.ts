// The snapshots of a data directory: reading one for another member, receiving one, and putting what
// was received into use.

import { join } from 'node:path';

import { assert } from '@queen-ts/base';
import type {
  IncomingSnapshot,
  LogPosition,
  OutgoingSnapshot,
  SnapshotStore,
} from '@queen-ts/raft';

import type { CheckpointDirectory } from './checkpoint-directory.ts';
import { StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import type { NodeIdentity } from './identity.ts';
import { LevelIncomingSnapshot } from './incoming-snapshot.ts';
import { INCOMING_DIRECTORY, markComplete, settleIncoming } from './installation.ts';
import type { LogInstaller, RecoveredLog } from './log-store.ts';
import type { LogView } from './log-view.ts';
import { LevelOutgoingSnapshot } from './outgoing-snapshot.ts';

/** Parts of {@link SnapshotDirectory}. */
export interface SnapshotDirectoryOptions {
  /** The data directory. */
  readonly path: string;
  readonly owner: NodeIdentity;
  readonly latch: FailureLatch;
  readonly checkpoints: CheckpointDirectory;
}

/** What can be done once the log is open. */
export interface OpenedLog {
  /** The log as it is now. */
  readonly view: () => LogView;
  /** Opens the log that has taken the place of the one before. */
  readonly reopen: () => Promise<RecoveredLog>;
  readonly writeBufferBytes: number;
}

/** {@link SnapshotStore} on a data directory. */
export class SnapshotDirectory implements SnapshotStore, LogInstaller {
  readonly #options: SnapshotDirectoryOptions;
  #log: OpenedLog | undefined;
  #isReceiving = false;
  /** Finished and not installed. */
  #finished: LogPosition | undefined;
  /** The marker is written. */
  #isCommitted = false;

  constructor(options: SnapshotDirectoryOptions) {
    this.#options = options;
  }

  /** Gives the log, which has been opened. */
  attach(log: OpenedLog): void {
    this.#log = log;
  }

  async open(): Promise<OutgoingSnapshot | undefined> {
    const { checkpoints } = this.#options;
    // The checkpoint first: what it needs cannot be purged before a newer one supersedes two.
    const checkpoint = await checkpoints.openNewest();
    if (checkpoint === undefined) return undefined;
    try {
      return new LevelOutgoingSnapshot(this.#opened.view(), checkpoint);
    } catch (error) {
      await checkpoint.handle.close();
      throw error;
    }
  }

  async receive(): Promise<IncomingSnapshot> {
    assert(!this.#isReceiving, 'one snapshot is received at a time');
    const { path, owner, latch } = this.#options;
    const { writeBufferBytes } = this.#opened;
    latch.check();
    this.#isReceiving = true;
    this.#isCommitted = false;
    return LevelIncomingSnapshot.create({
      path: join(path, INCOMING_DIRECTORY),
      owner,
      latch,
      writeBufferBytes,
      onFinished: (position) => {
        this.#finished = position;
      },
      onAbandoned: () => this.#ended(),
      isInstalled: () => this.#isCommitted,
    });
  }

  async commit(snapshot: { readonly index: number; readonly term: number }): Promise<void> {
    const finished = this.#finished;
    assert(
      finished?.index === snapshot.index && finished.term === snapshot.term,
      () => `install of ${snapshot.index}, finished is ${finished?.index}`,
    );
    this.#isCommitted = true;
    await markComplete(this.#options.path);
  }

  async switchOver(): Promise<RecoveredLog> {
    const { path, checkpoints } = this.#options;
    await settleIncoming(path);
    await checkpoints.replaced();
    this.#ended();
    return this.#opened.reopen();
  }

  #ended(): void {
    this.#isReceiving = false;
    this.#finished = undefined;
  }

  get #opened(): OpenedLog {
    if (this.#log !== undefined) return this.#log;
    throw new StorageError({ code: 'STORE_CLOSED', message: 'the log is not open' });
  }
}
