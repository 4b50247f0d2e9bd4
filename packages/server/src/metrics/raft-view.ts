// The Raft part of `/health` and `/metrics`.

import type { BrokerStatus } from '@queen-ts/cluster';

/** What clients see of a node's place in its cluster. */
export interface RaftView {
  readonly role: 'leader' | 'follower' | 'candidate' | 'stopped';
  readonly leader: boolean;
  readonly term: number;
  readonly applied: number;
  readonly commit: number;
  /** Committed entries that are not applied yet. */
  readonly lagEntries: number;
  readonly storageReady: boolean;
}

/** Builds the view. A node that failed has no role any more. */
export function raftView(status: BrokerStatus): RaftView {
  const hasFailed = status.failure !== undefined;
  return {
    role: hasFailed ? 'stopped' : status.role === 'preCandidate' ? 'candidate' : status.role,
    leader: !hasFailed && status.role === 'leader',
    term: status.term,
    applied: status.appliedIndex,
    commit: status.commitIndex,
    lagEntries: Math.max(0, status.commitIndex - status.appliedIndex),
    storageReady: !hasFailed,
  };
}
