// Answers of health and metrics (control-plane reference §4).

import { z } from 'zod';
import { Count } from './fields.ts';

/** A node's place in its cluster. */
export const RaftView = z.object({
  role: z.enum(['leader', 'follower', 'candidate', 'learner', 'stopped']),
  leader: z.boolean(),
  term: Count,
  applied: Count,
  commit: Count,
  lagEntries: Count,
  quorumAgeMs: Count.nullable().describe('How long ago a quorum stood behind the leader.'),
  storageReady: z.boolean(),
});

/** Readiness. */
export const Health = z.object({
  status: z.enum(['healthy', 'settling']),
  reason: z
    .enum(['starting', 'stopped', 'identity_refused', 'no_leader', 'quorum_lost', 'apply_lag'])
    .optional()
    .describe('Why the node is not ready.'),
  engine: z.literal('raft'),
  version: z.string(),
  raft: RaftView,
});

/** Liveness. */
export const Liveness = z.object({ status: z.enum(['alive', 'stopped']) });

/** A summary of one node's work. */
export const MetricsSummary = z.object({
  uptime: Count.describe('Seconds.'),
  requests: z.object({ total: Count, rate: z.literal(0) }),
  messages: z.object({ total: Count, rate: z.literal(0) }),
  memory: z.object({
    rss: Count,
    heapTotal: Count,
    heapUsed: Count,
    external: Count,
    arrayBuffers: Count,
  }),
  cpu: z.object({ user: Count, system: Count }).describe('Microseconds.'),
  engine: z.literal('raft'),
  raft: RaftView,
});

/** This interface as a document. */
export const OpenApi = z.looseObject({ openapi: z.string().regex(/^3\.1\./) });
