// Bodies and answers of the routes of consumer groups (data-plane reference §9).

import { z } from 'zod';
import { Count, Microseconds, Milliseconds, PartitionId, Seconds, Uuid } from './fields.ts';
import { PartitionName } from './partition.ts';

/** Most partitions of one call for positions. */
export const POSITIONS_MAX = 65_536;

/** `POST …/seek`: to the end, or to the first append at or after a time; the end wins. */
export const SeekBody = z.object({
  toEnd: z.boolean().nullish().describe('Wins over `timestamp`.'),
  timestamp: z.string().nullish().describe('ISO 8601.'),
});

/** `POST …/subscription`. */
export const SubscriptionBody = z.object({
  subscriptionTimestamp: z.string().describe('ISO 8601.'),
});

/** `POST /consumer-groups/positions`; without entries, all positions of the group. */
export const PositionsBody = z.object({
  consumerGroup: z.string(),
  entries: z
    .array(z.object({ queue: z.string(), partition: PartitionName }))
    .max(POSITIONS_MAX, 'too many entries')
    .nullish()
    .describe('Absent: all partitions that the group reads.'),
});

/** One group of one queue. */
export const GroupRow = z.object({
  name: z.string(),
  topics: z.array(z.string()),
  queueName: z.string(),
  members: Count.describe('Partitions with a cursor.'),
  partitionCursors: Count,
  partitionsWithLag: Count,
  totalLag: Count,
  maxTimeLag: Seconds,
  state: z.enum(['Lagging', 'Stable', 'Dead']),
  storage: z.literal('segments'),
  kind: z.literal('queen'),
  subscriptionMode: z.enum(['all', 'new', 'timestamp']).nullable(),
  subscriptionTimestamp: Microseconds.nullable(),
  subscriptionCreatedAt: Microseconds.nullable(),
  conflation: z.boolean(),
});

/** By group, then by queue. */
export const GroupList = z.array(GroupRow);

/** One group: its cursors by queue. */
export const GroupDetail = z.record(
  z.string(),
  z.object({
    conflation: z.boolean(),
    kind: z.literal('queen'),
    partitions: z.array(
      z.object({
        partition: z.string(),
        workerId: Uuid.nullable().describe('The live lease; workers have no names.'),
        lastConsumedAt: z.null(),
        totalConsumed: Count,
        offsetLag: Count,
        timeLagSeconds: Seconds,
        leaseActive: z.boolean(),
      }),
    ),
  }),
);

/** Cursors that are far behind, the oldest first. */
export const LaggingList = z.array(
  z.object({
    consumer_group: z.string(),
    queue_name: z.string(),
    partition_name: z.string(),
    partition_id: PartitionId,
    worker_id: Uuid.nullable(),
    kind: z.literal('queen'),
    offset_lag: Count,
    time_lag_seconds: Seconds,
    lag_hours: z.number().min(0),
    oldest_unconsumed_at: Milliseconds,
    last_consumed_at: z.null(),
  }),
);

/** Next offset to be read, or null where the group has no cursor. */
export const PositionsAnswer = z.object({
  consumerGroup: z.string(),
  entries: z.array(
    z.object({
      queue: z.string(),
      partition: z.string(),
      offset: Count.nullable(),
      metadata: z.string().optional().describe('There exactly when there is an offset.'),
    }),
  ),
});

/** What a deletion has removed. */
export const DeletedGroup = z.object({
  success: z.literal(true),
  consumerGroup: z.string(),
  queueName: z.string().nullable(),
  deletedPartitions: Count,
  metadataDeleted: z.boolean(),
  queues: z.array(z.string()),
});

/** What a new subscription has changed. */
export const SubscriptionAnswer = z.object({
  success: z.literal(true),
  consumerGroup: z.string(),
  newTimestamp: z.string(),
  rowsUpdated: Count,
});

/** What a seek has moved. */
export const SeekAnswer = z.object({
  success: z.literal(true),
  consumerGroup: z.string(),
  queueName: z.string(),
  partitionName: z.string().nullable(),
  seekToEnd: z.boolean(),
  targetTimestamp: z.string().nullable(),
  partitionsUpdated: Count,
  updated: z.literal(true),
});

/** There is nothing to move. */
export const SeekNotFound = z.object({
  success: z.literal(false),
  error: z.string(),
  consumerGroup: z.string(),
  queueName: z.string(),
  partitionsUpdated: z.literal(0),
});
