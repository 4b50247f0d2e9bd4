// Consumer groups: what they are, how far they are, and moving them.

import {
  DeletedGroup,
  GroupDetail,
  GroupList,
  LaggingList,
  PositionsAnswer,
  PositionsBody,
  SeekAnswer,
  SeekBody,
  SeekNotFound,
  SubscriptionAnswer,
  SubscriptionBody,
} from '../../schemas/consumer-groups.ts';
import { PlainError, Unsuccessful } from '../../schemas/errors.ts';
import { LEASE_ID, MICROSECONDS, MILLISECONDS, PARTITION_ID } from '../examples.ts';
import { BAD_QUERY, BODY_READ_ERRORS, READ_ERRORS, WRITE_ERRORS } from '../operation.ts';
import type { Operation, QueryParameter } from '../operation.ts';

const GROUP = '/api/v1/consumer-groups/{group}';
/** The router knows these only as names of groups. */
const GROUP_ROUTE = '/api/v1/consumer-groups/:group';

const READ = { method: 'get', section: 'Consumer groups', errors: READ_ERRORS } as const;

const READS: readonly Operation[] = [
  {
    ...READ,
    path: '/api/v1/consumer-groups',
    id: 'listGroups',
    summary: 'Lists groups by queue.',
    description: 'Queue mode is the group `__QUEUE_MODE__`.',
    answers: {
      200: {
        description: 'One row a group and queue, by group, then by queue.',
        schema: GroupList,
        example: [
          {
            name: 'billing',
            topics: ['orders'],
            queueName: 'orders',
            members: 2,
            partitionCursors: 2,
            partitionsWithLag: 1,
            totalLag: 5,
            maxTimeLag: 12,
            state: 'Stable',
            storage: 'segments',
            kind: 'queen',
            subscriptionMode: 'all',
            subscriptionTimestamp: '1970-01-01T00:00:00.000000Z',
            subscriptionCreatedAt: MICROSECONDS,
            conflation: false,
          },
        ],
      },
    },
  },
  {
    ...READ,
    path: GROUP,
    id: 'showGroup',
    summary: 'Shows a group’s cursors by queue.',
    answers: {
      200: {
        description: 'The cursors.',
        schema: GroupDetail,
        example: {
          orders: {
            conflation: false,
            kind: 'queen',
            partitions: [
              {
                partition: 'cust-42',
                workerId: LEASE_ID,
                lastConsumedAt: null,
                totalConsumed: 17,
                offsetLag: 5,
                timeLagSeconds: 12,
                leaseActive: true,
              },
            ],
          },
        },
      },
      404: {
        description: 'The group has no cursor anywhere.',
        schema: PlainError,
        example: { error: 'Consumer group not found' },
      },
    },
  },
  {
    ...READ,
    path: '/api/v1/consumer-groups/lagging',
    routePath: GROUP_ROUTE,
    id: 'listLagging',
    summary: 'Lists cursors that are far behind, the oldest first.',
    description: 'A group of the name `lagging` is shown by `/consumer-groups/%6Cagging`.',
    query: [
      {
        name: 'minLagSeconds',
        description: 'Only those that are more than this behind.',
        schema: { type: 'integer', default: 3600 },
      },
      { name: 'limit', description: 'Most rows.', schema: { type: 'integer', default: 10_000 } },
    ],
    answers: {
      200: {
        description: 'The cursors.',
        schema: LaggingList,
        example: [
          {
            consumer_group: 'billing',
            queue_name: 'orders',
            partition_name: 'cust-42',
            partition_id: PARTITION_ID,
            worker_id: null,
            kind: 'queen',
            offset_lag: 5,
            time_lag_seconds: 7200,
            lag_hours: 2,
            oldest_unconsumed_at: MILLISECONDS,
            last_consumed_at: null,
          },
        ],
      },
      400: BAD_QUERY,
    },
  },
  {
    method: 'post',
    path: '/api/v1/consumer-groups/positions',
    routePath: GROUP_ROUTE,
    id: 'listPositions',
    section: 'Consumer groups',
    summary: 'Says which offset a group reads next.',
    description: 'With every write that was answered before.',
    body: {
      schema: PositionsBody,
      isRequired: true,
      examples: {
        'one partition': {
          consumerGroup: 'billing',
          entries: [{ queue: 'orders', partition: 'cust-42' }],
        },
        'all of the group': { consumerGroup: 'billing' },
      },
    },
    answers: {
      200: {
        description: 'One position an entry.',
        schema: PositionsAnswer,
        example: {
          consumerGroup: 'billing',
          entries: [{ queue: 'orders', partition: 'cust-42', offset: 17, metadata: '' }],
        },
      },
    },
    errors: BODY_READ_ERRORS,
  },
];

