// Answers of the message routes (data-plane reference §10).

import { z } from 'zod';
import { QueueOptions } from './configure.ts';
import { Count, Microseconds, Milliseconds, Offset, PartitionId, Payload, Uuid } from './fields.ts';

const Status = z.enum(['pending', 'processing', 'completed', 'dead_letter']);

const Mode = z.object({
  hasQueueMode: z.boolean(),
  busGroupsCount: Count,
  type: z.enum(['none', 'queue', 'bus', 'hybrid']),
});

/** One message of the listing. */
export const MessageRow = z.object({
  id: Uuid,
  transactionId: z.string(),
  txnHash: z.string().regex(/^[0-9a-f]{32}$/),
  data: Payload,
  payload: Payload,
  traceId: Uuid.nullable(),
  producerSub: z.string().nullable(),
  createdAt: Microseconds,
  offset: Offset,
  queue: z.string(),
  partition: z.string(),
  partitionId: PartitionId,
  status: Status,
  queueStatus: Status,
  busStatus: z.object({ consumedBy: Count, totalGroups: Count }),
  queuePath: z.string(),
  namespace: z.string(),
  task: z.string(),
  queuePriority: z.int(),
  payloadAvailable: z.boolean().describe('False when the page has no room for it.'),
  leaseExpiresAt: Milliseconds.nullable(),
  segment: z.object({ seq: Count, frameIdx: Count }),
  isEncrypted: z.boolean(),
});

/** A page, newest first. */
export const MessageList = z.object({
  messages: z.array(MessageRow),
  total: Count.describe('Rows of this page.'),
  pagination: z.object({ limit: Count, offset: Count }),
  mode: Mode,
});

/** One message with what became of it. */
export const MessageDetail = z.object({
  id: Uuid,
  transactionId: z.string(),
  data: Payload,
  payload: Payload,
  traceId: Uuid.nullable(),
  producerSub: z.string().nullable(),
  createdAt: Microseconds,
  partitionId: PartitionId,
  partition: z.string(),
  queue: z.string(),
  queuePath: z.string(),
  namespace: z.string(),
  task: z.string(),
  status: Status,
  errorMessage: z.string().nullable(),
  retryCount: Count,
  isEncrypted: z.boolean(),
  queueConfig: QueueOptions,
  mode: Mode,
  consumerGroups: z.array(
    z.object({
      name: z.string(),
      committed: z.int().min(-1),
      consumed: z.boolean(),
      leaseExpiresAt: Milliseconds.nullable(),
    }),
  ),
});
