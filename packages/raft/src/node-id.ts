// The name of a member.

import { assert } from '@queen-ts/base';

/** Member number, an integer >= 1 (`QUEEN_RAFT_NODE_ID`). 0 means «none» where a field allows it. */
export type NodeId = number & { readonly __brand: 'NodeId' };

/** Brands a member number; asserts that it is an integer in [1, 2^32). */
export function toNodeId(value: number): NodeId {
  assert(Number.isSafeInteger(value) && value >= 1 && value < 2 ** 32, () => `node id ${value}`);
  return value as NodeId;
}
