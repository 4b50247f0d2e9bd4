// Bounds of the engine's own work. Everything that could grow with the stored state has its cap here,
// so that no single command can hold the core thread for long.

import { ENTRY_BYTES_MAX_DEFAULT, POP_BYTES_MAX_DEFAULT } from '@queen-ts/protocol';

/** Caps of one engine. All are inclusive and at least 1. */
export interface EngineLimits {
  /** Largest append that one push group may plan, in bytes (`QUEEN_RAFT_ENTRY_MAX_BYTES`). */
  readonly entryBytesMax: number;
  /**
   * What one pop delivers, in bytes: stored size, 256 for each message, and 4,096 for each append that
   * it takes from, which somebody has to find and read. It ends with the first message of a partition
   * that goes beyond, so that one message is delivered whatever its size.
   */
  readonly popBytesMax: number;
  /** Partitions that one pop may look at in vain before it is cut short: its caller plans it again. */
  readonly partitionsScannedMax: number;
  /** Partitions or dead letters that one step of a command of the control plane looks at. */
  readonly stepRowsMax: number;
  /** Timers that one call of `advanceTo` fires. */
  readonly timersFiredMax: number;
  /** Consumed messages that one ack target may search for the ids it names. */
  readonly ackMessagesScannedMax: number;
  /**
   * Work of the acks of one transaction or of one step of an ack, as the number of bytes they look at; a
   * target that has begun is completed. The whole batch of one pop is below it, unless many of its appends
   * have to be found in the log first.
   */
  readonly ackCostBytesMax: number;
  /** Work after which a step of an ack begins no further target: the caller comes back for the rest. */
  readonly ackStepCostBytes: number;
  /** Steps of one ack; what is left then is refused. One of 65,536 targets has fewer. */
  readonly ackStepsMax: number;
  /** Dead letters of one transaction or one step, in bytes, 4,096 each at least; one whatever its size. */
  readonly deadLetterBytesMax: number;
}

/** What a node runs with unless it is told otherwise. */
export const ENGINE_LIMITS_DEFAULT: EngineLimits = {
  entryBytesMax: ENTRY_BYTES_MAX_DEFAULT,
  popBytesMax: POP_BYTES_MAX_DEFAULT,
  partitionsScannedMax: 16_384,
  stepRowsMax: 1_000,
  timersFiredMax: 4_096,
  ackMessagesScannedMax: 65_536,
  ackCostBytesMax: 16 * 1024 * 1024,
  ackStepCostBytes: 2 * 1024 * 1024,
  ackStepsMax: 256,
  deadLetterBytesMax: 16 * 1024 * 1024,
};

/** Most partitions that one pop claims, also when it asked for no cap: the core thread has others to serve. */
export const CLAIMED_PARTITIONS_MAX = 4_096;

/** Most messages that one conflating pop delivers (reference §2.6). */
export const CONFLATED_WIDTH_MAX = 64;
