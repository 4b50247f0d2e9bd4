// `POST /transaction` (data-plane reference §5). The scanner of the protocol package reads these bodies.

import { z } from 'zod';
import { AckItem } from './ack.ts';
import { Uuid } from './fields.ts';
import { PushItem } from './push.ts';

/** An item of a transaction; here a trace id is kept. */
const TransactionItem = PushItem.extend({
  traceId: z.string().nullish().describe('Kept when it is a UUID.'),
});

/** Pushes, in a list or one inline. */
export const PushOperation = z.union([
  z.object({ type: z.literal('push'), items: z.array(TransactionItem) }),
  TransactionItem.extend({ type: z.literal('push') }),
]);

/** One acknowledgement; the group is its own. */
export const AckOperation = AckItem.extend({
  type: z.literal('ack'),
  consumerGroup: z.string().nullish(),
});

/** The body: everything or nothing. */
export const TransactionBody = z.object({
  operations: z.array(z.union([PushOperation, AckOperation])),
  requiredLeases: z
    .array(z.string())
    .optional()
    .describe(
      'When it and the acks name exactly one lease, that fences every ack without its own.',
    ),
});

/** What became of one part. */
export const TransactionResult = z.union([
  z.object({
    index: z.int().min(0),
    type: z.literal('push'),
    success: z.literal(true),
    transactionId: z.string(),
    messageId: Uuid,
    queueName: z.string(),
    duplicate: z.literal(true).optional().describe('A repeat inside this call.'),
  }),
  z.object({
    index: z.int().min(0),
    type: z.literal('ack'),
    success: z.boolean(),
    transactionId: z.string(),
    error: z.string().nullable(),
    dlq: z.boolean(),
  }),
]);

/** Everything was done. */
export const Committed = z.object({
  transactionId: Uuid.describe('Of the call; no key for repeats.'),
  success: z.literal(true),
  results: z.array(TransactionResult).describe('One a part; each pushed item is one.'),
});

/** Nothing was done. */
export const RolledBack = z.object({
  transactionId: Uuid,
  success: z.literal(false),
  reason: z
    .string()
    .min(1)
    .describe('`rejected_ack`, `duplicate`, `too_large`, `bad_request`, `not_supported`, …'),
  error: z.string().min(1),
  results: z.tuple([]),
});

/** The answer of 200. */
export const TransactionAnswer = z.union([Committed, RolledBack]);
