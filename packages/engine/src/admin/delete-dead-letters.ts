// Removal of dead letters: those of a queue, or those of one message.

import { EFFECT } from '@queen-ts/protocol';
import type { PlanContext } from '../plan/context.ts';
import type {
  DeletedDeadLettersOutcome,
  DeleteDeadLettersCommand,
  PurgeDeadLettersCommand,
} from './commands.ts';
import { readDeadLetter } from './dead-letter-record.ts';

/** Plans one step of a purge. */
export function planPurgeDeadLetters(
  context: PlanContext,
  command: PurgeDeadLettersCommand,
): DeletedDeadLettersOutcome {
  const { state } = context;
  const queue = state.queuesByName.get(command.queue);
  const budget = Math.max(1, command.budget);
  const numbers: number[] = [];
  if (queue !== undefined && queue.deadLetters > 0) {
    state.deadLetters.numbers.forEach((number, row) => {
      if (numbers.length > budget) return;
      const partitionRow = state.deadLetters.partitionRow.get(row);
      if (state.partitions.queue.get(partitionRow) !== queue.number) return;
      const group = state.groups.get(state.deadLetters.group.get(row))?.name;
      if (command.group === undefined || command.group === group) numbers.push(number);
    });
  }
  const isCut = numbers.length > budget;
  return remove(context, isCut ? numbers.slice(0, budget) : numbers, isCut);
}

/** Plans the removal of the dead letters at one address, of all groups. */
export function planDeleteDeadLetters(
  context: PlanContext,
  command: DeleteDeadLettersCommand,
): DeletedDeadLettersOutcome {
  const { state } = context;
  const { deadLetters } = state;
  const partitionRow = state.partitions.numbers.get(command.partition);
  const numbers: number[] = [];
  if (partitionRow !== 0 && state.queueOf(partitionRow) !== undefined) {
    for (let row = deadLetters.newestOf(partitionRow); row !== 0; row = deadLetters.olderOf(row)) {
      const { transactionId } = readDeadLetter(state, row);
      if (transactionId === command.transactionId) numbers.push(deadLetters.number.get(row));
    }
  }
  return remove(context, numbers, false);
}

function remove(
  context: PlanContext,
  numbers: readonly number[],
  isCut: boolean,
): DeletedDeadLettersOutcome {
  for (const deadLetter of numbers) {
    context.emit({ kind: EFFECT.DEAD_LETTER_DELETE, deadLetter });
  }
  return { kind: 'deletedDeadLetters', deleted: numbers.length, isCut };
}
