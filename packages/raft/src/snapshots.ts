// What the driver of a node needs from storage to bring another member up to date that needs entries
// which the log no longer has: a checkpoint and the archive that belongs to it, as a stream of opaque
// pieces that only the two stores understand. The core knows nothing of them but the last step, a
// `SnapshotMessage`.

import type { LogPosition } from './checkpoints.ts';

/** Most bytes of one piece. */
export const SNAPSHOT_PIECE_BYTES_MAX = 1_048_576;

/** What a snapshot stands for. */
export interface SnapshotDescription {
  /** The last entry it covers. */
  readonly position: LogPosition;
  /** Head of the newest membership entry up to there. */
  readonly membership: Uint8Array;
}

/** A snapshot being read. What it gives out does not change, whatever is appended or purged. */
export interface OutgoingSnapshot extends SnapshotDescription {
  /**
   * The next piece, each verified and with a checksum of its own; `undefined` after the last. One call
   * at a time. Rejects with STORE_CLOSED when the log was closed or replaced meanwhile.
   */
  next(): Promise<Uint8Array | undefined>;
  /** Lets go of what it holds. Idempotent. */
  close(): Promise<void>;
}

/** A snapshot being written, out of sight of everything else in the directory. */
export interface IncomingSnapshot {
  /**
   * Takes the next piece. Rejects with SNAPSHOT_INVALID when it is not what must come next or is
   * damaged: then the snapshot is of no use and must be abandoned. One call at a time.
   */
  accept(piece: Uint8Array): Promise<void>;
  /**
   * Resolves when all of it is verified and durable, so that `LogStore.install` may put it in the place
   * of log and checkpoints. Rejects with SNAPSHOT_INVALID when something is missing.
   */
  finish(): Promise<SnapshotDescription>;
  /** Removes what was written, unless it was installed. Idempotent. */
  abandon(): Promise<void>;
}

/** Snapshots of one node. A failed write or sync poisons the store like that of a log (I11). */
export interface SnapshotStore {
  /** Opens the newest checkpoint with all that the log holds up to it; `undefined`: there is none. */
  open(): Promise<OutgoingSnapshot | undefined>;
  /** Begins to receive one; the one before must have been abandoned or installed. */
  receive(): Promise<IncomingSnapshot>;
}
