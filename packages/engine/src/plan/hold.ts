// How long a pop waits for a fuller batch (`minPopWaitTime`, seed of the pop routes): only a pop of a
// whole queue, and only while it could claim something but not all it asked for.

import type { PopCommand } from '@queen-ts/protocol';
import type { GroupState, QueueState } from '../queue-state.ts';
import { countVisible } from './claim.ts';
import type { PlanContext } from './context.ts';
import { walk } from './pop.ts';

const US_PER_MS = 1000;

/** Partitions that are looked at; a group with more ready ones fills any batch soon enough. */
const SCANNED_MAX = 1024;

/** Time in microseconds, or 0 when the pop should be planned now. Changes no row. */
export function holdUs(context: PlanContext, command: PopCommand): number {
  const { state } = context;
  const { scope, batch } = command;
  if (scope.kind !== 'queue' || batch <= 1 || state.maintenance.popPaused) return 0;
  const queue = state.queuesByName.get(scope.queue);
  const waitMs = queue?.options.minPopWaitTime ?? 0;
  const group = queue?.groupByName(command.group);
  // A conflating group gets one message a partition: there is no batch to fill.
  if (queue === undefined || waitMs === 0 || group?.isRegistered !== true || group.conflation) {
    return 0;
  }
  const count = countClaimable(context, command, { queue, group });
  return count > 0 && count < batch ? waitMs * US_PER_MS : 0;
}

/** Messages that the pop could claim now, up to its batch. */
function countClaimable(
  context: PlanContext,
  { batch, partitions }: PopCommand,
  { queue, group }: { readonly queue: QueueState; readonly group: GroupState },
): number {
  const { state } = context;
  for (let walked = 0; group.walkFrom < queue.partitions.end;) {
    if (walked > SCANNED_MAX) return batch;
    const from = group.walkFrom;
    walk(state, group);
    walked += group.walkFrom - from;
  }
  const { size } = group.ready;
  if (size > SCANNED_MAX) return batch;
  let count = 0;
  let partitionsLeft = partitions > 0 ? partitions : Infinity;
  // One turn of the whole ring leaves its order as it was.
  for (let i = 0; i < size; i += 1) {
    const ordinal = group.ready.shift();
    const row = queue.partitions.row(ordinal);
    const visible = row === 0 ? 0 : countVisible(state, { queue, group, row, seed: undefined });
    if (row !== 0) group.ready.push(ordinal);
    if (visible === 0 || partitionsLeft === 0) continue;
    partitionsLeft -= 1;
    count += visible;
  }
  return Math.min(count, batch);
}
