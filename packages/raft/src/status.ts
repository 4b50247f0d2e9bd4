// The picture of a node that status reports.

import type { Core } from './core.ts';
import { hasCommittedInTerm } from './leader.ts';
import type { PeerStatus, RaftStatus } from './ready.ts';
import { isPeerRefused } from './replicate.ts';

/** Copies what a node shows of itself. */
export function statusOf(core: Core): RaftStatus {
  const { log, memberships, leadership } = core;
  return {
    id: core.id,
    role: core.role,
    term: core.term,
    votedFor: core.votedFor,
    leaderId: core.leaderId,
    commitIndex: log.commitIndex,
    appliedIndex: log.appliedIndex,
    firstIndex: log.firstIndex,
    lastIndex: log.lastIndex,
    persistedIndex: log.persistedIndex,
    hasCommittedInTerm: hasCommittedInTerm(core),
    uncommittedBytes: leadership?.uncommittedBytes ?? 0,
    transferTarget: leadership?.transfer?.target ?? 0,
    isIdentityRefused: core.isIdentityRefused,
    membership: memberships.latest,
    membershipIndex: memberships.latestIndex,
    peers: peersOf(core),
  };
}

function peersOf(core: Core): PeerStatus[] {
  const { leadership } = core;
  if (leadership === undefined) return [];
  return [...leadership.peers.values()]
    .sort((a, b) => a.id - b.id)
    .map((peer) => ({
      id: peer.id,
      state: peer.state,
      matchIndex: peer.matchIndex,
      nextIndex: peer.nextIndex,
      inflightBytes: peer.inflightBytes,
      ticksSinceHeard: leadership.tick - peer.heardAtTick,
      isIdentityRefused: isPeerRefused(core, peer),
    }));
}
