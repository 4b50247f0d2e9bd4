// The effects of a log entry: absolute row values, decided by the leader. One interface and one tag
// each; how they are written is in `codec.ts`, what they do in packages/engine.

import type { Id128 } from '../commands.ts';
import type { QueueOptions } from '../queue-options.ts';

/** Tag byte of each effect. Numbers are on disk: add, never reuse. */
export const EFFECT = {
  GENESIS: 1,
  QUEUE_PUT: 2,
  QUEUE_DELETE: 3,
  PARTITION_PUT: 4,
  PARTITION_DELETE: 5,
  APPEND: 6,
  LOG_START: 7,
  GROUP_PUT: 8,
  GROUP_DELETE: 9,
  CURSOR_PUT: 10,
  CURSOR_DELETE: 11,
  DEAD_LETTER_PUT: 12,
  DEAD_LETTER_DELETE: 13,
  MAINTENANCE: 14,
} as const;

/** The value of an id that names nothing. Never minted. */
export const ZERO_ID: Id128 = [0, 0, 0, 0];

/** Fixes the cluster's identity; the first effect of its history. */
export interface GenesisEffect {
  readonly kind: typeof EFFECT.GENESIS;
  readonly clusterId: Id128;
  /** Key of the transaction-id hash. */
  readonly hashKey: Id128;
}

/** Creates a queue or replaces its options. */
export interface QueuePutEffect {
  readonly kind: typeof EFFECT.QUEUE_PUT;
  /** Dense, >= 1, never reused. */
  readonly queue: number;
  readonly name: string;
  readonly id: Id128;
  readonly createdUs: number;
  readonly options: QueueOptions;
}

/** Frees the name and hides the queue; its partitions are removed by later effects. */
export interface QueueDeleteEffect {
  readonly kind: typeof EFFECT.QUEUE_DELETE;
  readonly queue: number;
}

/** Creates a partition. Numbers are consecutive from the header's first partition number. */
export interface PartitionPutEffect {
  readonly kind: typeof EFFECT.PARTITION_PUT;
  readonly queue: number;
  /** Name in UTF-8, >= 1 byte. */
  readonly name: Uint8Array;
}

/** Removes a partition with its messages, cursors and dead letters. */
export interface PartitionDeleteEffect {
  readonly kind: typeof EFFECT.PARTITION_DELETE;
  readonly partition: number;
}

/** Appends the messages of one block (`block.ts`) of the entry's payload. */
export interface AppendEffect {
  readonly kind: typeof EFFECT.APPEND;
  readonly partition: number;
  /** Offset of the first message: the partition's tail. */
  readonly baseOffset: number;
  readonly count: number;
  /** Greater than that of the partition's append before. */
  readonly createdUs: number;
  /** Start and size of the block in the payload, in bytes. */
  readonly blockStart: number;
  readonly blockSize: number;
}

/** Moves the first retained offset of a partition: everything below is gone. */
export interface LogStartEffect {
  readonly kind: typeof EFFECT.LOG_START;
  readonly partition: number;
  /** Where a block begins, or the tail. */
  readonly offset: number;
  /** Blocks that are left, and their size in bytes: replicas do not know those that went. */
  readonly retainedBlocks: number;
  readonly retainedBytes: number;
  /** Time of the oldest block that is left; 0 when none is. */
  readonly oldestUs: number;
}

/** How a group reads partitions it has no cursor in; the numbers are on disk. */
export const GROUP_MODE = { ALL: 0, NEW: 1, FROM: 2 } as const;
export type GroupMode = (typeof GROUP_MODE)[keyof typeof GROUP_MODE];

/** Creates a group of a queue or replaces its row. */
export interface GroupPutEffect {
  readonly kind: typeof EFFECT.GROUP_PUT;
  /** Dense over all queues, >= 1, never reused. */
  readonly group: number;
  readonly queue: number;
  readonly name: string;
  /** False while only pops of single partitions used the group: it has cursors, no subscription. */
  readonly registered: boolean;
  readonly registeredUs: number;
  readonly mode: GroupMode;
  /** First append time to deliver with modes NEW and FROM; 0 with ALL. */
  readonly fromUs: number;
  readonly conflation: boolean;
}

/** Removes a group of a queue with all its cursors. */
export interface GroupDeleteEffect {
  readonly kind: typeof EFFECT.GROUP_DELETE;
  readonly group: number;
}

/** Replaces the cursor of a group in a partition. */
export interface CursorPutEffect {
  readonly kind: typeof EFFECT.CURSOR_PUT;
  readonly partition: number;
  readonly group: number;
  /** First offset that is not acked: committed + 1. */
  readonly next: number;
  /** `failed` acks charged since the last reset. */
  readonly retryCount: number;
  /** Lease id, {@link ZERO_ID} without a lease; the four fields after it are 0 then. */
  readonly leaseId: Id128;
  readonly leaseExpiresUs: number;
  /** First offset the lease delivered, and the offset after the last. */
  readonly leaseFrom: number;
  readonly leaseToExclusive: number;
  /** Offset where the newest delivery started, and how often it did; both 0 without one. */
  readonly attemptFrom: number;
  readonly attemptCount: number;
  /** Lease that was settled last (not released for redelivery) and its range; zeros without one. */
  readonly settledLeaseId: Id128;
  readonly settledFrom: number;
  readonly settledToExclusive: number;
}

/** Removes the cursor of a group in a partition. */
export interface CursorDeleteEffect {
  readonly kind: typeof EFFECT.CURSOR_DELETE;
  readonly partition: number;
  readonly group: number;
}

/** Files a dead letter. Its record is an append block of one message, then the error text. */
export interface DeadLetterPutEffect {
  readonly kind: typeof EFFECT.DEAD_LETTER_PUT;
  /** Dense, >= 1, never reused. */
  readonly deadLetter: number;
  readonly partition: number;
  readonly group: number;
  readonly offset: number;
  /** The retry counter when it was filed. */
  readonly retryCount: number;
  readonly failedUs: number;
  /** Start of the record in the payload, size of its block and of the whole record, in bytes. */
  readonly recordStart: number;
  readonly blockSize: number;
  readonly recordSize: number;
}

/** Removes a dead letter. */
export interface DeadLetterDeleteEffect {
  readonly kind: typeof EFFECT.DEAD_LETTER_DELETE;
  readonly deadLetter: number;
}

/** Says which kinds of requests are paused. */
export interface MaintenanceEffect {
  readonly kind: typeof EFFECT.MAINTENANCE;
  readonly pushPaused: boolean;
  readonly popPaused: boolean;
}

/** Every effect. */
export type Effect =
  | GenesisEffect
  | QueuePutEffect
  | QueueDeleteEffect
  | PartitionPutEffect
  | PartitionDeleteEffect
  | AppendEffect
  | LogStartEffect
  | GroupPutEffect
  | GroupDeleteEffect
  | CursorPutEffect
  | CursorDeleteEffect
  | DeadLetterPutEffect
  | DeadLetterDeleteEffect
  | MaintenanceEffect;