const DELETE_METADATA: QueryParameter = {
  name: 'deleteMetadata',
  description: '`false` keeps the registration, so that the group stays where it was subscribed.',
  schema: { type: 'string', default: 'true' },
};

const DELETE = {
  method: 'delete',
  takesIdempotencyKey: true,
  section: 'Consumer groups',
  query: [DELETE_METADATA],
  errors: WRITE_ERRORS,
} as const;

const DELETED = {
  success: true,
  consumerGroup: 'billing',
  queueName: null,
  deletedPartitions: 2,
  metadataDeleted: true,
  queues: ['orders'],
};

const SEEK = {
  method: 'post',
  takesIdempotencyKey: true,
  section: 'Consumer groups',
  description:
    'To the end, or before the first append at or after a time. Live leases are dropped; ' +
    'cursors are made where there are none. An empty body means the end.',
  body: {
    schema: SeekBody,
    isRequired: false,
    examples: { 'to the end': { toEnd: true }, 'to a time': { timestamp: MILLISECONDS } },
  },
  answers: {
    200: {
      description: 'Moved.',
      schema: SeekAnswer,
      example: {
        success: true,
        consumerGroup: 'billing',
        queueName: 'orders',
        partitionName: null,
        seekToEnd: true,
        targetTimestamp: null,
        partitionsUpdated: 2,
        updated: true,
      },
    },
    400: {
      description: 'The body names no target.',
      schema: Unsuccessful,
      example: { success: false, error: 'send {"toEnd":true} or {"timestamp":"<ISO 8601 time>"}' },
    },
    404: {
      description: 'No such queue or partition.',
      schema: SeekNotFound,
      example: {
        success: false,
        error: 'Queue not found',
        consumerGroup: 'billing',
        queueName: 'orders',
        partitionsUpdated: 0,
      },
    },
  },
  errors: [...WRITE_ERRORS, 'storage_full'],
} as const satisfies Partial<Operation>;

const CHANGES: readonly Operation[] = [
  {
    ...DELETE,
    path: GROUP,
    id: 'deleteGroup',
    summary: 'Deletes a group from all queues.',
    answers: {
      200: {
        description: 'Also when there was nothing to delete.',
        schema: DeletedGroup,
        example: DELETED,
      },
    },
  },
  {
    ...DELETE,
    path: `${GROUP}/queues/{queue}`,
    id: 'deleteGroupFromQueue',
    summary: 'Deletes a group from one queue.',
    answers: {
      200: {
        description: 'Also when there was nothing to delete.',
        schema: DeletedGroup,
        example: { ...DELETED, queueName: 'orders' },
      },
    },
  },
  {
    method: 'post',
    path: `${GROUP}/subscription`,
    id: 'subscribe',
    takesIdempotencyKey: true,
    section: 'Consumer groups',
    summary: 'Changes where a group starts in partitions it has not read.',
    body: {
      schema: SubscriptionBody,
      isRequired: true,
      examples: { 'from a time on': { subscriptionTimestamp: MILLISECONDS } },
    },
    answers: {
      200: {
        description: 'Changed on every queue where the group is registered.',
        schema: SubscriptionAnswer,
        example: {
          success: true,
          consumerGroup: 'billing',
          newTimestamp: MILLISECONDS,
          rowsUpdated: 1,
        },
      },
    },
    errors: [...WRITE_ERRORS, 'storage_full'],
  },
  {
    ...SEEK,
    path: `${GROUP}/queues/{queue}/seek`,
    id: 'seekQueue',
    summary: 'Moves a group in all partitions of a queue.',
  },
  {
    ...SEEK,
    path: `${GROUP}/queues/{queue}/partitions/{partition}/seek`,
    id: 'seekPartition',
    summary: 'Moves a group in one partition.',
  },
];

/** The operations. */
export const GROUP_OPERATIONS: readonly Operation[] = [...READS, ...CHANGES];
