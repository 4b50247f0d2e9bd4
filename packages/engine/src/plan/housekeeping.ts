// Removes the partitions of deleted queues in bounded steps, each step an effect.

import { EFFECT } from '@queen-ts/protocol';
import type { State } from '../state.ts';
import type { PlanContext } from './context.ts';

/** Blocks that one step forgets at most; a partition with more takes several. */
const BLOCKS_PER_STEP = 1024;

/** Takes up to `budget` steps; returns how many. Fewer than the budget means that all is done. */
export function planHousekeeping(context: PlanContext, budget: number): number {
  const { state } = context;
  for (let steps = 0; steps < budget; steps += 1) {
    const queue = state.deletedQueues[0];
    if (queue === undefined) return steps;
    const row = queue.partitions.last();
    const partition = state.partitions.number.get(row);
    const offset = stepOf(state, row);
    if (offset === undefined) context.emit({ kind: EFFECT.PARTITION_DELETE, partition });
    else context.emit({ kind: EFFECT.LOG_START, partition, offset });
  }
  return budget;
}

/** End of the last block of a step, or undefined when the partition has no more than one step. */
function stepOf(state: State, row: number): number | undefined {
  const { blocks } = state;
  let record = blocks.head(row);
  for (let i = 1; i < BLOCKS_PER_STEP && record !== 0; i += 1) record = blocks.next(row, record);
  return record === 0 ? undefined : blocks.endOffset(record);
}
