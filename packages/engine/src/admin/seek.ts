// Seek: cursors move to an instant or to the end, in either direction. Live leases are dropped, and
// counters, attempts and the memory of settled leases start anew.

import { encodeUtf8 } from '@queen-ts/base';
import type { PlanContext } from '../plan/context.ts';
import { newCursor } from '../plan/cursor-row.ts';
import { ensureKnown } from '../plan/groups.ts';
import { stepOf } from '../plan/step.ts';
import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import type { SeekCommand, SeekOutcome, SeekTarget } from '@queen-ts/protocol';

/** Plans one step of a seek. Cursors are created where they are missing. */
export function planSeek(context: PlanContext, command: SeekCommand): SeekOutcome {
  const { state } = context;
  const queue = state.queuesByName.get(command.queue);
  if (queue === undefined) return notFound();
  if (command.partition === undefined) return seekAll(context, command, queue);
  const name = encodeUtf8(command.partition);
  const row = state.partitions.names.find(queue.number, name, 0, name.length);
  if (row === 0) return notFound();
  seekPartition(context, command, queue, row);
  return { kind: 'seek', found: true, partitionsUpdated: 1, next: undefined };
}

function seekAll(context: PlanContext, command: SeekCommand, queue: QueueState): SeekOutcome {
  const { partitions } = queue;
  const { from, budget } = stepOf(context, command);
  const toExclusive = Math.min(from + budget, partitions.end);
  let partitionsUpdated = command.countedBefore ?? 0;
  for (let ordinal = from; ordinal < toExclusive; ordinal += 1) {
    const row = partitions.row(ordinal);
    if (row === 0) continue;
    seekPartition(context, command, queue, row);
    partitionsUpdated += 1;
  }
  const next = toExclusive < partitions.end ? toExclusive : undefined;
  return { kind: 'seek', found: true, partitionsUpdated, next };
}

function seekPartition(
  context: PlanContext,
  command: SeekCommand,
  queue: QueueState,
  row: number,
): void {
  const { state } = context;
  const group = ensureKnown(context, queue, command.group);
  const next = offsetOf(state, row, command.target);
  context.emit(newCursor(state.partitions.number.get(row), group.number, next));
}

/** Appends carry the stamps: the target is before the first offset of one, or the tail. */
function offsetOf(state: State, row: number, target: SeekTarget): number {
  const { partitions, blocks } = state;
  if (target.kind === 'end') return partitions.tail.get(row);
  return blocks.firstSince(row, target.atUs)?.baseOffset ?? partitions.tail.get(row);
}

function notFound(): SeekOutcome {
  return { kind: 'seek', found: false, partitionsUpdated: 0, next: undefined };
}
