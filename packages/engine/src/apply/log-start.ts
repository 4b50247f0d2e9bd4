// Retention: the first retained offset of a partition moves up; blocks before it are forgotten.

import { assert } from '@queen-ts/base';
import type { LogStartEffect } from '@queen-ts/protocol';
import { partitionRowByNumber, queueByNumber } from '../invariants.ts';
import { noteEmptied } from '../readiness.ts';
import type { State } from '../state.ts';

/** Moves the log start to the start of a block, or to the tail. Nothing that went is looked at. */
export function applyLogStart(state: State, effect: LogStartEffect): void {
  const { partitions, blocks } = state;
  const { offset, retainedBlocks, retainedBytes, oldestUs } = effect;
  const row = partitionRowByNumber(state, effect.partition);
  const queue = queueByNumber(state, partitions.queue.get(row));
  const before = partitions.logStart.get(row);
  const tail = partitions.tail.get(row);
  const blocksBefore = blocks.tails.retained(row);
  const bytesBefore = partitions.retainedBytes.get(row);
  assert(
    offset >= before && offset <= tail,
    () => `log start ${offset} of partition ${effect.partition}, it was ${before}`,
  );
  assert(
    retainedBlocks <= Math.min(blocksBefore, tail - offset) && retainedBytes <= bytesBefore,
    () =>
      `${retainedBlocks} blocks and ${retainedBytes} bytes left of partition ${effect.partition}, ` +
      `which had ${blocksBefore} and ${bytesBefore}`,
  );
  assert(
    offset === tail
      ? retainedBlocks === 0 && retainedBytes === 0
      : retainedBlocks > 0 &&
          oldestUs >= blocks.tails.oldestUs(row) &&
          oldestUs <= partitions.lastAppendUs.get(row),
    () => `log start ${offset} of ${tail} leaves ${retainedBlocks} blocks since ${oldestUs}`,
  );
  blocks.dropTo(row, { offset, blocks: retainedBlocks, oldestUs });
  queue.retainedBlocks -= blocksBefore - retainedBlocks;
  queue.retainedMessages -= offset - before;
  queue.retainedBytes -= bytesBefore - retainedBytes;
  partitions.retainedBytes.set(row, retainedBytes);
  partitions.logStart.set(row, offset);
  if (offset === tail) noteEmptied(queue, partitions.ordinal.get(row));
}
