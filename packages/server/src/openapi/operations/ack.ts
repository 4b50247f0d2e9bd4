// Settling what was popped: acknowledgements and lease extensions.

import { AckAnswer, AckBody } from '../../schemas/ack.ts';
import { ExtendAnswer, ExtendBody } from '../../schemas/lease.ts';
import { LEASE_ID, MILLISECONDS, PARTITION_ID } from '../examples.ts';
import { WRITE_ERRORS } from '../operation.ts';
import type { Operation } from '../operation.ts';

const ACK_DESCRIPTION =
  'Both paths take both forms. Messages of a partition below the highest completed one count as ' +
  'completed too. An item that cannot be settled fails alone, with an `error`.';

const ack = {
  method: 'post',
  section: 'Acknowledge',
  description: ACK_DESCRIPTION,
  takesIdempotencyKey: true,
  body: {
    schema: AckBody,
    isRequired: true,
    examples: {
      'a batch': {
        acknowledgments: [
          { transactionId: 'order-1001', partitionId: PARTITION_ID, leaseId: LEASE_ID },
          {
            transactionId: 'order-1002',
            partitionId: PARTITION_ID,
            leaseId: LEASE_ID,
            status: 'failed',
            error: 'no stock',
          },
        ],
        consumerGroup: 'billing',
      },
      'one alone': {
        transactionId: 'order-1001',
        partitionId: PARTITION_ID,
        leaseId: LEASE_ID,
        status: 'completed',
      },
    },
  },
  answers: {
    200: {
      description: 'One verdict an item, in request order.',
      schema: AckAnswer,
      example: [
        {
          index: 0,
          transactionId: 'order-1001',
          success: true,
          error: null,
          leaseReleased: true,
          dlq: false,
          noop: false,
        },
      ],
    },
  },
  errors: [...WRITE_ERRORS, 'storage_full'],
} as const satisfies Partial<Operation>;

/** The operations. */
export const ACK_OPERATIONS: readonly Operation[] = [
  { ...ack, path: '/api/v1/ack', id: 'ack', summary: 'Acknowledges messages.' },
  { ...ack, path: '/api/v1/ack/batch', id: 'ackBatch', summary: 'Acknowledges many messages.' },
  {
    method: 'post',
    path: '/api/v1/lease/{leaseId}/extend',
    id: 'extendLease',
    section: 'Acknowledge',
    summary: 'Makes a live lease last longer.',
    description: 'Every partition of the pop. A lease that is over is not revived.',
    takesIdempotencyKey: true,
    body: {
      schema: ExtendBody,
      isRequired: false,
      examples: { 'two minutes from now': { seconds: 120 } },
    },
    answers: {
      200: {
        description: '`renewed` is 0 and `success` false when no such lease lives.',
        schema: ExtendAnswer,
        example: {
          leaseId: LEASE_ID,
          success: true,
          renewed: 1,
          newExpiresAt: MILLISECONDS,
          expiresAt: MILLISECONDS,
          lease_expires_at: MILLISECONDS,
        },
      },
    },
    errors: WRITE_ERRORS,
  },
];
