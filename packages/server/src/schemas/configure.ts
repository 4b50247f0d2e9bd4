// `POST /configure` (data-plane reference §6). The protocol package reads these bodies; a test holds the
// two to each other.

import { CONFIGURED_QUEUE_DEFAULTS as DEFAULTS } from '@queen-ts/protocol';
import { z } from 'zod';
import { Uuid } from './fields.ts';

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

const integer = (absent: number, unit: string) =>
  z.int().min(INT32_MIN).max(INT32_MAX).nullish().describe(`${unit} Default ${absent}.`);
const flag = (absent: boolean, meaning: string) =>
  z.boolean().nullish().describe(`${meaning} Default ${absent}.`);
/** What is no string counts as empty, so that nothing is refused. */
const label = z.unknown().optional().describe('Text; null and anything else count as "".');

const options = {
  leaseTime: integer(DEFAULTS.leaseTime, 'Seconds a pop leases; at least 1.'),
  retryLimit: integer(DEFAULTS.retryLimit, 'Failures before a message is filed or dropped.'),
  deadLetterQueue: flag(DEFAULTS.deadLetterQueue, 'File what failed too often.'),
  dlqAfterMaxRetries: flag(DEFAULTS.dlqAfterMaxRetries, 'The same; either one is enough.'),
  dedupWindowSeconds: integer(DEFAULTS.dedupWindowSeconds, 'Seconds; 0: no deduplication.'),
  delayedProcessing: integer(DEFAULTS.delayedProcessing, 'Seconds until delivery.'),
  windowBuffer: integer(DEFAULTS.windowBuffer, 'Seconds of quiet before a partition delivers.'),
  retentionEnabled: flag(DEFAULTS.retentionEnabled, 'Turns the two retentions below on.'),
  retentionSeconds: integer(DEFAULTS.retentionSeconds, 'Seconds; 0: for ever.'),
  completedRetentionSeconds: integer(DEFAULTS.completedRetentionSeconds, 'Seconds; 0: for ever.'),
  maxWaitTimeSeconds: integer(DEFAULTS.maxWaitTimeSeconds, 'Seconds; older ones are removed.'),
  encryptionEnabled: flag(DEFAULTS.encryptionEnabled, 'Encrypts new messages at rest.'),
  retentionSinkHold: z
    .string()
    .regex(/^[A-Za-z0-9._-]{0,64}$/)
    .nullish(),
  retentionSinkHoldMaxSeconds: z.int().min(60).max(31_536_000).nullish(),
  minPopWaitTime: integer(DEFAULTS.minPopWaitTime, 'Milliseconds, from 0 to 60000.'),
  priority: integer(DEFAULTS.priority, 'Stored only.'),
  retryDelay: integer(DEFAULTS.retryDelay, 'Stored only.'),
  ttl: integer(DEFAULTS.ttl, 'Stored only.'),
  maxSize: integer(DEFAULTS.maxSize, 'Stored only.'),
  namespace: label,
  task: label,
};

/** Options to change; null means an option's default. */
export const QueueOptionsPatch = z.object(options);

/** The body. Without `options`, the options may stand beside `queue`. */
export const ConfigureBody = z.object({
  queue: z.string().min(1),
  options: QueueOptionsPatch.nullish(),
  namespace: label.describe('Counts when it is text and `options` has none.'),
  task: label.describe('Counts when it is text and `options` has none.'),
  mode: z
    .enum(['merge', 'replace'])
    .nullish()
    .describe('`merge` (default) keeps what is not named, `replace` resets it.'),
});

const Int32 = z.int().min(INT32_MIN).max(INT32_MAX);

/** The options as answers show them; sent back they change nothing. */
export const QueueOptions = z.object({
  leaseTime: Int32,
  retryLimit: Int32,
  deadLetterQueue: z.boolean(),
  dlqAfterMaxRetries: z.boolean(),
  dedupWindowSeconds: Int32,
  delayedProcessing: Int32,
  windowBuffer: Int32,
  retentionEnabled: z.boolean(),
  retentionSeconds: Int32,
  completedRetentionSeconds: Int32,
  maxWaitTimeSeconds: Int32,
  encryptionEnabled: z.boolean(),
  retentionSinkHold: z.string(),
  retentionSinkHoldMaxSeconds: Int32,
  minPopWaitTime: Int32,
  priority: Int32,
  retryDelay: Int32,
  ttl: Int32,
  maxSize: Int32,
  maxQueueSize: Int32.describe('`maxSize` under its older name.'),
});

/** The answer. */
export const ConfigureAnswer = z.object({
  configured: z.literal(true),
  queueId: Uuid,
  partitionId: z.null(),
  queue: z.string(),
  namespace: z.string(),
  task: z.string(),
  storage: z.literal('segments'),
  options: QueueOptions,
});
