// The administration of a cluster that is always the same: one node that leads itself.

import type { ClusterAdmin, NodeView } from '@queen-ts/cluster';

/** A view of a node that is alone. */
export function loneNodeView(): NodeView {
  return {
    hostname: 'test',
    version: '0.0.0',
    uptimeSeconds: 5,
    clusterId: '01936f5d-0a11-7f3e-b2c4-9e8d7c6b5a03',
    quorumAgeMs: 0,
    nodeId: 1,
    role: 'leader',
    leaderId: 1,
    term: 3,
    firstIndex: 1,
    lastIndex: 12,
    commitIndex: 11,
    appliedIndex: 10,
    durableIndex: 12,
    membershipIndex: 1,
    isIdentityRefused: false,
    transferTarget: 0,
    members: [
      {
        nodeId: 1,
        role: 'voter',
        raft: '',
        http: '',
        matchIndex: 12,
        heardAgeMs: 0,
        isIdentityRefused: false,
        isReceivingSnapshot: false,
      },
    ],
  };
}

/** Stands in for an administration; what a test does not replace changes nothing. */
export function fakeAdmin(): { -readonly [K in keyof ClusterAdmin]: ClusterAdmin[K] } {
  return {
    view: loneNodeView,
    viewOf: () => Promise.resolve(loneNodeView()),
    leaderView: () => Promise.resolve(loneNodeView()),
    change: () => Promise.resolve({ ok: true, index: 13, term: 3 }),
    transfer: () => Promise.resolve({ ok: true }),
    successor: () => 0,
  };
}
