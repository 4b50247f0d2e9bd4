// Bodies and answers of the routes of dead letters (data-plane reference §8).

import { z } from 'zod';
import { Count, Microseconds, Offset, PartitionId, Payload, Uuid } from './fields.ts';

const Name = z.string().trim().min(1).nullish().describe('Absent: where the message was.');

/** Where a replay goes; either half defaults to where the message came from. */
export const ReplayBody = z.object({ queue: Name, partition: Name });

/** One dead letter. */
export const DeadLetter = z.object({
  id: Uuid,
  queue: z.string(),
  partition: z.string(),
  partitionId: PartitionId,
  createdAt: Microseconds.describe('The same as `failedAt`.'),
  consumerGroup: z.string(),
  offset: Offset,
  messageId: Uuid,
  transactionId: z.string(),
  data: Payload,
  payload: Payload,
  errorMessage: z.string(),
  retryCount: Count,
  failedAt: Microseconds,
});

/** A page, newest failure first. */
export const DeadLetterList = z.object({
  messages: z.array(DeadLetter),
  total: Count.describe('All matches, on this page or not.'),
  pagination: z.object({ limit: Count, offset: Count }),
});

/** Moved, or found to be moved before. */
export const ReplayAnswer = z.object({
  success: z.literal(true),
  result: z.enum(['moved', 'duplicate']),
  queue: z.string(),
  partition: z.string(),
  consumerGroup: z.string(),
  dlqId: Uuid,
  originalTransactionId: z.string(),
  replayedAs: z.object({
    index: z.literal(0),
    message_id: Uuid,
    transaction_id: z.string(),
    queueName: z.string(),
    status: z.enum(['queued', 'duplicate']),
    offset: Offset,
  }),
  dlqRowRemoved: z.boolean(),
});

/** Unknown, or moved before. */
export const ReplayGone = z.object({
  success: z.literal(false),
  result: z.literal('gone'),
  error: z.string(),
});

/** The destination did not take it; the row stays. */
export const ReplayRefused = z.object({
  success: z.literal(false),
  error: z.string(),
  reason: z.string(),
  dlqRowRemoved: z.literal(false),
});

/** Dead letters of one address are gone. */
export const DeletedMessage = z.object({
  success: z.literal(true),
  partitionId: z.string().describe('As it stood in the path.'),
  transactionId: z.string(),
  deleted: Count,
});

/** No dead letter has the address. */
export const MessageNotDeleted = z.object({
  success: z.literal(false),
  partitionId: z.string(),
  transactionId: z.string(),
  error: z.string(),
  message: z.string(),
});

/** What a purge has removed. */
export const PurgeAnswer = z.object({
  success: z.literal(true),
  queue: z.string(),
  consumerGroup: z.string().nullable(),
  deleted: Count,
});

/** A purge must name its queue. */
export const PurgeRefused = z.object({
  success: z.literal(false),
  error: z.string(),
  message: z.string(),
});
