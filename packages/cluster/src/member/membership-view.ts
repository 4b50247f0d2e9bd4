// What a node tells of the cluster (control-plane reference §9): what it sees itself and, while it leads,
// how far the others are. Plain values: they travel between members and become answers.

import type { MemberRole, RaftStatus } from '@queen-ts/raft';
import type { Places } from './places.ts';

/** One member as the leader sees it. */
export interface MemberView {
  readonly nodeId: number;
  readonly role: MemberRole;
  readonly raft: string;
  readonly http: string;
  /** Highest index known to be on its disk; null where this node cannot know. */
  readonly matchIndex: number | null;
  /** How long ago it was heard, in milliseconds; null where this node cannot know. */
  readonly heardAgeMs: number | null;
  /** Its disk is not the one that was admitted: demote it, let it catch up, promote it. */
  readonly isIdentityRefused: boolean;
  /** Gets a snapshot because the log does not reach back to where it is. */
  readonly isReceivingSnapshot: boolean;
}

/** What a process says of itself, for people. */
export interface ProcessFacts {
  readonly hostname: string;
  readonly version: string;
}

/** What one node knows. */
export interface NodeView extends ProcessFacts {
  readonly nodeId: number;
  readonly uptimeSeconds: number;
  /** As text; '' while it is not known. */
  readonly clusterId: string;
  /**
   * How long ago a quorum is known to have stood behind the leader, in milliseconds; null while there
   * is no leader.
   */
  readonly quorumAgeMs: number | null;
  readonly role: RaftStatus['role'];
  readonly leaderId: number;
  readonly term: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly durableIndex: number;
  readonly membershipIndex: number;
  readonly isIdentityRefused: boolean;
  readonly transferTarget: number;
  readonly members: readonly MemberView[];
}

/** Builds the view of this node. `tickMs` is the period of the core's clock. */
export function nodeViewOf(
  status: RaftStatus,
  options: Pick<NodeView, 'appliedIndex' | 'clusterId' | 'quorumAgeMs' | 'uptimeSeconds'> & {
    readonly facts: ProcessFacts;
    readonly places: Places;
    readonly tickMs: number;
  },
): NodeView {
  const { id, role, leaderId, term, membership } = status;
  return {
    ...options.facts,
    nodeId: id,
    uptimeSeconds: options.uptimeSeconds,
    clusterId: options.clusterId,
    quorumAgeMs: options.quorumAgeMs,
    role,
    leaderId,
    term,
    firstIndex: status.firstIndex,
    lastIndex: status.lastIndex,
    commitIndex: status.commitIndex,
    appliedIndex: options.appliedIndex,
    durableIndex: status.persistedIndex,
    membershipIndex: status.membershipIndex,
    isIdentityRefused: status.isIdentityRefused,
    transferTarget: status.transferTarget,
    members: membership.members.map((member) => {
      const { raft, http } = options.places.of(membership, member.id);
      const peer = status.peers.find((other) => other.id === member.id);
      const isSelf = member.id === id;
      const ownIndex = isSelf ? status.persistedIndex : null;
      const heardMs = peer === undefined ? null : peer.ticksSinceHeard * options.tickMs;
      return {
        nodeId: member.id,
        role: member.role,
        raft,
        http,
        matchIndex: peer?.matchIndex ?? ownIndex,
        heardAgeMs: isSelf ? 0 : heardMs,
        isIdentityRefused: isSelf ? status.isIdentityRefused : (peer?.isIdentityRefused ?? false),
        isReceivingSnapshot: peer?.state === 'snapshot',
      };
    }),
  };
}
