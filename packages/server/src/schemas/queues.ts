// Answers of the queue resources and of the counts over many queues (data-plane reference §7).

import { z } from 'zod';
import { QueueOptions } from './configure.ts';
import { Count, Microseconds, Milliseconds, PartitionId, Seconds, Uuid } from './fields.ts';

const MessageCounts = z.object({
  total: Count,
  pending: Count,
  processing: Count,
  completed: Count,
  deadLetter: Count,
});

/** One queue of the listing. */
export const QueueRow = z.object({
  id: Uuid,
  name: z.string(),
  queue: z.string(),
  namespace: z.string(),
  task: z.string(),
  storage: z.literal('segments'),
  partitions: Count,
  segments: z.object({ segments: Count, messages: Count }),
  messages: MessageCounts.describe('`pending` is without what is leased.'),
  retainedBytes: Count,
  options: QueueOptions,
  createdAt: Microseconds,
});

const LaneRow = z.object({
  id: Uuid,
  name: z.string(),
  queue: z.string(),
  partitions: Count,
  createdAt: Microseconds,
});

/** The full listing, newest queue first. */
const QueueList = z.object({
  queues: z.array(QueueRow),
  kvRows: Count,
  kvBytes: Count,
  timerRows: Count,
  timerBytes: Count,
});

/** The short listing (`stats=lanes`). */
const LaneList = z.object({ queues: z.array(LaneRow), stats: z.literal('lanes') });

/** Either listing. */
export const QueueListing = z.union([QueueList, LaneList]);

const PartitionRow = z.object({
  id: PartitionId,
  name: z.string(),
  createdAt: Microseconds,
  messages: MessageCounts,
  stats: MessageCounts,
  cursor: z.object({ totalConsumed: Count, batchesConsumed: Count }),
  lastActivity: Microseconds.nullable(),
  oldestMessage: Microseconds.nullable(),
  newestMessage: Microseconds.nullable(),
  retainedBytes: Count,
});

const PartitionCount = Count.optional().describe('All of them, when the page does not show all.');

/** One queue with a page of its partitions. */
export const QueueDetail = z.object({
  id: Uuid,
  name: z.string(),
  namespace: z.string(),
  task: z.string(),
  createdAt: Microseconds,
  options: QueueOptions,
  partitions: z.array(PartitionRow),
  segments: z.object({ segments: Count, messages: Count }),
  totals: z.object({
    total: Count,
    pending: Count.describe('With what is leased.'),
    processing: Count,
    completed: Count,
    failed: z.null(),
    deadLetter: Count,
  }),
  retainedBytes: Count,
  partitionCount: PartitionCount,
});

/** How much one group has before it. */
export const QueueDepth = z.object({
  queue: z.string(),
  group: z.string().nullable(),
  pending: Count,
  processing: Count,
  ready: Count,
  partitionsPending: Count,
  partitionsReady: Count,
  conflation: z.boolean(),
  effectivePending: Count.describe('Deliveries: partitions for a conflating group.'),
  effectiveReady: Count,
  partitions: z.array(
    z.object({ partition: z.string(), pending: Count, processing: Count, ready: Count }),
  ),
  partitionCount: PartitionCount,
});

/** Retained bytes by partition. */
export const QueueSizes = z.object({
  queue: z.string(),
  partitions: z.record(z.string(), Count),
});

/** What a deletion came to. */
export const DeleteQueueAnswer = z.union([
  z.object({ deleted: z.literal(true), existed: z.literal(true), queue: z.string() }),
  z.object({
    deleted: z.literal(false),
    existed: z.literal(false),
    queue: z.string(),
    message: z.string(),
  }),
]);

const rollup = {
  queues: Count,
  partitions: Count,
  messages: z.object({ total: Count, pending: Count }),
};

/** Counts by namespace. */
export const NamespaceList = z.object({
  namespaces: z.array(z.object({ namespace: z.string(), ...rollup })),
});

/** Counts by task. */
export const TaskList = z.object({ tasks: z.array(z.object({ task: z.string(), ...rollup })) });

const LagRange = z.object({ avg: Count, median: Count, min: Count, max: Count });

/** Counts over everything. */
export const Overview = z.object({
  queues: Count,
  partitions: Count,
  namespaces: Count,
  tasks: Count,
  messages: z.object({
    total: Count,
    pending: Count,
    processing: Count,
    completed: Count,
    failed: Count,
    deadLetter: Count,
  }),
  lag: z.object({ time: LagRange.describe('Seconds.'), offset: LagRange }),
  timestamp: Milliseconds,
  statsAge: z.literal(0),
});

/** Partitions with the most to do. */
export const BusiestPartitions = z.object({
  partitions: z.array(
    z.object({
      queue: z.string(),
      partition: z.string(),
      partitionId: PartitionId,
      pending: Count,
      processing: Count,
      lagSeconds: Seconds.nullable(),
    }),
  ),
});

/** Statistics are never stale here. */
export const RefreshAnswer = z.object({
  success: z.literal(true),
  refreshed: z.literal(false),
  engine: z.literal('raft'),
});
