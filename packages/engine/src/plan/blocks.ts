// Stored blocks as planning needs them.

import { BlockReader } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** Opens the block of an index record. */
export function openBlock(state: State, record: number): BlockReader {
  return new BlockReader(state.payload, {
    entryIndex: state.blocks.entryIndex(record),
    blockStart: state.blocks.blockStart(record),
    blockSize: state.blocks.blockSize(record),
  });
}
