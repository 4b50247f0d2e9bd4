// Commands of the control plane: groups, dead letters. Those that may touch every partition of a queue
// work in bounded steps: the planner does some, says where to go on, and the broker comes back with the
// same command until it is complete. Steps of one command are separate entries.

import type { Id128 } from './commands.ts';
import type { Sealing } from './sealing.ts';

/**
 * How far a command that works in steps has come. Who sends the command leaves all of it out; the
 * broker fills it in between the steps.
 */
export interface Step {
  /** `next` of the step before; absent at the first one. */
  readonly from?: number;
  /** Rows to look at, at most; absent means what the engine's limits say. */
  readonly budget?: number;
  /** What the steps before counted: it is part of this step's outcome. */
  readonly countedBefore?: number;
}

/** Where a seek goes: the tail, or the first append at or after an instant. */
export type SeekTarget =
  { readonly kind: 'end' } | { readonly kind: 'instant'; readonly atUs: number };

/** Moves a group's cursors in one partition or in all of a queue (reference §9). */
export interface SeekCommand extends Step {
  readonly kind: 'seek';
  readonly queue: string;
  /** Undefined means all. */
  readonly partition: string | undefined;
  readonly group: string;
  readonly target: SeekTarget;
}

/** Removes a group from a queue (reference §9). */
export interface DeleteGroupCommand extends Step {
  readonly kind: 'deleteGroup';
  readonly queue: string;
  readonly group: string;
  /** False keeps the registration: only the cursors go. */
  readonly withRegistration: boolean;
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
  /** What was done for the destination: SEALED with `payload`; absent means NONE. */
  readonly sealing?: Sealing;
  /** The payload, sealed for the destination; absent: as the dead letter holds it. */
  readonly payload?: Uint8Array;
}

/** Removes the dead letters of one queue, of one group if named (§8.3). */
export interface PurgeDeadLettersCommand extends Step {
  readonly kind: 'purgeDeadLetters';
  readonly queue: string;
  readonly group: string | undefined;
}

/** Removes all dead letters of one message (§8.3). */
export interface DeleteDeadLettersCommand extends Step {
  readonly kind: 'deleteDeadLetters';
  /** Wire number. */
  readonly partition: number;
  readonly transactionId: string;
}

/**
 * Pauses or resumes pushes or pops of the whole cluster (decisions D1). A paused push is refused with
 * `maintenance`; a paused pop finds nothing, and a waiting one waits on.
 */
export interface MaintenanceCommand {
  readonly kind: 'maintenance';
  readonly requests: 'push' | 'pop';
  readonly paused: boolean;
}

/** Every command of the control plane. */
export type AdminCommand =
  | SeekCommand
  | DeleteGroupCommand
  | SubscribeCommand
  | ReplayDeadLetterCommand
  | PurgeDeadLettersCommand
  | DeleteDeadLettersCommand
  | MaintenanceCommand;
