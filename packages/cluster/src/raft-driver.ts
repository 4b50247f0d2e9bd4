// Runs the consensus core against a log: hands its batches out in the documented order (send,
// persist, apply, advance), with one persist in flight while the core goes on (Ready in
// packages/raft). Knows nothing of commands.

import { assert } from '@queen-ts/base';
import type {
  Entry,
  HardStateStore,
  LogStore,
  Message,
  RaftNode,
  ReadState,
  Ready,
  SnapshotMeta,
  SnapshotRequest,
  SoftState,
} from '@queen-ts/raft';

/** Parts of a driver. */
export interface RaftDriverParts {
  readonly raft: RaftNode;
  readonly log: LogStore;
  readonly hardState: HardStateStore;
  /** Hands messages to the peers; may drop them. */
  readonly send: (messages: readonly Message[]) => void;
}

/** What the driver reports, synchronously, from inside `pump`. */
export interface RaftDriverEvents {
  /** A committed entry, in index order, each once. It is durable on this node. */
  committed(entry: Entry): void;
  /** A read asked for by `readIndex` may be answered. */
  readConfirmed(read: ReadState): void;
  /** Role, leader or term changed. */
  roleChanged(state: SoftState): void;
  /** The core lets a peer have a snapshot; the outcome goes to `RaftNode.reportSnapshot`. */
  snapshotWanted(request: SnapshotRequest): void;
  /**
   * A snapshot is about to replace all state, the log included. Nothing may be read or written until
   * `installed`: resolves when that is so.
   */
  installing(snapshot: SnapshotMeta): Promise<void>;
  /** The log is that of the snapshot, durably, and so is the newest checkpoint. */
  installed(snapshot: SnapshotMeta): Promise<void>;
  /** A persist finished: the caller pumps and may plan the next entry. */
  persisted(): void;
  /** A persist failed: nothing may be acknowledged any more (I11). */
  failed(error: unknown): void;
}

/** Drives one RaftNode. */
export class RaftDriver {
  readonly #parts: RaftDriverParts;
  readonly #events: RaftDriverEvents;
  #persist: Promise<void> | undefined;
  #syncsTotal = 0;
  #hasFailed = false;

  constructor(parts: RaftDriverParts, events: RaftDriverEvents) {
    this.#parts = parts;
    this.#events = events;
  }

  /** True while a persist is in flight. */
  get isPersisting(): boolean {
    return this.#persist !== undefined;
  }

  /** Persists started so far; each is one synced write of the log. */
  get syncsTotal(): number {
    return this.#syncsTotal;
  }

  /** Handles batches until the core has none. Not re-entrant: events must not call it. */
  pump(): void {
    const { raft } = this.#parts;
    while (!this.#hasFailed && raft.hasReady()) {
      const batch = raft.ready();
      if (batch.messages.length > 0) this.#parts.send(batch.messages);
      if (batch.persistUpTo !== undefined) this.#startPersist(batch);
      if (batch.softState !== undefined) this.#events.roleChanged(batch.softState);
      for (const entry of batch.committed) this.#events.committed(entry);
      for (const read of batch.readStates) this.#events.readConfirmed(read);
      for (const request of batch.snapshotsToSend) this.#events.snapshotWanted(request);
      raft.advance();
    }
  }

  /** Resolves when no persist is in flight. */
  async settled(): Promise<void> {
    await this.#persist;
  }

  #startPersist(batch: Ready): void {
    this.#syncsTotal += batch.mustSync ? 1 : 0;
    this.#persist = this.#persistBatch(batch).then(
      () => this.#finishPersist(batch),
      (error: unknown) => this.#fail(error),
    );
  }

  async #persistBatch(batch: Ready): Promise<void> {
    const { hardState, log } = this.#parts;
    // What a snapshot replaces is out of bounds from this moment on, not when the vote is saved.
    const installing = batch.snapshot && this.#events.installing(batch.snapshot);
    if (batch.hardState !== undefined) await hardState.save(batch.hardState);
    if (batch.snapshot !== undefined) {
      await installing;
      assert(log.install !== undefined, 'a snapshot for a log without snapshots');
      await log.install(batch.snapshot);
      await this.#events.installed(batch.snapshot);
    }
    if (batch.entries.length > 0) await log.append(batch.entries);
  }

  #finishPersist(batch: Ready): void {
    this.#persist = undefined;
    if (batch.persistUpTo !== undefined) this.#parts.raft.persisted(batch.persistUpTo);
    if (batch.messagesAfterPersist.length > 0) this.#parts.send(batch.messagesAfterPersist);
    this.#events.persisted();
  }

  #fail(error: unknown): void {
    this.#persist = undefined;
    this.#hasFailed = true;
    this.#events.failed(error);
  }
}
