// `POST /push` (data-plane reference §1). The scanner of the protocol package reads these bodies; the
// schema describes them, and a test holds the two to each other.

import { ERRORS } from '@queen-ts/protocol';
import type { ErrorCode } from '@queen-ts/protocol';
import { z } from 'zod';
import { Offset, Uuid } from './fields.ts';

/** A value that may be anything but must be there. */
const AnyValue = z.unknown().refine((value) => value !== undefined, 'is missing');

/** One message to be stored. */
export const PushItem = z.object({
  queue: z.string().min(1).describe('Created with defaults when it does not exist.'),
  partition: z
    .string()
    .nullish()
    .describe('Absent, null and "" mean `Default`. Created when it does not exist.'),
  payload: AnyValue.describe('Any JSON value. Delivered as it is spelled here, byte by byte.'),
  transactionId: z
    .string()
    .nullish()
    .describe(
      'Identity of the message in its partition: a repeat is not stored again. Minted when absent.',
    ),
});

/** The body of a push. */
export const PushBody = z.object({ items: z.array(PushItem) });

const verdict = {
  index: z.int().min(0).describe('Position of the item in the request.'),
  message_id: Uuid,
  transaction_id: z.string(),
  queueName: z.string(),
};

/** What became of one item. */
export const PushVerdict = z.union([
  z.object({
    ...verdict,
    status: z.enum(['queued', 'duplicate']),
    offset: Offset,
  }),
  z.object({
    ...verdict,
    status: z.literal('error'),
    error: z.string().min(1),
    code: z.enum(Object.keys(ERRORS) as ErrorCode[]),
  }),
]);

/** One verdict an item, in the order of the request. */
export const PushAnswer = z.array(PushVerdict);
