// `POST /ack` and `/ack/batch` (data-plane reference §3). The scanner of the protocol package reads these
// bodies: what does not fit the description of an item fails that item, not the request.

import { z } from 'zod';

/** One acknowledgement. */
export const AckItem = z.object({
  transactionId: z.string(),
  partitionId: z.string().describe('As it was popped, or its decimal number.'),
  leaseId: z
    .string()
    .nullish()
    .describe(
      'Fences the ack: it then counts only under this lease. Absent, null and "": unfenced.',
    ),
  status: z
    .string()
    .nullish()
    .describe(
      '`completed` (also `success`, `acked`, `ok`, or absent), `failed`, `retry` or `dlq`.',
    ),
  error: z.string().nullish().describe('Kept with a dead letter.'),
});

const ConsumerGroup = z.string().nullish().describe('Absent or null: queue mode.');

/** One acknowledgement alone. */
export const SingleAckBody = AckItem.extend({ consumerGroup: ConsumerGroup });

/** Acknowledgements in the batch form, of one group. */
export const BatchAckBody = z.object({
  acknowledgments: z.array(AckItem),
  consumerGroup: ConsumerGroup,
});

/** Either path takes either form. */
export const AckBody = z.union([BatchAckBody, SingleAckBody]);

/** What became of one item. */
export const AckVerdict = z.object({
  index: z.int().min(0),
  transactionId: z.string(),
  success: z.boolean(),
  error: z.string().nullable(),
  leaseReleased: z.boolean().describe('The lease of its partition ended with this call.'),
  dlq: z.boolean().describe('Its partition filed a dead letter.'),
  noop: z.boolean().describe('It was acknowledged before.'),
});

/** One verdict an item, in the order of the request. */
export const AckAnswer = z.array(AckVerdict);
