// What the driver of a node needs from a store of state checkpoints: the state machine's state at an
// index, as pieces that only the state machine understands, so that a start does not replay the whole
// log, and so that the log's start may move up to where all of them stand. The core knows nothing of
// them; the port stands beside the others so that storage and driver meet in one place.

/** What a checkpoint says about itself. */
export interface CheckpointMeta {
  /** The state contains every entry up to this one and nothing after it; >= 1, committed. */
  readonly index: number;
  /** Head of the newest membership entry at or before `index`. */
  readonly membership: Uint8Array;
  /** Id of the cluster, and digest of the state, as texts of up to 64 characters. */
  readonly clusterId: string;
  readonly digest: string;
}

/** One record of a log, named by position and content. */
export interface LogPosition {
  readonly index: number;
  /** Term of the entry; 0 at index 0. */
  readonly term: number;
  /** The store's own checksum over the log up to there; 0 at index 0. Opaque to everybody else. */
  readonly checksum: number;
}

/** A checkpoint that was read completely, with its place in the log it was taken from. */
export interface LoadedCheckpoint {
  readonly meta: CheckpointMeta;
  /** The log must hold exactly this record, or it is another history. */
  readonly position: LogPosition;
  readonly sizeBytes: number;
}

/** Receives a checkpoint piece by piece. */
export interface CheckpointVisitor {
  /** A checkpoint begins; called again if that one turns out damaged and an older one is read. */
  begin(meta: CheckpointMeta): void;
  /** The next piece, verified by itself; the store waits for a returned promise. */
  piece(bytes: Uint8Array): void | Promise<void>;
}

/** Writes one checkpoint. Calls must not overlap; either `finish` or `abandon` ends it. */
export interface CheckpointWriter {
  /** Appends a piece of 1 to {@link CHECKPOINT_PIECE_BYTES_MAX} bytes, which must not change. */
  write(piece: Uint8Array): Promise<void>;
  /**
   * Resolves when the checkpoint is durable and will be found, which removes what it supersedes. The
   * caller knows that `meta.index` is committed and durable in this node's log.
   */
  finish(meta: CheckpointMeta): Promise<void>;
  /** Removes what was written. */
  abandon(): Promise<void>;
}

/** Most bytes of one piece. */
export const CHECKPOINT_PIECE_BYTES_MAX = 1_048_576;

/**
 * Checkpoints of one node. A failed write or sync poisons the store like that of a log: everything
 * rejects with STORAGE_FAILED and the process must end (I11).
 */
export interface CheckpointStore {
  /** The newest one that was loaded or finished; `undefined` before there was any. */
  readonly newest: { readonly index: number; readonly sizeBytes: number } | undefined;
  /**
   * Index up to which every state that a start may have to begin from contains the log: that of the
   * older of the two newest undamaged checkpoints; 0 while there are not two. The log's start may move
   * up to here, and what is of no use to the state there is of no use any more.
   */
  readonly coveredIndex: number;
  /**
   * Reads the newest undamaged checkpoint. Damaged ones are passed over with a warning: whoever opens
   * the log from what this returns learns whether anything is missing. `undefined`: there is none.
   */
  load(visitor: CheckpointVisitor): Promise<LoadedCheckpoint | undefined>;
  /** Starts to write a checkpoint; one at a time. */
  begin(): Promise<CheckpointWriter>;
}
