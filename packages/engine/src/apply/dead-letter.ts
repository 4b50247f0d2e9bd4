// Dead letters: filed with the cursor move that passes them, removed by replay, purge or with their
// partition.

import { assert } from '@queen-ts/base';
import type { DeadLetterDeleteEffect, DeadLetterPutEffect } from '@queen-ts/protocol';
import { groupByNumber, partitionRowByNumber, queueByNumber } from '../invariants.ts';
import type { State } from '../state.ts';

/** Files a dead letter. */
export function applyDeadLetterPut(state: State, effect: DeadLetterPutEffect): void {
  const row = partitionRowByNumber(state, effect.partition);
  assert(
    effect.deadLetter === state.nextDeadLetter,
    () => `dead letter ${effect.deadLetter}, not ${state.nextDeadLetter}`,
  );
  state.nextDeadLetter += 1;
  groupByNumber(state, effect.group).deadLetters += 1;
  state.deadLetters.add(row, state.entryIndex, effect);
  queueByNumber(state, state.partitions.queue.get(row)).deadLetters += 1;
}

/** Removes a dead letter. */
export function applyDeadLetterDelete(state: State, effect: DeadLetterDeleteEffect): void {
  const row = state.deadLetters.numbers.get(effect.deadLetter);
  assert(row !== 0, () => `no dead letter ${effect.deadLetter}`);
  forgetDeadLetter(state, row);
}

/** Removes a dead letter row. */
export function forgetDeadLetter(state: State, row: number): void {
  const partitionRow = state.deadLetters.partitionRow.get(row);
  queueByNumber(state, state.partitions.queue.get(partitionRow)).deadLetters -= 1;
  groupByNumber(state, state.deadLetters.group.get(row)).deadLetters -= 1;
  state.deadLetters.remove(row);
}
