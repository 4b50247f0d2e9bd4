// Reads that take nothing: messages, and records by offset.

import { PlainError } from '../../schemas/errors.ts';
import { MessageDetail, MessageList } from '../../schemas/messages.ts';
import {
  ChangedAnswer,
  ChangedBody,
  FetchAnswer,
  FetchBody,
  OffsetsAnswer,
  OffsetsBody,
} from '../../schemas/offset-reads.ts';
import {
  MESSAGE_ID,
  MICROSECONDS,
  MILLISECONDS,
  PARTITION_ID,
  QUEUE_OPTIONS,
} from '../examples.ts';
import {
  BAD_QUERY,
  BODY_READ_ERRORS,
  KEY_ERRORS,
  pageParameters,
  READ_ERRORS,
  textFilter,
} from '../operation.ts';
import type { Operation } from '../operation.ts';

const MODE = { hasQueueMode: false, busGroupsCount: 1, type: 'bus' };

const SHOWN = {
  id: MESSAGE_ID,
  transactionId: 'order-1001',
  data: { total: 9.5 },
  payload: { total: 9.5 },
  traceId: null,
  producerSub: null,
  createdAt: MICROSECONDS,
  partitionId: PARTITION_ID,
  partition: 'cust-42',
  queue: 'orders',
  queuePath: 'orders/cust-42',
  namespace: 'orders',
  task: '',
  status: 'pending',
  isEncrypted: false,
};

const MESSAGES: readonly Operation[] = [
  {
    method: 'get',
    path: '/api/v1/messages',
    id: 'listMessages',
    section: 'Messages',
    summary: 'Lists messages of a range of time, newest first.',
    query: [
      textFilter('queue', 'Only those of this queue.'),
      textFilter('partition', 'Only those of partitions with this name.'),
      textFilter('namespace', 'Only those of queues with this namespace.'),
      textFilter('task', 'Only those of queues with this task.'),
      textFilter('status', '`pending`, `processing`, `completed` or `dead_letter`.'),
      {
        name: 'from',
        description: 'ISO 8601 time, inclusive; default: an hour ago.',
        schema: { type: 'string', format: 'date-time' },
      },
      {
        name: 'to',
        description: 'ISO 8601 time, up to the end of its minute; default: now.',
        schema: { type: 'string', format: 'date-time' },
      },
      ...pageParameters({ limitDefault: 200, limitMax: 1000 }),
    ],
    answers: {
      200: {
        description: 'A page.',
        schema: MessageList,
        example: {
          messages: [
            {
              ...SHOWN,
              txnHash: '00112233445566778899aabbccddeeff',
              offset: 17,
              queueStatus: 'pending',
              busStatus: { consumedBy: 0, totalGroups: 1 },
              queuePriority: 0,
              payloadAvailable: true,
              leaseExpiresAt: null,
              segment: { seq: 42, frameIdx: 0 },
            },
          ],
          total: 1,
          pagination: { limit: 200, offset: 0 },
          mode: MODE,
        },
      },
      400: BAD_QUERY,
    },
    errors: READ_ERRORS,
  },
  {
    method: 'get',
    path: '/api/v1/messages/{partitionId}/{transactionId}',
    id: 'showMessage',
    section: 'Messages',
    summary: 'Shows one message with what became of it.',
    answers: {
      200: {
        description: 'The first message with this transaction id in the partition.',
        schema: MessageDetail,
        example: {
          ...SHOWN,
          errorMessage: null,
          retryCount: 0,
          queueConfig: QUEUE_OPTIONS,
          mode: MODE,
          consumerGroups: [
            { name: 'billing', committed: 16, consumed: false, leaseExpiresAt: null },
          ],
        },
      },
      404: {
        description: 'No message has this address.',
        schema: PlainError,
        example: { error: 'Message not found' },
      },
    },
    errors: [...READ_ERRORS, ...KEY_ERRORS],
  },
];

const READ = { method: 'post', section: 'Reads by offset', errors: BODY_READ_ERRORS } as const;

const OFFSET_READS: readonly Operation[] = [
  {
    ...READ,
    path: '/api/v1/fetch',
    id: 'fetch',
    errors: [...BODY_READ_ERRORS, ...KEY_ERRORS],
    summary: 'Reads messages from an offset on, without cursor or lease.',
    description: 'Waits up to `maxWaitMs` until there are `minBytes`. Reads what this node has.',
    body: {
      schema: FetchBody,
      isRequired: true,
      examples: {
        'wait for news': {
          entries: [{ queue: 'orders', partition: 'cust-42', offset: 17 }],
          maxWaitMs: 5000,
        },
      },
    },
    answers: {
      200: {
        description: 'Records of each entry, or why it has none.',
        schema: FetchAnswer,
        example: {
          entries: [
            {
              queue: 'orders',
              partition: 'cust-42',
              records: [
                {
                  offset: 17,
                  transactionId: 'order-1001',
                  payload: { total: 9.5 },
                  ts: MICROSECONDS,
                },
              ],
              highWatermark: 18,
              logStartOffset: 0,
            },
          ],
        },
      },
    },
  },
  {
    ...READ,
    path: '/api/v1/fetch/offsets',
    id: 'findOffsets',
    summary: 'Finds the first offset at or after a time.',
    body: {
      schema: OffsetsBody,
      isRequired: true,
      examples: {
        'a time as text': {
          entries: [{ queue: 'orders', partition: 'cust-42', timestamp: MILLISECONDS }],
        },
        'milliseconds since the epoch': {
          entries: [{ queue: 'orders', timestamp: 1_790_000_000_000 }],
        },
      },
    },
    answers: {
      200: {
        description: 'One offset an entry.',
        schema: OffsetsAnswer,
        example: {
          entries: [
            {
              queue: 'orders',
              partition: 'cust-42',
              offset: 17,
              ts: MICROSECONDS,
              highWatermark: 18,
              logStartOffset: 0,
            },
          ],
        },
      },
    },
  },
  {
    ...READ,
    path: '/api/v1/partitions/changed',
    id: 'listChangedPartitions',
    summary: 'Lists partitions that were written to since a time, page by page.',
    body: {
      schema: ChangedBody,
      isRequired: true,
      examples: { 'since a time': { entries: [{ queue: 'orders', since: MILLISECONDS }] } },
    },
    answers: {
      200: {
        description: 'A page an entry, or why it has none.',
        schema: ChangedAnswer,
        example: {
          safeTime: MICROSECONDS,
          safeTimeDegraded: false,
          entries: [
            {
              queue: 'orders',
              partitions: [
                {
                  id: PARTITION_ID,
                  name: 'cust-42',
                  lastOffset: 17,
                  logStart: 0,
                  lastWriteAt: MICROSECONDS,
                },
              ],
              next: null,
            },
          ],
        },
      },
    },
  },
];

/** The operations. */
export const MESSAGE_OPERATIONS: readonly Operation[] = [...MESSAGES, ...OFFSET_READS];
