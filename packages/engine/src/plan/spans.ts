// What a claim takes of a partition, as spans of its blocks: up to a number of messages, and up to a
// size, so that no answer of a pop can be larger than memory likes (I13).

import { assert } from '@queen-ts/base';
import type { BlockRecord, BlockSpan } from '@queen-ts/protocol';
import type { State } from '../state.ts';
import { openBlock } from './blocks.ts';

/** What a message counts for besides what is stored of it: the fields of its answer. */
export const MESSAGE_OVERHEAD_BYTES = 256;

/** What taking from a block counts for besides its messages: it has to be found and read. */
const BLOCK_OVERHEAD_BYTES = 4096;

/** A larger block of which only a part is wanted is measured message by message. */
const MEASURED_BLOCK_BYTES_MIN = 64 * 1024;

/** Block headers that one call reads at most to find blocks; what was found so far is taken then. */
const HEADERS_READ_MAX = 256;

/** Spans without a gap, and what they count for. */
export interface TakenSpans {
  readonly spans: readonly BlockSpan[];
  readonly toExclusive: number;
  readonly sizeBytes: number;
}

/**
 * Takes messages from `from` on: one at least, and further ones below `toExclusive` while they fit
 * into `sizeBytesMax` and are found with a bounded number of reads. All of them must be retained.
 * @param range `blockOverheadBytes` is what each block counts for besides its messages.
 */
export function takeSpans(
  state: State,
  range: {
    readonly row: number;
    readonly from: number;
    readonly toExclusive: number;
    readonly blockOverheadBytes?: number;
  },
  sizeBytesMax: number,
): TakenSpans {
  const { blocks } = state;
  const { row, from, toExclusive, blockOverheadBytes = BLOCK_OVERHEAD_BYTES } = range;
  const spans: BlockSpan[] = [];
  const readsEnd = blocks.reads + HEADERS_READ_MAX;
  let sizeBytes = 0;
  let offset = from;
  let block = storedBlock(blocks.firstAtOrAfter(row, from), from);
  while (offset < toExclusive) {
    const first = offset - block.baseOffset;
    const wanted = Math.min(block.count - first, toExclusive - offset);
    const part = measure(state, block, { first, wanted, sizeBytesMax: sizeBytesMax - sizeBytes });
    const count = offset === from ? Math.max(1, part.count) : part.count;
    if (count > 0) spans.push(spanOf(block, first, count));
    sizeBytes += part.sizeBytes + blockOverheadBytes;
    offset += count;
    if (count < wanted || offset === toExclusive || blocks.reads >= readsEnd) break;
    block = storedBlock(blocks.next(row, block), offset);
  }
  return { spans, toExclusive: offset, sizeBytes };
}

/** The block that must hold an offset. */
export function storedBlock(block: BlockRecord | undefined, offset: number): BlockRecord {
  if (block === undefined || block.baseOffset > offset) {
    assert(false, () => `offset ${offset} is not stored, the next block is ${block?.baseOffset}`);
  }
  return block;
}

/** How many of the wanted messages fit, and their size, or that of the first one if none does. */
function measure(
  state: State,
  record: BlockRecord,
  part: { readonly first: number; readonly wanted: number; readonly sizeBytesMax: number },
): { readonly count: number; readonly sizeBytes: number } {
  const { first, wanted, sizeBytesMax } = part;
  const { blockSize } = record;
  const bound = blockSize + wanted * MESSAGE_OVERHEAD_BYTES;
  const isWhole = wanted === record.count || blockSize <= MEASURED_BLOCK_BYTES_MIN;
  if (isWhole && bound <= sizeBytesMax) return { count: wanted, sizeBytes: bound };
  const block = openBlock(state, record);
  let sizeBytes = 0;
  for (let count = 0; count < wanted; count += 1) {
    const next = sizeBytes + block.frameSize(first + count) + MESSAGE_OVERHEAD_BYTES;
    if (next > sizeBytesMax) return { count, sizeBytes: count === 0 ? next : sizeBytes };
    sizeBytes = next;
  }
  return { count: wanted, sizeBytes };
}

/** The address of consecutive messages of a block. */
export function spanOf(block: BlockRecord, first: number, count: number): BlockSpan {
  const { entryIndex, blockStart, blockSize, baseOffset } = block;
  return { entryIndex, blockStart, blockSize, baseOffset, first, count };
}
