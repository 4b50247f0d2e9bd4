// Room for what the items of a request take beside its body: their columns, their outcomes and their part
// of the answer. For tiny items that is many times their size.

import type { Grant } from './byte-budget.ts';

/** What one item takes, in bytes. */
const ITEM_BYTES = 256;

/** Fewer items take so little that it is not counted. */
const ITEMS_COUNTED_MIN = 256;

/** Takes the room, at once or when the promise resolves; it rejects with `overloaded`. */
export function takeItemRoom(grant: Grant, itemCount: number): Promise<void> | undefined {
  if (itemCount < ITEMS_COUNTED_MIN) return undefined;
  return grant.widen(grant.bytes + itemCount * ITEM_BYTES);
}
