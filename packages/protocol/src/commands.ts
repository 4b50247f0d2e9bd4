// Prepared commands: what the edge hands to the leader's planner. Everything that does not need the
// replicated state is already done (parsed, validated, names decoded, ids minted, hashes computed),
// and items are columns, not objects, so that a command is cheap to plan and to frame for a peer.

import type { Id128 } from '@queen-ts/base';
import type { AdminCommand } from './admin-commands.ts';
import type { QueueOptionsPatch } from './queue-options.ts';

export type { Id128 } from '@queen-ts/base';

/** Words of one 128-bit value in the id columns below. */
export const ID_WORDS = 4;

/** Columns of one push item in {@link PushCommand.itemColumns}. */
export const PUSH_ITEM = {
  /** Start of the transaction id in `text`, in bytes. */
  TXN_START: 0,
  /** Its length in bytes, or {@link MINTED_TXN} when the client sent none. */
  TXN_LENGTH: 1,
  /** Start of the raw payload JSON in `body`, in bytes. */
  PAYLOAD_START: 2,
  /** Its length in bytes, >= 1. */
  PAYLOAD_LENGTH: 3,
  /** Position of the first item with the same (queue, partition, transactionId), or the item's own. */
  FIRST_POSITION: 4,
  WIDTH: 5,
} as const;

/** `TXN_LENGTH` of an item without a transaction id: its message id is its transaction id. */
export const MINTED_TXN = 0xffffffff;

/** Columns of one push group in {@link PushCommand.groupColumns}. */
export const PUSH_GROUP = {
  /** Index into `queues`. */
  QUEUE: 0,
  /** Start of the partition name in `text`, in bytes. */
  NAME_START: 1,
  /** Its length in bytes, >= 1. */
  NAME_LENGTH: 2,
  /** First position of the group in `order`. */
  ORDER_START: 3,
  /** Number of its items, repeats inside the request included, >= 1. */
  ORDER_COUNT: 4,
  WIDTH: 5,
} as const;

/**
 * One push request (data-plane reference §1). Items of one (queue, partition) form a group; groups
 * are in first-seen order and independent of each other: each becomes one append of its own.
 * Buffers are lent until the outcome is released; the planner copies what it stores.
 */
export interface PushCommand {
  readonly kind: 'push';
  readonly itemCount: number;
  /** Distinct queue names in first-seen order. */
  readonly queues: readonly string[];
  /** The request body; payload spans point into it. */
  readonly body: Uint8Array;
  /** Decoded UTF-8 of partition names and transaction ids. */
  readonly text: Uint8Array;
  /** `PUSH_ITEM.WIDTH` words an item, in request order. */
  readonly itemColumns: Uint32Array;
  /** `ID_WORDS` words an item: the keyed hash of its transaction id; zeros when minted. */
  readonly txnHashes: Uint32Array;
  /** `PUSH_GROUP.WIDTH` words a group. */
  readonly groupColumns: Uint32Array;
  /** Item positions, group after group, in request order inside a group. */
  readonly order: Uint32Array;
  /** Message id of the first stored item; item i gets `idBase + i` (low word, never overflows). */
  readonly idBase: Id128;
  /** The `sub` of the validated token, else null. */
  readonly producerSub: string | null;
  /** `ID_WORDS` words an item, zeros for none; absent when no item has a trace id to keep. */
  readonly traceIds?: Uint32Array;
  /** `SEALING` a queue, in the order of `queues`; absent means that nothing was done for any. */
  readonly sealings?: Uint8Array;
}

/** Where a cursor that does not exist yet starts (reference §2.4). */
export type Subscription =
  | { readonly mode: 'all' }
  | { readonly mode: 'new' }
  | { readonly mode: 'from'; readonly fromUs: number };

/** What a pop looks at: one queue, one partition of it, or all queues with the given labels. */
export type PopScope =
  | { readonly kind: 'queue'; readonly queue: string }
  | { readonly kind: 'partition'; readonly queue: string; readonly partition: string }
  | { readonly kind: 'labels'; readonly namespace: string; readonly task: string };

