// What a node tells of the cluster as it sees it (control-plane reference §9.1). Never forwarded: a node
// that is cut off must be able to say so.

import type { MemberView, NodeId, NodeView } from '@queen-ts/cluster';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { stateOf } from '../metrics/raft-view.ts';
import type { Route } from './route.ts';

/** Another member is asked for its view for as long as this. */
const VIEW_MS_MAX = 2000;

/** The routes. */
export function raftViewRoutes(edge: Edge): readonly Route[] {
  return [
    { method: 'GET', path: '/api/v1/raft/status', handler: () => status(edge) },
    { method: 'GET', path: '/api/v1/raft/members', handler: () => members(edge) },
    { method: 'GET', path: '/api/v1/raft/liveness', handler: () => liveness(edge) },
  ];
}

function status({ admin }: Edge): Response {
  const view = admin.view();
  const votersCount = view.members.filter(({ role }) => role === 'voter').length;
  return json({
    ...showNode(view, view),
    replication: showReplication(view),
    engine: 'raft',
    clusterId: view.clusterId,
    self: view.nodeId,
    voters: votersCount,
    singleNode: view.members.length === 1,
  });
}

async function members(edge: Edge): Promise<Response> {
  const { admin } = edge;
  const view = admin.view();
  const deadlineUs = deadlineIn(edge, VIEW_MS_MAX);
  const asked = await Promise.all(
    view.members.map(async (member) => {
      try {
        return await admin.viewOf(member.nodeId as NodeId, deadlineUs);
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error));
      }
    }),
  );
  // Only the leader knows how far the others are.
  const leader = asked.find((other) => !(other instanceof Error) && other.role === 'leader');
  const seen = leader === undefined || leader instanceof Error ? view : leader;
  return json({
    engine: 'raft',
    clusterId: view.clusterId,
    leaderId: view.leaderId,
    term: view.term,
    self: view.nodeId,
    voters: view.members.filter(({ role }) => role === 'voter').length,
    members: view.members.map((member, i) => {
      const other = asked[i]!;
      const node = other instanceof Error ? showUnreachable(member, other) : showNode(other, view);
      return { ...node, ...showProgress(seen, member.nodeId) };
    }),
  });
}

function liveness({ admin }: Edge): Response {
  const view = admin.view();
  return json({
    engine: 'raft',
    nodeId: view.nodeId,
    leaderId: view.leaderId,
    term: view.term,
    viewAgeMs: view.quorumAgeMs,
    viewLeaderId: view.leaderId,
    members: view.members.map((member) => ({
      nodeId: member.nodeId,
      role: member.role,
      state:
        member.nodeId === view.leaderId
          ? 'leader'
          : member.role === 'learner'
            ? 'learner'
            : 'follower',
      http: member.http,
      raft: member.raft,
      lastAckMs: member.heardAgeMs,
      matchIndex: member.matchIndex,
      local: member.nodeId === view.nodeId,
    })),
  });
}

/** A node as it sees itself; `here` is the view of the node that answers. */
function showNode(view: NodeView, here: NodeView): object {
  const own = view.members.find(({ nodeId }) => nodeId === view.nodeId);
  const place = own ?? here.members.find(({ nodeId }) => nodeId === view.nodeId);
  return {
    nodeId: view.nodeId,
    hostname: view.hostname,
    raftAddr: place?.raft ?? '',
    httpAddr: place?.http ?? '',
    role: own?.role ?? 'none',
    state: stateOf(view),
    local: view.nodeId === here.nodeId,
    reachable: true,
    leaderId: view.leaderId,
    term: view.term,
    firstLogIndex: view.firstIndex,
    lastLogIndex: view.lastIndex,
    committedIndex: view.commitIndex,
    appliedIndex: view.appliedIndex,
    durableIndex: view.durableIndex,
    quorumAgeMs: view.quorumAgeMs,
    identityRefused: view.isIdentityRefused,
    version: view.version,
    uptimeSeconds: view.uptimeSeconds,
    error: null,
  };
}

function showUnreachable(member: MemberView, error: Error): object {
  return {
    nodeId: member.nodeId,
    role: member.role,
    state: 'unreachable',
    local: false,
    reachable: false,
    raftAddr: member.raft,
    httpAddr: member.http,
    hostname: null,
    error: error.message,
  };
}

function showProgress(seen: NodeView, nodeId: number): object {
  const member = seen.members.find((other) => other.nodeId === nodeId);
  const matchIndex = member?.matchIndex ?? null;
  return {
    matchIndex,
    heartbeatAgeMs: member?.heardAgeMs ?? null,
    lagEntries: matchIndex === null ? null : Math.max(0, seen.lastIndex - matchIndex),
  };
}

function showReplication(view: NodeView): object[] | null {
  if (view.role !== 'leader') return null;
  return view.members
    .filter(({ nodeId }) => nodeId !== view.nodeId)
    .map(({ nodeId, matchIndex, heardAgeMs }) => ({
      nodeId,
      matchIndex: matchIndex ?? 0,
      heartbeatAgeMs: heardAgeMs ?? 0,
    }));
}
