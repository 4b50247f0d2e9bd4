// Removes the partitions of deleted queues in bounded steps, each step an effect.

import { EFFECT } from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';

/** Removes up to `budget` partitions; returns how many. Fewer than the budget means that all is done. */
export function planHousekeeping(context: PlanContext, budget: number): number {
  const { state } = context;
  for (let steps = 0; steps < budget; steps += 1) {
    const queue = state.deletedQueues[0];
    if (queue === undefined) return steps;
    const partition = state.partitions.number.get(queue.partitions.last());
    context.emit({ kind: EFFECT.PARTITION_DELETE, partition });
  }
  return budget;
}
