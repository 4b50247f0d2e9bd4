// The Raft part of `/health` and `/metrics`.

import type { BrokerStatus, NodeView } from '@queen-ts/cluster';

/** What clients see of a node's place in its cluster. */
export interface RaftView {
  readonly role: 'leader' | 'follower' | 'candidate' | 'learner' | 'stopped';
  readonly leader: boolean;
  readonly term: number;
  readonly applied: number;
  readonly commit: number;
  /** Committed entries that are not applied yet. */
  readonly lagEntries: number;
  /** How long ago a quorum stood behind the leader, in milliseconds; null while there is no leader. */
  readonly quorumAgeMs: number | null;
  readonly storageReady: boolean;
}

/** Builds the view. A node that failed has no role any more. */
export function raftView(status: BrokerStatus, view: NodeView): RaftView {
  const hasFailed = status.failure !== undefined;
  return {
    role: hasFailed ? 'stopped' : stateOf(view),
    leader: !hasFailed && status.role === 'leader',
    term: status.term,
    applied: status.appliedIndex,
    commit: status.commitIndex,
    lagEntries: Math.max(0, status.commitIndex - status.appliedIndex),
    quorumAgeMs: view.quorumAgeMs,
    storageReady: !hasFailed,
  };
}

/** What a node is in its cluster, in one word. */
export function stateOf(view: NodeView): 'leader' | 'follower' | 'candidate' | 'learner' {
  const { role, members, nodeId } = view;
  if (role === 'leader') return 'leader';
  const isLearner = members.find((member) => member.nodeId === nodeId)?.role === 'learner';
  if (isLearner) return 'learner';
  return role === 'follower' ? 'follower' : 'candidate';
}
