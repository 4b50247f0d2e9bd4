// Outcomes of the commands of the control plane (`admin-commands.ts`).

import type { Id128 } from './commands.ts';
import type { PushOutcome } from './outcomes.ts';

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
  /** Where the next step starts; undefined when the deletion is complete. */
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
  /** The dead letter. */
  readonly id: Id128;
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
  /** Where the next step starts; undefined when the removal is complete. */
  readonly next: number | undefined;
}

/** What is paused after the command. */
export interface MaintenanceOutcome {
  readonly kind: 'maintenance';
  readonly pushPaused: boolean;
  readonly popPaused: boolean;
}

/** Every outcome of the control plane, refusals aside. */
export type AdminOutcome =
  | SeekOutcome
  | DeleteGroupOutcome
  | SubscribeOutcome
  | ReplayDeadLetterOutcome
  | DeletedDeadLettersOutcome
  | MaintenanceOutcome;
