// Bounds of one node's broker. Every queue, batch and wait of this package has its cap here.

/** Caps of one broker. */
export interface BrokerLimits {
  /** Commands that may wait in one lane (`QUEEN_RAFT_COMMAND_QUEUE_DEPTH`). */
  readonly queuedCommandsMax: number;
  /** Bytes that may wait in one lane; a lone larger command is still let in. */
  readonly queuedBytesMax: number;
  /** Commands of one lane that one planning cycle takes (`QUEEN_RAFT_BATCH_MAX_CMDS`). */
  readonly cycleCommandsMax: number;
  /** Bytes of stored messages that one cycle takes, unless a single command is larger. */
  readonly cycleBytesMax: number;
  /** Work of one lane's commands, or of long ones, in one cycle, as the bytes that they look at. */
  readonly laneCostBytesMax: number;
  /** Entries planned and not yet committed. */
  readonly entriesInFlightMax: number;
  /** Soft limit on one append to a peer and on one batch of committed entries, in bytes. */
  readonly appendBytesMax: number;
  /** Appends to one peer that are not acknowledged yet, in bytes. */
  readonly appendInFlightBytesMax: number;
  /** Pops that may be parked at once. */
  readonly parkedPopsMax: number;
  /** Seeks and deletions that may be under way at once, each over several cycles. */
  readonly longCommandsMax: number;
  /** Partitions of deleted queues that one cycle removes. */
  readonly housekeepingPartitionsMax: number;
  /** Time from the start of one retention pass to the next (`RETENTION_INTERVAL`). */
  readonly retentionIntervalUs: number;
  /** The same for the search for partitions that nobody uses. */
  readonly cleanupIntervalUs: number;
  /** How long a partition is empty and unused before it is removed (`PARTITION_CLEANUP_DAYS`). */
  readonly partitionIdleUs: number;
  /** Partitions that one step of either pass looks at, and the shortest time between two steps. */
  readonly upkeepVisitsMax: number;
  readonly upkeepStepUs: number;
  /** Reads of the state that may run at once. */
  readonly readsMax: number;
  /** Time that reads get in one turn of the event loop; the last slice may take a little longer. */
  readonly readTurnUs: number;
  /** Partitions that waiting fetches may watch in all. */
  readonly watchedPartitionsMax: number;
  /** Shortest time between two looks at the watched partitions. */
  readonly watchUs: number;
  /** A parked pop claims nothing in the last part of its time: the answer might come too late. */
  readonly popReplyMarginUs: number;
  /** How late a parked pop may learn that its time is over. */
  readonly deadlineResolutionUs: number;
  /** A checkpoint is taken when the log grew by this, or by the size of the last one if that is more. */
  readonly checkpointLogBytesMin: number;
  /** `stop` takes one when a start would have to replay this much of the log. */
  readonly checkpointStopBytesMin: number;
  /** Time that encoding a checkpoint gets in one turn of the event loop. */
  readonly checkpointSliceUs: number;
  /** Pause after a checkpoint, as a multiple of the time that encoding it took: 9 leaves it a tenth. */
  readonly checkpointRestFactor: number;
  /** How long `stop` waits for what is queued and in flight. */
  readonly stopUs: number;
}

/** What a node runs with unless it is told otherwise. */
export const BROKER_LIMITS_DEFAULT: BrokerLimits = {
  queuedCommandsMax: 16_384,
  queuedBytesMax: 256 * 1024 * 1024,
  cycleCommandsMax: 4096,
  cycleBytesMax: 1024 * 1024,
  laneCostBytesMax: 4 * 1024 * 1024,
  entriesInFlightMax: 8,
  appendBytesMax: 1024 * 1024,
  appendInFlightBytesMax: 8 * 1024 * 1024,
  parkedPopsMax: 100_000,
  longCommandsMax: 256,
  housekeepingPartitionsMax: 1000,
  retentionIntervalUs: 5_000_000,
  cleanupIntervalUs: 600_000_000,
  partitionIdleUs: 30 * 86_400_000_000,
  upkeepVisitsMax: 4096,
  upkeepStepUs: 100_000,
  readsMax: 1024,
  readTurnUs: 1000,
  watchedPartitionsMax: 65_536,
  watchUs: 5000,
  popReplyMarginUs: 50_000,
  deadlineResolutionUs: 20_000,
  checkpointLogBytesMin: 64 * 1024 * 1024,
  checkpointStopBytesMin: 8 * 1024 * 1024,
  checkpointSliceUs: 2000,
  checkpointRestFactor: 9,
  stopUs: 8_000_000,
};
