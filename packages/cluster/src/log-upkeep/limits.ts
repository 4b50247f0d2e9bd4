// Bounds of what keeps the log short and brings members up to date that it cannot reach any more.

/** How much of the log stays, how fast old records go, and how snapshots travel. */
export interface LogLimits {
  /**
   * Entries younger than this stay in the log for a member that is away (`QUEEN_RAFT_PURGE_HOLD_S`); in a
   * cluster of one there is none. Time since they were committed here, in microseconds.
   */
  readonly holdUs: number;
  /** The log keeps at most this much for such a member, whatever their age. */
  readonly holdBytesMax: number;
  /** The log keeps at least this much behind its end. */
  readonly trailBytesMin: number;
  /** Shortest time between two moves of the log's start. */
  readonly startMoveUs: number;
  /** Time that judging old records gets in one turn of the event loop. */
  readonly sweepSliceUs: number;
  /** Pause after a slice, as a multiple of the time that it took: 19 leaves it a twentieth. */
  readonly sweepRestFactor: number;
  /** Pause between two passes over the archive. */
  readonly sweepPauseUs: number;
  /** Records that are found dead before they are purged. */
  readonly sweepRecordsMax: number;
  /** Records of one purge. */
  readonly purgeRecordsMax: number;
  /** Space is asked back from LevelDB once this much was purged. */
  readonly reclaimBytesMin: number;
  /** Snapshots sent at once. */
  readonly sendsMax: number;
  /** Bytes a second of one snapshot that is sent. */
  readonly sendBytesPerSecond: number;
  /** How long the answer to one piece is waited for, and to the last step, which verifies everything. */
  readonly pieceUs: number;
  readonly finishUs: number;
  /** Pause before a piece is sent again, and how long that goes on without an answer. */
  readonly retryUs: number;
  readonly giveUpUs: number;
  /** What was received is dropped when nothing came for this long. */
  readonly receiveIdleUs: number;
  /** Calls about a snapshot that wait for each other. */
  readonly receiveCallsMax: number;
}

/** What a node runs with unless it is told otherwise. */
export const LOG_LIMITS_DEFAULT: LogLimits = {
  holdUs: 600_000_000,
  holdBytesMax: 1024 * 1024 * 1024,
  trailBytesMin: 64 * 1024 * 1024,
  startMoveUs: 1_000_000,
  sweepSliceUs: 2000,
  sweepRestFactor: 19,
  sweepPauseUs: 30_000_000,
  sweepRecordsMax: 65_536,
  purgeRecordsMax: 1024,
  reclaimBytesMin: 64 * 1024 * 1024,
  sendsMax: 2,
  sendBytesPerSecond: 64 * 1024 * 1024,
  pieceUs: 10_000_000,
  finishUs: 120_000_000,
  retryUs: 200_000,
  giveUpUs: 30_000_000,
  receiveIdleUs: 60_000_000,
  receiveCallsMax: 8,
};