/** One attempt to claim (reference §2). Parking and deadlines belong to the broker, not to the plan. */
export interface PopCommand {
  readonly kind: 'pop';
  readonly scope: PopScope;
  /** Group name; queue mode is `QUEUE_MODE_GROUP`. */
  readonly group: string;
  /** Lease id minted by the receiving node; unused with `autoAck`. */
  readonly leaseId: Id128;
  /** Message budget of the call, >= 1. */
  readonly batch: number;
  /** Most partitions one call may claim; 0 means no cap. */
  readonly partitions: number;
  readonly autoAck: boolean;
  /** Lease length in seconds, or 0 for the queue's own. */
  readonly leaseSeconds: number;
  readonly subscription: Subscription;
  /** The conflation the request asked for, or undefined when it did not say (reference §2.6). */
  readonly conflation: boolean | undefined;
  /**
   * Only with `autoAck`: id of the key of the receiving node, empty without one. Messages that it cannot
   * open stay where they are.
   */
  readonly keyId?: Uint8Array;
}

/** What an ack item says; the numbers are the wire of prepared commands. */
export const ACK_STATUS = { COMPLETED: 0, FAILED: 1, RETRY: 2, DLQ: 3, UNKNOWN: 4 } as const;
export type AckStatus = (typeof ACK_STATUS)[keyof typeof ACK_STATUS];

/** How an ack item named its lease. A malformed lease id can match none. */
export const ACK_LEASE = { NONE: 0, NAMED: 1, MALFORMED: 2 } as const;

/** `partitions` value of an ack item whose partition id could not be read. */
export const NO_PARTITION = 0;

/** How far an ack has come that works in steps: the engine's own, opaque to everybody else. */
export interface AckProgress {
  readonly kind: 'ackProgress';
}

/** One ack request, single or batch (reference §3). Items are columns in request order. */
export interface AckCommand {
  readonly kind: 'ack';
  readonly group: string;
  readonly itemCount: number;
  /** Partition numbers, or {@link NO_PARTITION}. */
  readonly partitions: Uint32Array;
  /** {@link ACK_LEASE} an item. */
  readonly leaseKinds: Uint8Array;
  /** `ID_WORDS` an item. */
  readonly leaseIds: Uint32Array;
  /** Keyed hash of each transaction id, `ID_WORDS` an item. */
  readonly txnHashes: Uint32Array;
  /** Each transaction id read as a UUID, `ID_WORDS` an item; zeros when it is none. */
  readonly txnUuids: Uint32Array;
  /** {@link ACK_STATUS} an item. */
  readonly statuses: Uint8Array;
  /** Error texts for dead letters, or null where an item has none; undefined when none has any. */
  readonly errors: readonly (string | null)[] | undefined;
  /** `next` of the step before; absent at the first one, and never sent. */
  readonly from?: AckProgress;
}

/**
 * Acks and pushes that apply all or nothing, in one entry (reference §5). Leases that the request left
 * to be inferred are filled in.
 */
export interface TransactionCommand {
  readonly kind: 'transaction';
  /** Minted by the receiving node, for the answer. */
  readonly transactionId: Id128;
  /** One for each group that acks, in first-seen order. */
  readonly acks: readonly AckCommand[];
  readonly push: PushCommand | undefined;
}

/** Extends every live lease that carries the id (reference §4). */
export interface ExtendCommand {
  readonly kind: 'extend';
  /** Undefined when the path segment is not a lease id: nothing can match. */
  readonly leaseId: Id128 | undefined;
  /** Seconds from now, >= 1. */
  readonly seconds: number;
}

/**
 * Gives a claim back that nobody received (decisions D2): every live lease with the id ends, its
 * attempt is taken back and the retry counter stays as it was.
 */
export interface ReleaseCommand {
  readonly kind: 'release';
  readonly leaseId: Id128;
}

/** Creates or changes a queue (reference §6). */
export interface ConfigureCommand {
  readonly kind: 'configure';
  readonly queue: string;
  readonly mode: 'merge' | 'replace';
  readonly options: QueueOptionsPatch;
  /** Id for a queue that does not exist yet, minted by the receiving node. */
  readonly queueId: Id128;
}

/** Deletes a queue with everything it holds; the name is free again at once (reference §7). */
export interface DeleteQueueCommand {
  readonly kind: 'deleteQueue';
  readonly queue: string;
}

/** Names a request over all its attempts: a repeat is recognised and gets the first outcome. */
export interface RequestId {
  /** Minted by the receiving node, or the keyed hash of a client's `Idempotency-Key`. Never zero. */
  readonly words: Id128;
  /** True for a client's key: it is remembered for 10 minutes instead of one. */
  readonly isClientKey: boolean;
}

/** Every prepared command. */
export type Command =
  | PushCommand
  | PopCommand
  | AckCommand
  | TransactionCommand
  | ExtendCommand
  | ReleaseCommand
  | ConfigureCommand
  | DeleteQueueCommand
  | AdminCommand;
