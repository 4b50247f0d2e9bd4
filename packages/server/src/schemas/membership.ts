// Bodies and answers of the routes of the cluster itself (control-plane reference §9).

import { z } from 'zod';
import { Count } from './fields.ts';

const NODE_ID_MAX = 2 ** 31 - 1;

/** Id of a node. */
const NodeNumber = z.int().min(1).max(NODE_ID_MAX);

const Address = z.string().describe('`host:port`; empty when it is not known.');

/** `POST /system/raft/membership/learners`. */
export const LearnerBody = z
  .object({
    id: NodeNumber.optional(),
    nodeId: NodeNumber.optional(),
    raft: z.string().describe('`host:port` for the other members.'),
    http: z.string().describe('`host:port` for clients.'),
  })
  .refine(({ id, nodeId }) => id !== undefined || nodeId !== undefined, 'id is missing');

/** `POST /system/raft/membership/promote`. */
export const PromoteBody = z
  .object({
    ids: z.array(NodeNumber).min(1).max(64).optional(),
    id: NodeNumber.optional(),
    force: z.boolean().optional().describe('Do not look at the lag.'),
  })
  .refine(({ ids, id }) => ids !== undefined || id !== undefined, 'ids is missing');

/** `PUT /system/raft/membership/voters`. */
export const VotersBody = z.object({
  voters: z.array(NodeNumber).min(1).max(64),
  force: z.boolean().optional(),
});

/** `POST /system/raft/transfer`. */
export const TransferBody = z.object({
  to: NodeNumber.optional().describe('Absent: the voter whose log is closest.'),
});

const Member = z.object({
  nodeId: NodeNumber,
  voter: z.boolean(),
  raft: Address,
  http: Address,
  matched: Count.nullable().describe('Highest index known to be on its disk.'),
  lag: Count.nullable().describe('Entries that it lacks.'),
  lastAckMs: Count.nullable().describe('How long ago the leader heard it.'),
  live: z.boolean(),
  identityRefused: z.boolean().describe('Its disk is not the one that was admitted.'),
  receivesSnapshot: z.boolean(),
});

/** Who the members are. */
export const Membership = z.object({
  nodeId: NodeNumber,
  source: z.enum(['leader', 'follower']).describe('Whose view this is.'),
  viewAgeMs: Count,
  leader: z.int().min(0).describe('0 when nobody leads.'),
  term: Count,
  voters: z.array(NodeNumber),
  learners: z.array(NodeNumber),
  joint: z.null(),
  membershipIndex: Count,
  membershipCommitted: z.boolean(),
  changeInFlight: z.boolean(),
  lastLogIndex: Count,
  committedIndex: Count,
  liveWithinMs: Count,
  promoteMaxLag: Count,
  members: z.array(Member),
});

/** Answer to a look. */
export const MembershipAnswer = z.object({ engine: z.literal('raft'), membership: Membership });

/** Answer to a change. */
export const ChangedMembership = z.object({ ok: z.literal(true), membership: Membership });

/** Answer to a handover. */
export const TransferAnswer = z.object({ ok: z.literal(true), leader: NodeNumber });

/** A refused change. */
export const ChangeRefusal = z.object({ error: z.string(), code: z.string() });

const Node = z.object({
  nodeId: NodeNumber,
  hostname: z.string().nullable(),
  raftAddr: Address,
  httpAddr: Address,
  role: z.enum(['voter', 'learner', 'none']),
  state: z.enum(['leader', 'follower', 'candidate', 'learner', 'unreachable']),
  local: z.boolean(),
  reachable: z.boolean(),
  leaderId: z.int().min(0).optional(),
  term: Count.optional(),
  firstLogIndex: Count.optional(),
  lastLogIndex: Count.optional(),
  committedIndex: Count.optional(),
  appliedIndex: Count.optional(),
  durableIndex: Count.optional(),
  quorumAgeMs: Count.nullable().optional(),
  identityRefused: z.boolean().optional(),
  version: z.string().optional(),
  uptimeSeconds: Count.optional(),
  error: z.string().nullable(),
});

const Replication = z
  .array(z.object({ nodeId: NodeNumber, matchIndex: Count, heartbeatAgeMs: Count }))
  .nullable()
  .describe('How far the others are; only where this node leads.');

/** `GET /raft/status`. */
export const RaftStatusAnswer = z.object({
  ...Node.shape,
  replication: Replication,
  engine: z.literal('raft'),
  clusterId: z.string(),
  self: NodeNumber,
  voters: Count,
  singleNode: z.boolean(),
});

/** `GET /raft/members`. */
export const RaftMembersAnswer = z.object({
  engine: z.literal('raft'),
  clusterId: z.string(),
  leaderId: z.int().min(0),
  term: Count,
  self: NodeNumber,
  voters: Count,
  members: z.array(
    z.object({
      ...Node.shape,
      matchIndex: Count.nullable(),
      heartbeatAgeMs: Count.nullable(),
      lagEntries: Count.nullable(),
    }),
  ),
});

/** `GET /raft/liveness`. */
export const RaftLivenessAnswer = z.object({
  engine: z.literal('raft'),
  nodeId: NodeNumber,
  leaderId: z.int().min(0),
  term: Count,
  viewAgeMs: Count.nullable(),
  viewLeaderId: z.int().min(0),
  members: z.array(
    z.object({
      nodeId: NodeNumber,
      role: z.enum(['voter', 'learner']),
      state: z.enum(['leader', 'follower', 'learner']),
      http: Address,
      raft: Address,
      lastAckMs: Count.nullable(),
      matchIndex: Count.nullable(),
      local: z.boolean(),
    }),
  ),
});
