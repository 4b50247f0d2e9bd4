// Partitions: created under the next wire number, removed with all they hold.

import { assert } from '@queen-ts/base';
import type { PartitionDeleteEffect, PartitionPutEffect } from '@queen-ts/protocol';
import { partitionRowByNumber, queueByNumber } from '../invariants.ts';
import type { QueueState } from '../queue-state.ts';
import { forgetDeferral } from '../readiness.ts';
import type { State } from '../state.ts';
import { forgetCursor } from './cursor.ts';
import { forgetDeadLetter } from './dead-letter.ts';
import { forgetQueue } from './queue.ts';

/** Creates a partition. */
export function applyPartitionPut(state: State, effect: PartitionPutEffect): void {
  const queue = queueByNumber(state, effect.queue);
  const { name } = effect;
  assert(!queue.isDeleted, () => `a partition for deleted queue ${effect.queue}`);
  assert(
    name.length > 0 && state.partitions.names.find(effect.queue, name, 0, name.length) === 0,
    () => `partition name of ${name.length} bytes is taken in queue ${effect.queue}`,
  );
  const ordinal = queue.partitions.nextOrdinal();
  const number = state.nextPartition;
  state.nextPartition += 1;
  const row = state.partitions.add({
    number,
    queue: effect.queue,
    name,
    ordinal,
    createdUs: state.nowUs,
  });
  queue.partitions.set(ordinal, row);
}

/** Removes a partition, and its queue's last traces if that is deleted and it was the last one. */
export function applyPartitionDelete(state: State, effect: PartitionDeleteEffect): void {
  const row = partitionRowByNumber(state, effect.partition);
  const queue = queueByNumber(state, state.partitions.queue.get(row));
  removeRows(state, queue, row);
  queue.partitions.remove(state.partitions.ordinal.get(row));
  state.partitions.remove(row);
  if (!queue.isDeleted || queue.partitions.count > 0) return;
  const position = state.deletedQueues.indexOf(queue);
  if (position >= 0) state.deletedQueues.splice(position, 1);
  forgetQueue(state, queue);
}

function removeRows(state: State, queue: QueueState, row: number): void {
  const { partitions, deadLetters } = state;
  for (const group of queue.groups) {
    const cursorRow = group.cursors === 0 ? 0 : state.cursors.find(row, group.number);
    if (cursorRow !== 0) forgetCursor(state, group, cursorRow);
  }
  while (deadLetters.newestOf(row) !== 0) forgetDeadLetter(state, deadLetters.newestOf(row));
  forgetDeferral(state, row);
  queue.retainedMessages -= partitions.tail.get(row) - partitions.logStart.get(row);
  queue.retainedBytes -= partitions.retainedBytes.get(row);
  queue.retainedBlocks -= state.blocks.tails.retained(row);
  state.blocks.clear(row);
}
