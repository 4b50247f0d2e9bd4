// Taking messages: the three pop routes.

import { POP_BATCH_DEFAULT, POP_TIMEOUT_MS_MAX } from '@queen-ts/protocol';
import { PopAnswer, PopRefusal } from '../../schemas/pop.ts';
import { LEASE_ID, MESSAGE_ID, MICROSECONDS, PARTITION_ID } from '../examples.ts';
import type { AnswerShape, Operation, QueryParameter } from '../operation.ts';

const QUERY: readonly QueryParameter[] = [
  {
    name: 'batch',
    description: 'Most messages of the whole call; less than 1 counts as 1.',
    schema: { type: 'integer', default: POP_BATCH_DEFAULT },
  },
  {
    name: 'wait',
    description: 'Long poll: an empty pop waits until something comes or `timeout` is over.',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'timeout',
    description: `Milliseconds the call may take, up to ${POP_TIMEOUT_MS_MAX}. Default: the node's DEFAULT_TIMEOUT.`,
    schema: { type: 'integer', minimum: 0 },
  },
  {
    name: 'leaseSeconds',
    description: "Length of the lease; absent or less than 1: the queue's `leaseTime`.",
    schema: { type: 'integer' },
  },
  {
    name: 'consumerGroup',
    description: 'Reads on its own; absent: queue mode, where all consumers share the queue.',
    schema: { type: 'string' },
  },
  {
    name: 'subscriptionMode',
    description:
      '`new` starts a new group at its first contact, anything else at the oldest message. ' +
      'Looked at only then.',
    schema: { type: 'string' },
  },
  {
    name: 'subscriptionFrom',
    description: '`now` or an ISO 8601 time where a new group starts; wins over the mode.',
    schema: { type: 'string' },
  },
  {
    name: 'commitOnDelivery',
    description: 'Delivers at most once: no lease, nothing to acknowledge.',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'autoAck',
    description: 'The older name of `commitOnDelivery`; either one is enough.',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'conflation',
    description:
      'Delivers only the newest message of a partition. Belongs to the group from its start.',
    schema: { type: 'boolean' },
  },
  {
    name: 'autopilot',
    description: 'Accepted; the defaults apply.',
    schema: { type: 'boolean', default: false },
  },
];

const PARTITIONS: QueryParameter = {
  name: 'partitions',
  description: 'Most partitions to claim; less than 1: as many as `batch` fills.',
  schema: { type: 'integer', default: 1 },
};

const DELIVERED: AnswerShape = {
  description:
    'Messages, leased until they are acknowledged. Also an empty pop of a group that conflates.',
  schema: PopAnswer,
  example: {
    success: true,
    queue: 'orders',
    partition: 'cust-42',
    partitionId: PARTITION_ID,
    leaseId: LEASE_ID,
    consumerGroup: 'billing',
    messages: [
      {
        id: MESSAGE_ID,
        transactionId: 'order-1001',
        traceId: null,
        data: { total: 9.5 },
        producerSub: null,
        createdAt: MICROSECONDS,
        partitionId: PARTITION_ID,
        partition: 'cust-42',
        leaseId: LEASE_ID,
        consumerGroup: 'billing',
        deliveryAttempt: 1,
        offset: 17,
      },
    ],
    partitionsClaimed: 1,
  },
};

const ANSWERS: Operation['answers'] = {
  200: DELIVERED,
  204: {
    description: 'Nothing to deliver; `Queen-Pop-Reason` says why.',
    headers: ['Queen-Pop-Reason'],
  },
  400: {
    description: 'A parameter cannot be read (text), or parameters contradict each other (JSON).',
    schema: PopRefusal,
    contentType: 'text/plain; charset=utf-8',
    example: { success: false, error: 'namespace or task is required', messages: [] },
  },
};

const SHARED = {
  method: 'get',
  takesIdempotencyKey: true,
  section: 'Pop',
  answers: ANSWERS,
  errors: [
    'bad_request',
    'name_too_long',
    'overloaded',
    'internal',
    'retry',
    'no_leader',
    'timeout',
    'outcome_unknown',
    'shutting_down',
    'encryption_key_mismatch',
  ],
} as const satisfies Partial<Operation>;

/** The operations. */
export const POP_OPERATIONS: readonly Operation[] = [
  {
    ...SHARED,
    path: '/api/v1/pop/queue/{queue}',
    id: 'popQueue',
    summary: 'Takes messages from any ready partitions of a queue.',
    description: 'Creates the queue when it does not exist, and registers a new group.',
    query: [PARTITIONS, ...QUERY],
  },
  {
    ...SHARED,
    path: '/api/v1/pop/queue/{queue}/partition/{partition}',
    id: 'popPartition',
    summary: 'Takes messages from one partition.',
    description: 'Creates nothing.',
    query: QUERY,
  },
  {
    ...SHARED,
    path: '/api/v1/pop',
    id: 'popLabels',
    summary: 'Takes messages from all queues with a namespace or a task.',
    description: 'At least one of `namespace` and `task` must be given.',
    query: [
      { name: 'namespace', description: 'Label of the queues.', schema: { type: 'string' } },
      { name: 'task', description: 'Label of the queues.', schema: { type: 'string' } },
      PARTITIONS,
      ...QUERY,
    ],
  },
];
