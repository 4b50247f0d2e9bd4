// Encryption as the planner sees it: payloads come sealed or not, and a queue that encrypts takes none
// that could have been sealed and was not.

import { SEALING } from '@queen-ts/protocol';
import type { ErrorCode, PushCommand, Refused } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { PlanContext } from './context.ts';

/**
 * Refuses a push as a whole when the receiving node can seal its payloads and did not: it had not
 * heard yet that the queue encrypts. It seals them then and sends the push again.
 */
export function refuseUnsealed({ state }: PlanContext, command: PushCommand): Refused | undefined {
  const { queues } = command;
  for (let position = 0; position < queues.length; position += 1) {
    if (sealingOf(command, position) !== SEALING.NONE) continue;
    const name = queues[position]!;
    if (state.queuesByName.get(name)?.options.encryptionEnabled !== true) continue;
    return encryptionRequired(name);
  }
  return undefined;
}

/** The refusal of payloads that have to be sealed first. */
export function encryptionRequired(queue: string): Refused {
  const message = `queue "${queue}" encrypts its messages: this one is not encrypted`;
  return { kind: 'refused', code: 'encryption_required', message };
}

/** Why a group of items cannot be stored for want of a key, if so. */
export function missingKey(
  queue: QueueState | undefined,
  sealing: number,
): { readonly code: ErrorCode; readonly message: string } | undefined {
  if (queue?.options.encryptionEnabled !== true || sealing !== SEALING.KEYLESS) return undefined;
  // Storing plaintext where encryption was asked for would be a lie that nobody notices.
  const message = `queue "${queue.name}" encrypts its messages and this node has no key`;
  return { code: 'encryption_key_missing', message };
}

/** What was done for a queue of a push, by its position in `queues`. */
export function sealingOf(command: PushCommand, position: number): number {
  return command.sealings?.[position] ?? SEALING.NONE;
}
