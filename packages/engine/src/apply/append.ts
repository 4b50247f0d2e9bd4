// Appends: the tail moves, the block is indexed, and the clients' transaction ids are remembered.

import { assert } from '@queen-ts/base';
import { BLOCK_FLAG, BLOCK_HEADER_SIZE, BLOCK_KEY_SIZE } from '@queen-ts/protocol';
import type { AppendEffect } from '@queen-ts/protocol';
import { partitionRowByNumber } from '../invariants.ts';
import type { QueueState } from '../queue-state.ts';
import { noteAppend } from '../readiness.ts';
import type { State } from '../state.ts';

/** Appends one block. */
export function applyAppend(state: State, effect: AppendEffect): void {
  const { partitions } = state;
  const row = partitionRowByNumber(state, effect.partition);
  const queue = state.queueOf(row);
  assert(queue !== undefined, () => `append to partition ${effect.partition} of no live queue`);
  assert(
    effect.baseOffset === partitions.tail.get(row),
    () => `append at ${effect.baseOffset}, the tail is ${partitions.tail.get(row)}`,
  );
  assert(
    effect.createdUs > partitions.lastAppendUs.get(row),
    () => `append at ${effect.createdUs} us, the last was at ${partitions.lastAppendUs.get(row)}`,
  );
  partitions.tail.set(row, effect.baseOffset + effect.count);
  partitions.lastAppendUs.set(row, effect.createdUs);
  partitions.activeUs.set(row, state.nowUs);
  partitions.retainedBytes.set(row, partitions.retainedBytes.get(row) + effect.blockSize);
  state.blocks.append(row, {
    baseOffset: effect.baseOffset,
    count: effect.count,
    entryIndex: state.entryIndex,
    blockStart: effect.blockStart,
    blockSize: effect.blockSize,
    createdUs: effect.createdUs,
  });
  queue.retainedMessages += effect.count;
  queue.retainedBlocks += 1;
  queue.retainedBytes += effect.blockSize;
  rememberKeys(state, queue, effect);
  noteAppend(state, queue, row);
}

/** Reads the keys from the block: replicas learn them where the leader wrote them. */
function rememberKeys(state: State, queue: QueueState, effect: AppendEffect): void {
  const { blockStart, blockSize, count } = effect;
  const range = { index: state.entryIndex, from: blockStart, toExclusive: blockStart + blockSize };
  const block = state.payload.payload(range);
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  assert(
    view.getUint32(4, true) === count && view.getUint32(8, true) === effect.partition,
    () => `the block of partition ${effect.partition} at ${blockStart} is another one`,
  );
  if ((block[1]! & BLOCK_FLAG.ALL_MINTED) !== 0 || queue.dedupUs === 0) return;
  const keysStart = BLOCK_HEADER_SIZE + view.getUint32(12, true);
  assert(
    keysStart + count * BLOCK_KEY_SIZE <= blockSize,
    () => `block of ${blockSize} bytes is too small for its keys`,
  );
  const { words } = state;
  for (let i = 0; i < count; i += 1) {
    const at = keysStart + i * BLOCK_KEY_SIZE;
    words[0] = view.getUint32(at, true);
    words[1] = view.getUint32(at + 4, true);
    words[2] = view.getUint32(at + 8, true);
    words[3] = view.getUint32(at + 12, true);
    const isMinted = (words[0] | words[1] | words[2] | words[3]) === 0;
    if (isMinted) continue;
    state.dedup.insert(effect.partition, words, 0, effect.baseOffset + i, effect.createdUs);
  }
}
