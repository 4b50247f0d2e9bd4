// Answers of the pop routes (data-plane reference §2.2).

import { z } from 'zod';
import { Count, Microseconds, Offset, PartitionId, Payload, Uuid } from './fields.ts';

const LeaseId = z.union([Uuid, z.literal('')]).describe('Empty when nothing is leased.');

/** One delivered message. */
export const PoppedMessage = z.object({
  id: Uuid,
  transactionId: z.string(),
  traceId: Uuid.nullable(),
  data: Payload,
  producerSub: z.string().nullable(),
  createdAt: Microseconds.describe(
    'When its append was planned; shared by one request’s messages.',
  ),
  partitionId: PartitionId,
  partition: z.string(),
  leaseId: LeaseId,
  consumerGroup: z.string(),
  deliveryAttempt: z.int().min(1),
  offset: Offset,
});

/** What a pop delivers. */
export const PopAnswer = z.object({
  success: z.literal(true),
  queue: z.string().describe('Empty on the discovery route.'),
  partition: z.string().describe('The first claimed partition.'),
  partitionId: z.union([PartitionId, z.literal('')]),
  leaseId: LeaseId,
  consumerGroup: z.string(),
  messages: z.array(PoppedMessage),
  partitionsClaimed: Count,
  conflation: z.literal(true).optional(),
  conflationConflict: z.literal(true).optional(),
});

/** Parameters that contradict each other. */
export const PopRefusal = z.object({
  success: z.literal(false),
  error: z.string().min(1),
  messages: z.tuple([]),
});
