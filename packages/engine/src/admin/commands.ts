// Commands of the control plane: groups and dead letters. Those that may touch every partition of a
// queue work in bounded steps: each call does some and says where to go on.

import type { Id128, Refused } from '@queen-ts/protocol';
import type { PushOutcome } from '@queen-ts/protocol';

/** Where a seek goes: the tail, or the first append at or after an instant. */
export type SeekTarget =
  { readonly kind: 'end' } | { readonly kind: 'instant'; readonly atUs: number };

/** Moves a group's cursors in one partition or in all of a queue (reference §9). */
export interface SeekCommand {
  readonly kind: 'seek';
  readonly queue: string;
  /** Undefined means all. */
  readonly partition: string | undefined;
  readonly group: string;
  readonly target: SeekTarget;
  /** `next` of the call before; 0 for the first. */
  readonly from: number;
  /** Partitions to move at most, >= 1. */
  readonly budget: number;
}

/** Removes a group from a queue (reference §9). */
export interface DeleteGroupCommand {
  readonly kind: 'deleteGroup';
  readonly queue: string;
  readonly group: string;
  /** False keeps the registration: only the cursors go. */
  readonly withRegistration: boolean;
  readonly from: number;
  readonly budget: number;
}

/** Rewrites a group's stored subscription on every queue where it is registered (reference §9). */
export interface SubscribeCommand {
  readonly kind: 'subscribe';
  readonly group: string;
  readonly fromUs: number;
}

/** Moves a dead letter to the tail of a partition, under the transaction id `dlq:<id>` (§8.2). */
export interface ReplayDeadLetterCommand {
  readonly kind: 'replayDeadLetter';
  readonly id: Id128;
  /** Destination; undefined means where it came from. */
  readonly queue: string | undefined;
  readonly partition: string | undefined;
  /** Id of the new message. */
  readonly messageId: Id128;
}

/** Removes dead letters of one queue, of one group if named, up to `budget` at a time (§8.3). */
export interface PurgeDeadLettersCommand {
  readonly kind: 'purgeDeadLetters';
  readonly queue: string;
  readonly group: string | undefined;
  readonly budget: number;
}

/** Removes all dead letters of one message (§8.3). */
export interface DeleteDeadLettersCommand {
  readonly kind: 'deleteDeadLetters';
  /** Wire number. */
  readonly partition: number;
  readonly transactionId: string;
}

/** Every command of the control plane. */
export type AdminCommand =
  | SeekCommand
  | DeleteGroupCommand
  | SubscribeCommand
  | ReplayDeadLetterCommand
  | PurgeDeadLettersCommand
  | DeleteDeadLettersCommand;

/** Result of one step of a seek. */
export interface SeekOutcome {
  readonly kind: 'seek';
  /** False when queue or partition does not exist. */
  readonly found: boolean;
  readonly partitionsUpdated: number;
  /** Where the next step starts; undefined when the seek is complete. */
  readonly next: number | undefined;
}

/** Result of one step of a group deletion. */
export interface DeleteGroupOutcome {
  readonly kind: 'deleteGroup';
  readonly cursorsDeleted: number;
  readonly registrationDeleted: boolean;
  readonly next: number | undefined;
}

/** Result of a rewritten subscription. */
export interface SubscribeOutcome {
  readonly kind: 'subscribe';
  readonly queuesUpdated: number;
}

/** Result of a replay. */
export interface ReplayDeadLetterOutcome {
  readonly kind: 'replayDeadLetter';
  /** `gone`: there is no such dead letter. `duplicate`: nothing written, it stays. */
  readonly result: 'moved' | 'duplicate' | 'gone';
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
  /** The id that the message had when it was filed. */
  readonly originalTransactionId: string;
  /** Verdict of the push; undefined when gone. */
  readonly push: PushOutcome | undefined;
}

/** Result of a removal of dead letters. */
export interface DeletedDeadLettersOutcome {
  readonly kind: 'deletedDeadLetters';
  readonly deleted: number;
  /** Whether there may be more to remove. */
  readonly isCut: boolean;
}

/** Every outcome of the control plane. */
export type AdminOutcome =
  | Refused
  | SeekOutcome
  | DeleteGroupOutcome
  | SubscribeOutcome
  | ReplayDeadLetterOutcome
  | DeletedDeadLettersOutcome;
