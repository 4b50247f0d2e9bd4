// The options of a queue (data-plane reference §6.1): one table gives name, type, default, clamp and
// order, and everything else (validation, storage, echo) follows it.

/** All options of a queue, labels included. Integers are i32. */
export interface QueueOptions {
  readonly leaseTime: number;
  readonly retryLimit: number;
  readonly deadLetterQueue: boolean;
  readonly dlqAfterMaxRetries: boolean;
  readonly dedupWindowSeconds: number;
  readonly delayedProcessing: number;
  readonly windowBuffer: number;
  readonly retentionEnabled: boolean;
  readonly retentionSeconds: number;
  readonly completedRetentionSeconds: number;
  readonly maxWaitTimeSeconds: number;
  readonly encryptionEnabled: boolean;
  readonly retentionSinkHold: string;
  readonly retentionSinkHoldMaxSeconds: number;
  readonly minPopWaitTime: number;
  readonly priority: number;
  readonly retryDelay: number;
  readonly ttl: number;
  readonly maxSize: number;
  readonly namespace: string;
  readonly task: string;
}

/** Name of an option. */
export type QueueOptionName = keyof QueueOptions;

/** A change: an absent key is kept (merge) or reset (replace), null means that option's default. */
export type QueueOptionsPatch = {
  readonly [K in QueueOptionName]?: QueueOptions[K] | null;
};

/** Defaults of a queue created by `/configure`. */
export const CONFIGURED_QUEUE_DEFAULTS: QueueOptions = {
  leaseTime: 300,
  retryLimit: 3,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  dedupWindowSeconds: 3600,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionEnabled: false,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0,
  encryptionEnabled: false,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 604_800,
  minPopWaitTime: 0,
  priority: 0,
  retryDelay: 1000,
  ttl: 3600,
  maxSize: 0,
  namespace: '',
  task: '',
};

/** Option names in storage and digest order. New options are appended, never inserted. */
export const QUEUE_OPTION_NAMES = Object.keys(
  CONFIGURED_QUEUE_DEFAULTS,
) as readonly QueueOptionName[];

/** Lease time of a queue created by a push or a pop, in seconds (reference §6.3). */
export const IMPLICIT_LEASE_TIME_SECONDS = 60;

/** Options of a queue created by a push or a pop: labels come from the dotted name (reference §14). */
export function implicitQueueOptions(queue: string): QueueOptions {
  const firstDot = queue.indexOf('.');
  const namespace = firstDot < 0 ? queue : queue.slice(0, firstDot);
  const rest = firstDot < 0 ? '' : queue.slice(firstDot + 1);
  const secondDot = rest.indexOf('.');
  const task = secondDot < 0 ? rest : rest.slice(0, secondDot);
  return {
    ...CONFIGURED_QUEUE_DEFAULTS,
    leaseTime: IMPLICIT_LEASE_TIME_SECONDS,
    namespace,
    task,
  };
}
