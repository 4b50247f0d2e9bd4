// Dead letters: list, replay, removal.

import { Unsuccessful } from '../../schemas/errors.ts';
import {
  DeadLetterList,
  DeletedMessage,
  MessageNotDeleted,
  PurgeAnswer,
  PurgeRefused,
  ReplayAnswer,
  ReplayBody,
  ReplayGone,
  ReplayRefused,
} from '../../schemas/dead-letters.ts';
import { DEAD_LETTER_ID, MESSAGE_ID, MICROSECONDS, PARTITION_ID } from '../examples.ts';
import {
  BAD_QUERY,
  KEY_ERRORS,
  pageParameters,
  READ_ERRORS,
  textFilter,
  WRITE_ERRORS,
} from '../operation.ts';
import type { Operation } from '../operation.ts';

const MESSAGE = '/api/v1/messages/{partitionId}/{transactionId}';

const REPLAY = {
  method: 'post',
  section: 'Dead letters',
  takesIdempotencyKey: true,
  description:
    'One step: a copy at the end of the destination, under the transaction id `dlq:<id>`, and the ' +
    'dead letter is gone. Without a body it goes back to where it came from.',
  body: {
    schema: ReplayBody,
    isRequired: false,
    examples: { 'to another queue': { queue: 'orders-retry' }, 'to where it was': {} },
  },
  answers: {
    200: {
      description: 'Moved; or a duplicate of an earlier move, and the dead letter stays.',
      schema: ReplayAnswer,
      example: {
        success: true,
        result: 'moved',
        queue: 'orders',
        partition: 'cust-42',
        consumerGroup: 'billing',
        dlqId: DEAD_LETTER_ID,
        originalTransactionId: 'order-1001',
        replayedAs: {
          index: 0,
          message_id: MESSAGE_ID,
          transaction_id: `dlq:${DEAD_LETTER_ID}`,
          queueName: 'orders',
          status: 'queued',
          offset: 18,
        },
        dlqRowRemoved: true,
      },
    },
    400: {
      description: 'The body names no destination.',
      schema: Unsuccessful,
      example: {
        success: false,
        error: 'the body must be {} or {"queue"?, "partition"?} with names that are not empty',
      },
    },
    404: {
      description: 'Unknown, or moved before.',
      schema: ReplayGone,
      example: { success: false, result: 'gone', error: 'Dead letter not found' },
    },
    409: {
      description: 'The destination refuses it; the dead letter stays.',
      schema: ReplayRefused,
      example: {
        success: false,
        error: 'the entry is too large',
        reason: 'too_large',
        dlqRowRemoved: false,
      },
    },
  },
  errors: [...WRITE_ERRORS, ...KEY_ERRORS, 'storage_full'],
} as const satisfies Partial<Operation>;

/** The operations. */
export const DEAD_LETTER_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/api/v1/dlq',
    id: 'listDeadLetters',
    section: 'Dead letters',
    summary: 'Lists dead letters, newest failure first.',
    query: [
      textFilter('queue', 'Only those of this queue.'),
      textFilter('consumerGroup', 'Only those of this group.'),
      ...pageParameters({ limitDefault: 100, limitMax: 1000 }),
    ],
    answers: {
      200: {
        description: 'A page; shorter than `limit` when the payloads are large.',
        schema: DeadLetterList,
        example: {
          messages: [
            {
              id: DEAD_LETTER_ID,
              queue: 'orders',
              partition: 'cust-42',
              partitionId: PARTITION_ID,
              createdAt: MICROSECONDS,
              consumerGroup: 'billing',
              offset: 17,
              messageId: MESSAGE_ID,
              transactionId: 'order-1001',
              data: { total: 9.5 },
              payload: { total: 9.5 },
              errorMessage: 'no stock',
              retryCount: 3,
              failedAt: MICROSECONDS,
            },
          ],
          total: 1,
          pagination: { limit: 100, offset: 0 },
        },
      },
      400: BAD_QUERY,
    },
    errors: [...READ_ERRORS, ...KEY_ERRORS],
  },
  {
    method: 'delete',
    path: '/api/v1/dlq',
    id: 'purgeDeadLetters',
    section: 'Dead letters',
    summary: 'Removes the dead letters of a queue.',
    takesIdempotencyKey: true,
    query: [
      { ...textFilter('queue', 'The queue.'), isRequired: true },
      textFilter('consumerGroup', 'Only those of this group.'),
    ],
    answers: {
      200: {
        description: 'Removed.',
        schema: PurgeAnswer,
        example: { success: true, queue: 'orders', consumerGroup: null, deleted: 3 },
      },
      400: {
        description: 'No queue was named.',
        schema: PurgeRefused,
        example: {
          success: false,
          error: 'queue is required',
          message: 'name the queue whose dead letters are to be removed',
        },
      },
    },
    errors: WRITE_ERRORS,
  },
  {
    ...REPLAY,
    path: '/api/v1/dlq/{id}/replay',
    id: 'replayDeadLetter',
    summary: 'Moves a dead letter to the end of a queue.',
  },
  {
    ...REPLAY,
    path: `${MESSAGE}/retry`,
    id: 'retryMessage',
    summary: 'Moves the first dead letter of a message to the end of a queue.',
  },
  {
    method: 'delete',
    path: MESSAGE,
    id: 'deleteMessage',
    section: 'Dead letters',
    summary: 'Removes the dead letters of a message, of all groups.',
    takesIdempotencyKey: true,
    description: 'A live message cannot be deleted.',
    answers: {
      200: {
        description: 'Removed.',
        schema: DeletedMessage,
        example: {
          success: true,
          partitionId: PARTITION_ID,
          transactionId: 'order-1001',
          deleted: 1,
        },
      },
      404: {
        description: 'No dead letter has this address.',
        schema: MessageNotDeleted,
        example: {
          success: false,
          partitionId: PARTITION_ID,
          transactionId: 'order-1001',
          error: 'Message not found',
          message: 'no dead letter has this address, and live messages cannot be deleted',
        },
      },
    },
    errors: WRITE_ERRORS,
  },
];
