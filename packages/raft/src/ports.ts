// What the consensus core and its driver need from storage. Implemented by packages/storage on
// LevelDB and by the in-memory store behind ./testing; one contract suite runs against both.

import type { NodeId } from './node-id.ts';

/** What an entry carries: a planned command batch, the empty entry of a new term, or a membership. */
export type EntryType = 'command' | 'noop' | 'membership';

/**
 * One log record. The core reads neither part: `head` is what a replica must hold to apply the
 * entry, `payload` is what it must only store (message bytes), so stores may keep them apart.
 * Both buffers are immutable once the entry exists; everybody may keep references to them.
 */
export interface Entry {
  /** Term of the leader that created the entry, >= 1. */
  readonly term: number;
  /** Log position, >= 1. */
  readonly index: number;
  readonly type: EntryType;
  readonly head: Uint8Array;
  readonly payload: Uint8Array;
}

/** What must be durable before any reply that depends on it (Raft figure 2, «persistent state»). */
export interface HardState {
  /** 0 before the first election. */
  readonly term: number;
  /** The candidate voted for in `term`; 0 means none. */
  readonly votedFor: NodeId | 0;
  /** Highest index known committed; rides along, may lag after a crash. */
  readonly commitIndex: number;
}

/**
 * The synchronous, read-only side of a log. Reads see everything whose append has been *started*;
 * they never wait for a sync.
 */
export interface LogReader {
  /** First retained index; `lastIndex + 1` when the log is empty. */
  readonly firstIndex: number;
  /** Last index; `firstIndex - 1` when the log is empty. */
  readonly lastIndex: number;
  /** Term of `index` in [firstIndex - 1, lastIndex]; `undefined` outside. */
  term(index: number): number | undefined;
  /**
   * Returns entries in [from, toExclusive), at least one if any exists.
   * @param maxBytes soft limit on the summed size of head and payload; 0 means one entry.
   * Throws LOG_COMPACTED if `from < firstIndex`.
   */
  entries(range: { from: number; toExclusive: number; maxBytes: number }): Entry[];
  /**
   * Returns bytes [from, toExclusive) of one entry's payload, without reading the rest of it where
   * the store can. The caller must not mutate them. Entries below `firstIndex` can be read, too, where
   * the store archives them; throws LOG_COMPACTED for bytes that were purged.
   */
  payload(range: { index: number; from: number; toExclusive: number }): Uint8Array;
  /**
   * Indexes in [from, toExclusive) of entries of type membership, ascending. There are few; a store
   * that knows them spares the core reading the whole log when it starts. Optional.
   */
  membershipIndexes?(range: { from: number; toExclusive: number }): number[];
}

/** Bytes [from, toExclusive) of a payload. */
export interface PayloadRange {
  readonly from: number;
  readonly toExclusive: number;
}

/** One record of the archive; its payload is read through `LogReader.payload`. */
export interface ArchivedRecord {
  readonly index: number;
  readonly type: EntryType;
  readonly head: Uint8Array;
  readonly payloadBytes: number;
}

/** What to keep of one archived record. */
export interface PurgedRecord {
  readonly index: number;
  /** The parts of the payload that must stay readable, in any order; none: the whole record goes. */
  readonly kept: readonly PayloadRange[];
}

/**
 * The entries below `firstIndex` that still hold something of use. Which they are only the state
 * machine knows; the store makes sure that nothing is missing but what was purged.
 */
export interface LogArchive {
  /** The first record with an index in [from, toExclusive); `undefined` if there is none. */
  next(from: number, toExclusive: number): ArchivedRecord | undefined;
  /**
   * Deletes records and parts of records, ascending by index, all below `firstIndex`. What was deleted
   * is deleted at once for readers, and for good only when the store sees fit: whoever calls this
   * must not need it after a crash either way. May run beside `append`, not beside itself. Returns
   * the bytes that were deleted.
   */
  purge(records: readonly PurgedRecord[]): Promise<number>;
  /**
   * Gives the space of what was purged back to the file system, which may rewrite what lies between.
   * Returns false if it cannot do so yet, or if it is not worth it yet.
   * May run beside `append`, not beside `purge` or itself.
   */
  reclaim(): Promise<boolean>;
}

/**
 * A durable log. Any failed write poisons the store: that call and every later one reject with
 * STORAGE_FAILED, and the process must end (I11).
 */
export interface LogStore extends LogReader {
  /**
   * Appends consecutive entries and resolves when they are durable (fsynced). If the first index is
   * at most `lastIndex`, the conflicting suffix is truncated in the same atomic step. Calls must not
   * overlap: the caller waits for one before it starts the next. `entries` is not empty.
   */
  append(entries: readonly Entry[]): Promise<void>;
  /**
   * Forgets every entry and makes `lastIndex` = `index` with `term(index)` = `term`, durably and in
   * one atomic step, because a snapshot replaced the state: the one that a `SnapshotStore` received
   * and finished, with its archive and its checkpoint. `index` may lie on either side of `lastIndex`.
   * Must not overlap with `append`. Until it resolves nothing can be read. Optional.
   */
  install?(snapshot: { index: number; term: number }): Promise<void>;
  /**
   * Moves the start of the log: entries up to and including `toIndex`, which every durable checkpoint
   * covers, belong to the archive from now on. `term(toIndex)` stays known. May run beside `append`.
   * Optional.
   */
  compact?(toIndex: number): Promise<void>;
  /** What is left of the entries below `firstIndex`. Optional: a store without one keeps nothing. */
  readonly archive?: LogArchive;
  /** Closes the store; later calls throw. Idempotent. */
  close(): Promise<void>;
}

/** The durable hard state, in a file of its own. */
export interface HardStateStore {
  /**
   * The incarnation of this disk: a random integer in [1, 2^48), drawn and fsynced when the data
   * folder was created, never changed. How the others tell a disk that was lost from one that was
   * restarted. Optional only in type: a store that survives a restart must have it.
   */
  readonly incarnation?: number;
  /** The state last saved, or the zero state of a new node. */
  readonly current: HardState;
  /** Resolves when `state` is durable (fsynced). Calls must not overlap. Rejects as LogStore does. */
  save(state: HardState): Promise<void>;
}
