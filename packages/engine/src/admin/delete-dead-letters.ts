// Removal of dead letters: those of a queue, or those of one message. Both look at a bounded number in
// a step and never at dead letters that were filed after they came by.

import { EFFECT } from '@queen-ts/protocol';
import type {
  DeletedDeadLettersOutcome,
  DeleteDeadLettersCommand,
  PurgeDeadLettersCommand,
} from '@queen-ts/protocol';
import type { PlanContext } from '../plan/context.ts';
import { stepOf } from '../plan/step.ts';
import { hasTransactionId, soughtId } from './dead-letter-record.ts';

/** What one step of a search reads at most, beyond its last record, in bytes. */
const STEP_BYTES_MAX = 2 * 1024 * 1024;

/** Plans one step of a purge: newest first, over the dead letters of all queues. */
export function planPurgeDeadLetters(
  context: PlanContext,
  command: PurgeDeadLettersCommand,
): DeletedDeadLettersOutcome {
  const { state } = context;
  const { deadLetters, partitions } = state;
  const queue = state.queuesByName.get(command.queue);
  let deleted = command.countedBefore ?? 0;
  if (queue === undefined) return outcome(deleted, undefined);
  const { from, budget } = stepOf(context, command);
  let number = from === 0 ? state.nextDeadLetter : from;
  for (let i = 0; i < budget && queue.deadLetters > 0; i += 1) {
    number = deadLetters.numbers.previous(number);
    if (number === 0) return outcome(deleted, undefined);
    const row = deadLetters.numbers.get(number);
    if (partitions.queue.get(deadLetters.partitionRow.get(row)) !== queue.number) continue;
    const group = state.groups.get(deadLetters.group.get(row))?.name;
    if (command.group !== undefined && command.group !== group) continue;
    context.emit({ kind: EFFECT.DEAD_LETTER_DELETE, deadLetter: number });
    deleted += 1;
  }
  return outcome(deleted, queue.deadLetters > 0 && number > 1 ? number : undefined);
}

/** Plans one step of the removal of the dead letters at one address, of all groups. */
export function planDeleteDeadLetters(
  context: PlanContext,
  command: DeleteDeadLettersCommand,
): DeletedDeadLettersOutcome {
  const { state } = context;
  const { deadLetters } = state;
  const partitionRow = state.partitions.numbers.get(command.partition);
  let deleted = command.countedBefore ?? 0;
  const { identity, openBlocks } = state;
  const isKnown = partitionRow !== 0 && state.queueOf(partitionRow) !== undefined;
  if (!isKnown || identity === undefined) return outcome(deleted, undefined);
  const sought = soughtId(identity.hashKey, command.transactionId);
  const costBytesEnd = openBlocks.costBytes + STEP_BYTES_MAX;
  const { from, budget } = stepOf(context, command);
  let row = firstBelow(context, partitionRow, from === 0 ? state.nextDeadLetter : from);
  let number = 0;
  for (let i = 0; i < budget && openBlocks.costBytes < costBytesEnd; i += 1) {
    if (row === 0) return outcome(deleted, undefined);
    number = deadLetters.number.get(row);
    const older = deadLetters.olderOf(row);
    if (hasTransactionId(state, row, sought)) {
      context.emit({ kind: EFFECT.DEAD_LETTER_DELETE, deadLetter: number });
      deleted += 1;
    }
    row = older;
  }
  return outcome(deleted, row === 0 ? undefined : number);
}

/** The newest row of a partition with a number below `number`, or 0. */
function firstBelow(context: PlanContext, partitionRow: number, number: number): number {
  const { deadLetters } = context.state;
  let row = deadLetters.newestOf(partitionRow);
  while (row !== 0 && deadLetters.number.get(row) >= number) row = deadLetters.olderOf(row);
  return row;
}

function outcome(deleted: number, next: number | undefined): DeletedDeadLettersOutcome {
  return { kind: 'deletedDeadLetters', deleted, next };
}
