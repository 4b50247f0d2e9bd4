// A leader that cannot be asked is told to the client as such, whatever was asked of it.

import type { NodeId } from '@queen-ts/raft';
import { expect, it } from 'vitest';
import { PeerRequestError } from '../transport/transport.ts';
import { ClusterAdmin } from './cluster-admin.ts';
import type { ClusterAdminParts } from './cluster-admin.ts';

const LEADER = 2 as NodeId;

/** Administration on node 1, whose requests to the leader fail. */
function adminWhoseLeaderIsGone(outcome: PeerRequestError['outcome']): ClusterAdmin {
  const parts = {
    local: { leaderId: LEADER, isLeader: false, raftStatus: { id: 1 } },
    transport: {
      request: () => Promise.reject(new PeerRequestError(LEADER, 'unreachable', outcome)),
    },
    clock: { monotonicUs: () => 0, wallUs: () => 0 },
  };
  return new ClusterAdmin(parts as unknown as ClusterAdminParts);
}

it.each(['notApplied', 'unknown'] as const)('a view of it was no change: %s', async (outcome) => {
  const admin = adminWhoseLeaderIsGone(outcome);
  await expect(admin.leaderView(0)).rejects.toMatchObject({ code: 'no_leader' });
});

it('a change may have been made', async () => {
  const admin = adminWhoseLeaderIsGone('unknown');
  await expect(admin.transfer(0, 0)).rejects.toMatchObject({ code: 'outcome_unknown' });
});
