// Storing messages: push and transaction.

import { PushAnswer, PushBody } from '../../schemas/push.ts';
import { RolledBack, TransactionAnswer, TransactionBody } from '../../schemas/transaction.ts';
import { LEASE_ID, MESSAGE_ID, PARTITION_ID } from '../examples.ts';
import { STORE_ERRORS } from '../operation.ts';
import type { Operation } from '../operation.ts';

/** The operations. */
export const PUSH_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/api/v1/push',
    id: 'push',
    section: 'Push',
    summary: 'Stores messages, each at the end of its partition.',
    description:
      'Items of one queue and partition become one append with offsets in request order; appends of ' +
      'several partitions are independent. Queues and partitions are created as needed. A repeated ' +
      '`transactionId` inside the dedup window is answered `duplicate` with the first message.',
    takesIdempotencyKey: true,
    body: {
      schema: PushBody,
      isRequired: true,
      examples: {
        'one message': {
          items: [{ queue: 'orders', partition: 'cust-42', payload: { total: 9.5 } }],
        },
        'safe to repeat': {
          items: [{ queue: 'orders', payload: 'hello', transactionId: 'order-1001' }],
        },
      },
    },
    answers: {
      201: {
        description: 'One verdict an item; an item with `status` `error` was not stored.',
        schema: PushAnswer,
        example: [
          {
            index: 0,
            message_id: MESSAGE_ID,
            transaction_id: 'order-1001',
            queueName: 'orders',
            status: 'queued',
            offset: 0,
          },
        ],
      },
    },
    errors: [...STORE_ERRORS, 'maintenance'],
  },
  {
    method: 'post',
    path: '/api/v1/transaction',
    id: 'transaction',
    section: 'Transaction',
    summary: 'Acknowledges and pushes, everything or nothing.',
    description:
      'One log entry. An ack with a lease counts only while the lease lives and holds its message; ' +
      'otherwise everything is rolled back. `kv`, `timers` and `positions` are not available.',
    takesIdempotencyKey: true,
    body: {
      schema: TransactionBody,
      isRequired: true,
      examples: {
        'move one message on': {
          operations: [
            {
              type: 'ack',
              transactionId: 'order-1001',
              partitionId: PARTITION_ID,
              leaseId: LEASE_ID,
            },
            { type: 'push', items: [{ queue: 'invoices', payload: { order: 1001 } }] },
          ],
        },
      },
    },
    answers: {
      200: {
        description: 'Committed, or rolled back with a `reason` and nothing changed.',
        schema: TransactionAnswer,
        example: {
          transactionId: MESSAGE_ID,
          success: true,
          results: [
            {
              index: 0,
              type: 'ack',
              success: true,
              transactionId: 'order-1001',
              error: null,
              dlq: false,
            },
            {
              index: 1,
              type: 'push',
              success: true,
              transactionId: MESSAGE_ID,
              messageId: MESSAGE_ID,
              queueName: 'invoices',
            },
          ],
        },
      },
      400: {
        description: 'The request itself is wrong; nothing changed.',
        schema: RolledBack,
        example: {
          transactionId: MESSAGE_ID,
          success: false,
          reason: 'bad_request',
          error: 'operations[0].type is missing: "push" or "ack"',
          results: [],
        },
      },
    },
    errors: [...STORE_ERRORS, 'maintenance'],
  },
];
