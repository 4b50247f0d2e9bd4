// Stored blocks as planning needs them.

import type { BlockReader, BlockRecord } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** Opens a block of the index. */
export function openBlock(state: State, record: BlockRecord): BlockReader {
  return state.openBlocks.open(record);
}
