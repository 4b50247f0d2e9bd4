// The messages between members. Placeholder for the full set; NodeId lives here.

/** Member number, an integer >= 1 (`QUEEN_RAFT_NODE_ID`). 0 means «none» where a field allows it. */
export type NodeId = number & { readonly __brand: 'NodeId' };
