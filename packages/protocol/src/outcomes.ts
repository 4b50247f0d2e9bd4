// Planned outcomes: what the planner decided for each command. The broker holds them until the entry
// that carries their effects is committed; then the edge renders them as answers.

import type { AdminOutcome } from './admin-outcomes.ts';
import type { AckProgress, AckStatus, Id128 } from './commands.ts';
import type { ErrorCode } from './errors.ts';
import type { QueueOptions } from './queue-options.ts';

/** Verdict of one push item. */
export const PUSH_STATUS = { QUEUED: 0, DUPLICATE: 1, ERROR: 2 } as const;

/** A refusal that fails the whole request and changes nothing. */
export interface Refused {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  readonly message: string;
}

/** Verdicts of a push, one an item, in request order. */
export interface PushOutcome {
  readonly kind: 'push';
  /** {@link PUSH_STATUS} an item. */
  readonly statuses: Uint8Array;
  /** Offset of the stored or original message; meaningless for errors. */
  readonly offsets: Float64Array;
  /** Message id an item, four words each: the new id, the original's for duplicates. */
  readonly messageIds: Uint32Array;
  /** Text for items with status ERROR, by position; undefined when there is none. */
  readonly errors:
    ReadonlyMap<number, { readonly code: ErrorCode; readonly message: string }> | undefined;
}

/**
 * Consecutive messages of one append block (`block.ts`), as an address in the log. It stays valid
 * while the messages are retained.
 */
export interface BlockSpan {
  /** Log index of the entry that holds the block. */
  readonly entryIndex: number;
  /** Start of the block in the entry's payload, in bytes. */
  readonly blockStart: number;
  /** Size of the block in bytes. */
  readonly blockSize: number;
  /** Offset of the block's first message. */
  readonly baseOffset: number;
  /** Ordinal in the block of the first message of this span. */
  readonly first: number;
  /** Messages in this span, >= 1. */
  readonly count: number;
}

/** What a pop took from one partition. */
export interface Claim {
  readonly queue: string;
  readonly partition: string;
  /** Dense partition number, >= 1; its wire form is `partitionIdText`. */
  readonly partitionNumber: number;
  /** 1 for a first delivery. */
  readonly deliveryAttempt: number;
  /** In offset order; their counts add up to the batch of this partition. */
  readonly spans: readonly BlockSpan[];
}

/** Why a pop delivered nothing (`Queen-Pop-Reason`, decisions D2). */
export type EmptyReason = 'empty' | 'paused' | 'delayed' | 'window' | 'leased';

/** Result of a pop. */
export interface PopOutcome {
  readonly kind: 'pop';
  /** Echoes the command; all zero with `autoAck`. */
  readonly leaseId: Id128;
  readonly autoAck: boolean;
  readonly group: string;
  /** Empty when nothing was delivered. */
  readonly claims: readonly Claim[];
  /** Messages over all claims. */
  readonly messageCount: number;
  /** Set when `claims` is empty. */
  readonly emptyReason: EmptyReason | undefined;
  /**
   * True when the search was cut short before it found anything: the pop must be planned again before
   * it may answer that nothing is there.
   */
  readonly isCut: boolean;
  /** True when the group's stored policy conflates. */
  readonly conflation: boolean;
  /** True when the request disagreed with the stored policy. */
  readonly conflationConflict: boolean;
}

/** Why an ack item failed. */
export const ACK_ERROR = {
  NONE: 0,
  UNKNOWN_PARTITION: 1,
  INVALID_LEASE: 2,
  UNRESOLVABLE: 3,
  UNKNOWN_STATUS: 4,
  /** The command asked for more than one may: the item was not looked at, or not settled. */
  TOO_MUCH: 5,
} as const;

/** Verdicts of an ack, one an item, in request order. */
export interface AckOutcome {
  readonly kind: 'ack';
  /** {@link ACK_ERROR} an item; NONE means success. */
  readonly errors: Uint8Array;
  /** 1 where the item's target lost its lease by this call. */
  readonly leaseReleased: Uint8Array;
  /** 1 where the item asked for failed or dlq and its target filed a dead letter. */
  readonly deadLettered: Uint8Array;
  /** 1 where a completed item was already below the cursor. */
  readonly noops: Uint8Array;
  /** The statuses of the command, for the rendering of error texts. */
  readonly statuses: ArrayLike<AckStatus>;
  /**
   * Where the next step starts: some targets are not decided yet, and the verdicts of their items mean
   * nothing. Absent when the ack is complete, as it always is in a transaction.
   */
  readonly next?: AckProgress;
}

/** A committed transaction: every ack and push succeeded. */
export interface TransactionOutcome {
  readonly kind: 'transaction';
  readonly transactionId: Id128;
  /** One for each ack of the command. */
  readonly acks: readonly AckOutcome[];
  readonly push: PushOutcome | undefined;
}

/** Why a transaction changed nothing, other than by the refusal of the whole request. */
export type RollbackReason =
  'rejected_ack' | 'duplicate' | 'too_large' | 'bad_request' | 'not_supported' | ErrorCode;

/** A transaction that changed nothing (reference §5.3). */
export interface RolledBack {
  readonly kind: 'rolledBack';
  readonly transactionId: Id128;
  readonly reason: RollbackReason;
  readonly message: string;
}

/** Result of a lease extension. */
export interface ExtendOutcome {
  readonly kind: 'extend';
  /** Number of (partition, group) leases extended. */
  readonly renewed: number;
  /** Earliest new expiry in microseconds of wall time; 0 when `renewed` is 0. */
  readonly expiresAtUs: number;
}

/** Result of giving a claim back. */
export interface ReleaseOutcome {
  readonly kind: 'release';
  /** Number of (partition, group) leases ended. */
  readonly released: number;
}

/** The queue as configured. */
export interface ConfigureOutcome {
  readonly kind: 'configure';
  readonly queue: string;
  readonly queueId: Id128;
  readonly options: QueueOptions;
}

/** Result of a queue deletion. */
export interface DeleteQueueOutcome {
  readonly kind: 'deleteQueue';
  readonly queue: string;
  readonly existed: boolean;
}

/** Every outcome. */
export type Outcome =
  | Refused
  | PushOutcome
  | PopOutcome
  | AckOutcome
  | TransactionOutcome
  | RolledBack
  | ExtendOutcome
  | ReleaseOutcome
  | ConfigureOutcome
  | DeleteQueueOutcome
  | AdminOutcome;

/** Finds the outcome type of a command kind. */
export type OutcomeOf<K extends Outcome['kind']> = Extract<Outcome, { kind: K }>;
