// Retention: the first retained offset of a partition moves up; blocks before it are forgotten.

import { assert } from '@queen-ts/base';
import type { LogStartEffect } from '@queen-ts/protocol';
import { partitionRowByNumber, queueByNumber } from '../invariants.ts';
import { noteEmptied } from '../readiness.ts';
import type { State } from '../state.ts';

/** Moves the log start to the end of a block. */
export function applyLogStart(state: State, effect: LogStartEffect): void {
  const { partitions, blocks } = state;
  const row = partitionRowByNumber(state, effect.partition);
  const queue = queueByNumber(state, partitions.queue.get(row));
  const before = partitions.logStart.get(row);
  assert(
    effect.offset >= before && effect.offset <= partitions.tail.get(row),
    () => `log start ${effect.offset} of partition ${effect.partition}, it was ${before}`,
  );
  let bytes = 0;
  for (let record = blocks.head(row); record !== 0; record = blocks.next(row, record)) {
    if (blocks.endOffset(record) > effect.offset) break;
    bytes += blocks.blockSize(record);
  }
  queue.retainedBlocks -= blocks.dropBefore(row, effect.offset);
  queue.retainedMessages -= effect.offset - before;
  queue.retainedBytes -= bytes;
  partitions.retainedBytes.set(row, partitions.retainedBytes.get(row) - bytes);
  partitions.logStart.set(row, effect.offset);
  if (effect.offset === partitions.tail.get(row)) noteEmptied(queue, partitions.ordinal.get(row));
}
