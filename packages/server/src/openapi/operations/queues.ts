// Queues: configuration, listings, deletion, and counts over many.

import { ConfigureAnswer, ConfigureBody } from '../../schemas/configure.ts';
import { PlainError } from '../../schemas/errors.ts';
import {
  BusiestPartitions,
  DeleteQueueAnswer,
  NamespaceList,
  Overview,
  QueueDepth,
  QueueDetail,
  QueueListing,
  QueueSizes,
  RefreshAnswer,
  TaskList,
} from '../../schemas/queues.ts';
import {
  COUNTS,
  MICROSECONDS,
  MILLISECONDS,
  PARTITION_ID,
  QUEUE_ID,
  QUEUE_OPTIONS,
} from '../examples.ts';
import { BAD_QUERY, pageParameters, READ_ERRORS, textFilter, WRITE_ERRORS } from '../operation.ts';
import type { AnswerShape, Operation } from '../operation.ts';

const QUEUE = '/api/v1/resources/queues/{queue}';
const PARTITION_PAGE = pageParameters({ limitDefault: 10_000, limitMax: 10_000 });

const NO_QUEUE: AnswerShape = {
  description: 'No such queue.',
  schema: PlainError,
  example: { error: 'Queue not found' },
};

const QUEUE_ROW = {
  id: QUEUE_ID,
  name: 'orders',
  queue: 'orders',
  namespace: 'orders',
  task: '',
  storage: 'segments',
  partitions: 2,
  segments: { segments: 3, messages: 12 },
  messages: COUNTS,
  retainedBytes: 4096,
  options: QUEUE_OPTIONS,
  createdAt: MICROSECONDS,
};

const READ = { method: 'get', section: 'Queues', errors: READ_ERRORS } as const;

const CONFIGURE: Operation = {
  method: 'post',
  path: '/api/v1/configure',
  id: 'configure',
  section: 'Queues',
  summary: 'Creates a queue or changes its options.',
  takesIdempotencyKey: true,
  body: {
    schema: ConfigureBody,
    isRequired: true,
    examples: {
      'shorter leases': { queue: 'orders', options: { leaseTime: 30, retryLimit: 5 } },
      'start over': { queue: 'orders', options: { retentionEnabled: true }, mode: 'replace' },
    },
  },
  answers: {
    200: {
      description: 'The queue as it is now.',
      schema: ConfigureAnswer,
      example: {
        configured: true,
        queueId: QUEUE_ID,
        partitionId: null,
        queue: 'orders',
        namespace: '',
        task: '',
        storage: 'segments',
        options: QUEUE_OPTIONS,
      },
    },
  },
  errors: [...WRITE_ERRORS, 'storage_full'],
};

const QUEUE_READS: readonly Operation[] = [
  {
    ...READ,
    path: '/api/v1/resources/queues',
    id: 'listQueues',
    summary: 'Lists queues, newest first.',
    query: [
      textFilter('namespace', 'Only queues with this namespace.'),
      textFilter('task', 'Only queues with this task.'),
      textFilter('search', 'Only queues whose name has this in it.'),
      {
        name: 'limit',
        description: 'Most rows; absent: all.',
        schema: { type: 'integer', minimum: 0 },
      },
      {
        name: 'offset',
        description: 'Rows to skip.',
        schema: { type: 'integer', minimum: 0, default: 0 },
      },
      { name: 'stats', description: '`lanes`: the short listing.', schema: { type: 'string' } },
    ],
    answers: {
      200: {
        description: 'The listing; the short one with `stats=lanes`.',
        schema: QueueListing,
        example: { queues: [QUEUE_ROW], kvRows: 0, kvBytes: 0, timerRows: 0, timerBytes: 0 },
      },
      400: BAD_QUERY,
    },
  },
  {
    ...READ,
    path: QUEUE,
    id: 'showQueue',
    summary: 'Shows a queue with its partitions.',
    query: PARTITION_PAGE,
    answers: {
      200: {
        description: 'The queue.',
        schema: QueueDetail,
        example: {
          id: QUEUE_ID,
          name: 'orders',
          namespace: 'orders',
          task: '',
          createdAt: MICROSECONDS,
          options: QUEUE_OPTIONS,
          partitions: [
            {
              id: PARTITION_ID,
              name: 'cust-42',
              createdAt: MICROSECONDS,
              messages: COUNTS,
              stats: COUNTS,
              cursor: { totalConsumed: 7, batchesConsumed: 0 },
              lastActivity: MICROSECONDS,
              oldestMessage: MICROSECONDS,
              newestMessage: MICROSECONDS,
              retainedBytes: 4096,
            },
          ],
          segments: { segments: 3, messages: 12 },
          totals: {
            total: 12,
            pending: 5,
            processing: 1,
            completed: 7,
            failed: null,
            deadLetter: 0,
          },
          retainedBytes: 4096,
        },
      },
      400: BAD_QUERY,
      404: NO_QUEUE,
    },
  },
  {
    ...READ,
    path: `${QUEUE}/depth`,
    id: 'showQueueDepth',
    summary: 'Says how much a group has before it.',
    description: 'With every write that was answered before. For autoscalers.',
    query: [
      textFilter('group', 'Absent: the slowest named group, queue mode when there is none.'),
      ...PARTITION_PAGE,
    ],
    answers: {
      200: {
        description: 'The depth.',
        schema: QueueDepth,
        example: {
          queue: 'orders',
          group: 'billing',
          pending: 5,
          processing: 1,
          ready: 4,
          partitionsPending: 1,
          partitionsReady: 0,
          conflation: false,
          effectivePending: 5,
          effectiveReady: 4,
          partitions: [{ partition: 'cust-42', pending: 5, processing: 1, ready: 4 }],
        },
      },
      400: BAD_QUERY,
      404: NO_QUEUE,
    },
  },
  {
    ...READ,
    path: `${QUEUE}/sizes`,
    id: 'showQueueSizes',
    summary: 'Shows retained bytes by partition.',
    query: PARTITION_PAGE,
    answers: {
      200: {
        description: 'The sizes.',
        schema: QueueSizes,
        example: { queue: 'orders', partitions: { 'cust-42': 4096 } },
      },
      400: BAD_QUERY,
      404: NO_QUEUE,
    },
  },
];

