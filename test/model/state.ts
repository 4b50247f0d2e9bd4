// The state of the naive model: plain objects and arrays, every message ever pushed kept in full. It
// is written from the reference only and shares nothing with the engine but names and constants.

import type { QueueOptions } from '@queen-ts/protocol';

/** Microseconds in one second. */
export const SECOND_US = 1_000_000;

/** One stored message. */
export interface ModelMessage {
  readonly offset: number;
  /** Text of the message id. */
  readonly id: string;
  /** The client's transaction id, or null when the message id stands for it. */
  readonly txn: string | null;
  readonly payload: string;
  readonly createdUs: number;
  /** True once some moment passed at which the engine was free to forget the id (reference §12). */
  mayBeForgotten: boolean;
}

/** The messages of one append. */
export interface ModelAppend {
  readonly baseOffset: number;
  readonly count: number;
  readonly createdUs: number;
  readonly producerSub: string | null;
}

/** A leased batch: [next of the cursor, toExclusive). */
export interface ModelLease {
  readonly id: string;
  expiresUs: number;
  readonly from: number;
  readonly toExclusive: number;
}

/** How often the batch starting at `from` was delivered; several counts where the reference is open. */
export interface AttemptMarker {
  from: number;
  counts: readonly number[];
}

/** Progress of one group in one partition. */
export interface ModelCursor {
  /** Committed + 1. */
  next: number;
  /** Retry counter; several values where the reference is open. */
  retries: readonly number[];
  lease: ModelLease | undefined;
  attempt: AttemptMarker;
  /**
   * The lease whose batch was settled last, none (undefined), or several where the reference is
   * open: whether a lease that filed its head and gave the rest back counts as settled.
   */
  settled: readonly (ModelLease | undefined)[];
  /** Where a pop may have moved it to since retention removed everything before (reference §2.5). */
  sealTo?: number;
}

/** One partition with everything ever pushed to it. */
export interface ModelPartition {
  readonly name: string;
  /** The engine's number, once something showed it. */
  number: number | undefined;
  readonly messages: ModelMessage[];
  readonly appends: ModelAppend[];
  /** First retained offset. */
  logStart: number;
  /** By group name. */
  readonly cursors: Map<string, ModelCursor>;
  /** Last push or claim. */
  activeUs: number;
  /** Last command that named it in any way. */
  touchedUs: number;
}

/** A group of a queue. Without `registration` only pops of single partitions used it. */
export interface ModelGroup {
  registration: { readonly fromUs: number; readonly conflation: boolean } | undefined;
}

/** One dead letter. */
export interface ModelDeadLetter {
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
  readonly offset: number;
  readonly message: ModelMessage;
  /** Counts up over the sequence. */
  readonly number: number;
  readonly retryCounts: readonly number[];
  readonly failedUs: number;
  /** Texts the reference allows; undefined stands for a default text of the engine's choice. */
  readonly errors: readonly (string | undefined)[];
}

/** One queue. */
export interface ModelQueue {
  readonly name: string;
  /** Undefined while the engine minted it and nothing showed it yet. */
  id: string | undefined;
  readonly createdUs: number;
  options: QueueOptions;
  readonly partitions: Map<string, ModelPartition>;
  readonly groups: Map<string, ModelGroup>;
  deadLetters: ModelDeadLetter[];
  /** Time of the newest append, 0 before the first. */
  newestAppendUs: number;
}

/** All queues by name, oldest first. */
export type ModelQueues = Map<string, ModelQueue>;

/** Offset after the newest message. */
export function tailOf(partition: ModelPartition): number {
  return partition.messages.length;
}

/** The partition with the engine's number, in a queue that exists. */
export function findPartition(
  queues: ModelQueues,
  number: number,
): { readonly queue: ModelQueue; readonly partition: ModelPartition } | undefined {
  for (const queue of queues.values()) {
    for (const partition of queue.partitions.values()) {
      if (partition.number === number) return { queue, partition };
    }
  }
  return undefined;
}
