// What must hold for an effect to make sense. Planning never violates it; a log that does is damaged
// or was written by a leader with other rules, and the node must stop (I9, I10).

import { InvariantError } from '@queen-ts/base';
import type { GroupState, QueueState } from './queue-state.ts';
import type { State } from './state.ts';

/** The queue of an effect, deleted or not. */
export function queueByNumber(state: State, number: number): QueueState {
  const queue = state.queues.get(number);
  if (queue === undefined) throw new InvariantError(`no queue ${number}`);
  return queue;
}

/** The group of an effect. */
export function groupByNumber(state: State, number: number): GroupState {
  const group = state.groups.get(number);
  if (group === undefined) throw new InvariantError(`no group ${number}`);
  return group;
}

/** The row of an effect's partition. */
export function partitionRowByNumber(state: State, number: number): number {
  const row = state.partitions.numbers.get(number);
  if (row === 0) throw new InvariantError(`no partition ${number}`);
  return row;
}
