// Deduplication (reference §12): finds the message that a pushed transaction id repeats. The index
// nominates offsets, the stored key decides, so that the answer is exact.

import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import { openBlock } from './blocks.ts';
import { storedBlock } from './spans.ts';

/** What is looked for: the id whose keyed hash is `words[at..at+4)`. */
export interface IdQuery {
  readonly partitionRow: number;
  readonly words: Uint32Array;
  readonly at: number;
}

/**
 * The lowest offset of the id inside the queue's dedup window, or -1. Where the message was removed
 * by retention only the index is left: it decides alone, by its 64-bit tag.
 * @param messageId gets the original's id if the message is still stored.
 */
export function findOriginal(
  state: State,
  queue: QueueState,
  query: IdQuery,
  messageId: { readonly words: Uint32Array; readonly at: number },
): number {
  const { partitions, blocks, dedup } = state;
  const { partitionRow, words, at } = query;
  // An original exactly as old as the window is outside of it.
  const sinceUs = state.nowUs - queue.dedupUs + 1;
  const count = dedup.find(partitions.number.get(partitionRow), words, at, sinceUs);
  for (let i = 0; i < count; i += 1) {
    const offset = dedup.candidate(i);
    if (offset < partitions.logStart.get(partitionRow)) return offset;
    const record = storedBlock(blocks.firstAtOrAfter(partitionRow, offset), offset);
    if (record.createdUs < sinceUs) continue;
    const block = openBlock(state, record);
    const ordinal = offset - block.baseOffset;
    if (!block.keyEquals(ordinal, words, at)) continue;
    block.writeMessageId(ordinal, messageId.words, messageId.at);
    return offset;
  }
  return -1;
}

/** Whether the id is remembered at an offset below `toExclusive`, whatever the dedup window. */
export function isRememberedBelow(
  state: State,
  queue: QueueState,
  query: IdQuery,
  toExclusive: number,
): boolean {
  const { partitions, blocks, dedup } = state;
  const { partitionRow, words, at } = query;
  const sinceUs = state.nowUs - queue.rememberUs + 1;
  const count = dedup.find(partitions.number.get(partitionRow), words, at, sinceUs);
  for (let i = 0; i < count; i += 1) {
    const offset = dedup.candidate(i);
    if (offset >= toExclusive) return false;
    if (offset < partitions.logStart.get(partitionRow)) return true;
    const record = storedBlock(blocks.firstAtOrAfter(partitionRow, offset), offset);
    const block = openBlock(state, record);
    if (block.keyEquals(offset - block.baseOffset, words, at)) return true;
  }
  return false;
}