const DELETE: Operation = {
  method: 'delete',
  path: QUEUE,
  id: 'deleteQueue',
  section: 'Queues',
  summary: 'Deletes a queue with everything in it.',
  description: 'The name is free again at once.',
  takesIdempotencyKey: true,
  answers: {
    200: {
      description: 'Also when there was no such queue.',
      schema: DeleteQueueAnswer,
      example: { deleted: true, existed: true, queue: 'orders' },
    },
  },
  errors: WRITE_ERRORS,
};

const ROLLUPS: readonly Operation[] = [
  {
    ...READ,
    path: '/api/v1/resources/namespaces',
    id: 'listNamespaces',
    summary: 'Counts queues and messages by namespace.',
    answers: {
      200: {
        description: 'The counts.',
        schema: NamespaceList,
        example: {
          namespaces: [
            { namespace: 'orders', queues: 1, partitions: 2, messages: { total: 12, pending: 4 } },
          ],
        },
      },
    },
  },
  {
    ...READ,
    path: '/api/v1/resources/tasks',
    id: 'listTasks',
    summary: 'Counts queues and messages by task.',
    answers: {
      200: {
        description: 'The counts.',
        schema: TaskList,
        example: {
          tasks: [{ task: 'mail', queues: 1, partitions: 2, messages: { total: 12, pending: 4 } }],
        },
      },
    },
  },
  {
    ...READ,
    path: '/api/v1/resources/overview',
    id: 'showOverview',
    summary: 'Counts everything.',
    answers: { 200: { description: 'The counts.', schema: Overview, example: overviewExample() } },
  },
  {
    ...READ,
    path: '/api/v1/resources/partitions',
    id: 'listBusiestPartitions',
    summary: 'Lists the partitions with the most to do.',
    query: [
      textFilter('queue', 'Only partitions of this queue.'),
      ...pageParameters({ limitDefault: 610, limitMax: 10_000 }).slice(0, 1),
    ],
    answers: {
      200: {
        description: 'The partitions, the busiest first.',
        schema: BusiestPartitions,
        example: {
          partitions: [
            {
              queue: 'orders',
              partition: 'cust-42',
              partitionId: PARTITION_ID,
              pending: 5,
              processing: 1,
              lagSeconds: 3,
            },
          ],
        },
      },
      400: BAD_QUERY,
    },
  },
  {
    method: 'post',
    path: '/api/v1/stats/refresh',
    id: 'refreshStats',
    section: 'Queues',
    summary: 'Does nothing: statistics are never stale.',
    answers: {
      200: {
        description: 'Always.',
        schema: RefreshAnswer,
        example: { success: true, refreshed: false, engine: 'raft' },
      },
    },
    errors: [],
  },
];

function overviewExample(): unknown {
  const range = { avg: 2, median: 0, min: 0, max: 5 };
  return {
    queues: 1,
    partitions: 2,
    namespaces: 1,
    tasks: 0,
    messages: { total: 12, pending: 4, processing: 1, completed: 7, failed: 0, deadLetter: 0 },
    lag: { time: range, offset: range },
    timestamp: MILLISECONDS,
    statsAge: 0,
  };
}

/** The operations. */
export const QUEUE_OPERATIONS: readonly Operation[] = [
  CONFIGURE,
  ...QUEUE_READS,
  DELETE,
  ...ROLLUPS,
];
