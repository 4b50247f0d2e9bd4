// Stored blocks as planning needs them.

import type { BlockReader } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** Opens the block of an index record. */
export function openBlock(state: State, record: number): BlockReader {
  return state.openBlocks.open(record);
}
