// What a random sequence is made of: small numbers that are read against the state at hand, so that
// every sequence makes sense and stays a sequence of the same kind when it shrinks.

import fc from 'fast-check';
import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { QueueOptionsPatch } from '@queen-ts/protocol';

/** Queue names; their dots make labels. */
export const QUEUES = ['orders', 'billing.invoices', 'a.b.c'] as const;
export const PARTITIONS = ['Default', 'p1', 'p2', 'größe'] as const;
export const GROUPS = [QUEUE_MODE_GROUP, 'g1', 'g2'] as const;
const LABELS = ['', '', 'orders', 'billing', 'invoices', 'a', 'b', 'x'] as const;

/** One pushed message; `txn` null means minted. */
export interface PushPart {
  readonly queue: number;
  readonly partition: number;
  readonly txn: number | null;
  /** Payload padding in bytes; `OVERSIZED` makes the append too large. */
  readonly padding: number;
}

/** Padding that no append may have. */
export const OVERSIZED = 6000;

/** One ack item, relative to the delivery that the operation names. */
export interface AckPart {
  readonly message: number;
  readonly status: 'completed' | 'failed' | 'retry' | 'dlq' | 'unknown';
  readonly fence: 'own' | 'none' | 'other' | 'malformed';
  readonly where: 'own' | 'other' | 'missing' | 'unreadable';
  readonly id: 'own' | 'unknown' | 'elsewhere';
  readonly error: string | null;
}

/** One step of a sequence. */
export type Operation =
  | { readonly op: 'push'; readonly items: readonly PushPart[]; readonly sub: boolean }
  | {
      readonly op: 'pop';
      readonly route: 'queue' | 'partition' | 'labels';
      readonly queue: number;
      readonly partition: number;
      readonly namespace: number;
      readonly task: number;
      readonly group: number;
      readonly batch: number;
      readonly partitions: number;
      readonly autoAck: boolean;
      readonly leaseSeconds: number;
      /** `from` is relative to now, in seconds. */
      readonly subscription: 'all' | 'new' | { readonly from: number };
      readonly conflation: boolean | null;
      /** How long it parks when it finds nothing; 0 does not. */
      readonly waitSeconds: number;
    }
  | {
      readonly op: 'ack';
      /** 0 is the newest delivery. */
      readonly delivery: number;
      readonly group: number | null;
      readonly items: readonly AckPart[];
    }
  | {
      readonly op: 'ackAll';
      readonly delivery: number;
      readonly status: 'completed' | 'failed' | 'retry' | 'dlq';
      readonly fenced: boolean;
      /** Leaves out this many of the newest messages. */
      readonly without: number;
    }
  | {
      readonly op: 'ackEach';
      readonly delivery: number;
      readonly fenced: boolean;
      /** What is said of the messages in offset order; null leaves one out. */
      readonly statuses: readonly ('completed' | 'failed' | 'retry' | 'dlq' | null)[];
    }
  | {
      readonly op: 'transaction';
      readonly delivery: number;
      /** A second delivery; it takes part when it is of another group. */
      readonly other: number | null;
      readonly fenced: boolean;
      readonly statuses: readonly ('completed' | 'failed' | 'retry' | 'dlq' | null)[];
      readonly items: readonly PushPart[];
    }
  | { readonly op: 'extend'; readonly delivery: number; readonly seconds: number }
  | { readonly op: 'release'; readonly delivery: number }
  | {
      readonly op: 'configure';
      readonly queue: number;
      readonly mode: 'merge' | 'replace';
      readonly options: QueueOptionsPatch;
    }
  | { readonly op: 'delete'; readonly queue: number }
  | { readonly op: 'wait'; readonly ms: number }
  /** Waits until the next moment that changes something, give or take a microsecond. */
  | { readonly op: 'waitForNext'; readonly offsetUs: number }
  /** Removes old messages, then idle partitions. */
  | { readonly op: 'retire'; readonly budget: number; readonly idleSeconds: number | null }
  | {
      readonly op: 'seek';
      readonly queue: number;
      /** Null for all. */
      readonly partition: number | null;
      readonly group: number;
      /** Seconds before now, or the end. */
      readonly target: 'end' | number;
      readonly budget: number;
    }
  | {
      readonly op: 'deleteGroup';
      readonly queue: number;
      readonly group: number;
      readonly withRegistration: boolean;
      readonly budget: number;
    }
  | { readonly op: 'subscribe'; readonly group: number; readonly agoSeconds: number }
  | {
      readonly op: 'replay';
      /** Which dead letter, from the newest on. */
      readonly letter: number;
      readonly queue: number | null;
      readonly partition: number | null;
    }
  | { readonly op: 'purge'; readonly queue: number; readonly group: number | null }
  | { readonly op: 'deleteDeadLetters'; readonly letter: number }
  | { readonly op: 'find'; readonly delivery: number; readonly message: number }
  | {
      readonly op: 'maintenance';
      readonly requests: 'push' | 'pop';
      readonly paused: boolean;
    }
  /** Freezes the leader's state; the next one restores it as the new replica. */
  | { readonly op: 'checkpoint' }
  | { readonly op: 'failOver' }
  | { readonly op: 'housekeep'; readonly budget: number };

/** An operation and whether it shares the cycle of the one before. */
export type Step = Operation & { readonly joins: boolean };

/** A sequence with the knobs of its run. */
export interface Sequence {
  readonly steps: readonly Step[];
  /** Take signals after every command instead of after every cycle. */
  readonly drainsOften: boolean;
  /** Run with limits so low that pops give up early. */
  readonly isTight: boolean;
}

const queue = fc.nat({ max: QUEUES.length - 1 });
const partition = fc.nat({ max: PARTITIONS.length - 1 });
const group = fc.nat({ max: GROUPS.length - 1 });
/** Small numbers most of the time: operations mostly mean what happened just before. */
const recent = fc.oneof(
  { weight: 6, arbitrary: fc.nat({ max: 1 }) },
  { weight: 3, arbitrary: fc.nat({ max: 4 }) },
  { weight: 1, arbitrary: fc.nat({ max: 30 }) },
);

function pick<const T extends readonly unknown[]>(...values: T): fc.Arbitrary<T[number]> {
  return fc.constantFrom(...values) as fc.Arbitrary<T[number]>;
}

const pushPart = fc.record<PushPart>({
  queue: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: queue }),
  partition,
  txn: fc.option(fc.nat({ max: 9 }), { freq: 3 }),
  padding: fc.oneof(
    { weight: 40, arbitrary: pick(0, 3, 100) },
    { weight: 1, arbitrary: fc.constant(OVERSIZED) },
  ),
});

const push = fc.record({
  op: fc.constant('push' as const),
  items: fc.array(pushPart, { minLength: 1, maxLength: 8 }),
  sub: fc.boolean(),
});

const pop = fc.record({
  op: fc.constant('pop' as const),
  route: fc.oneof(
    { weight: 5, arbitrary: fc.constant('queue' as const) },
    { weight: 3, arbitrary: fc.constant('partition' as const) },
    { weight: 1, arbitrary: fc.constant('labels' as const) },
  ),
  queue: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: queue }),
  partition,
  namespace: fc.nat({ max: LABELS.length - 1 }),
  task: fc.nat({ max: LABELS.length - 1 }),
  group,
  batch: pick(1, 1, 2, 3, 5, 200),
  partitions: pick(1, 1, 1, 2, 3, 0),
  autoAck: fc.oneof(
    { weight: 5, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
  leaseSeconds: pick(0, 0, 1, 5, 30, 600),
  subscription: fc.oneof(
    { weight: 4, arbitrary: fc.constant('all' as const) },
    { weight: 2, arbitrary: fc.constant('new' as const) },
    { weight: 1, arbitrary: fc.record({ from: pick(-3600, -60, -5, 0, 5, 60) }) },
  ),
  conflation: pick(null, null, null, null, true, false),
  waitSeconds: pick(0, 5, 600),
});

const ackPart = fc.record<AckPart>({
  message: fc.nat({ max: 9 }),
  status: pick('completed', 'completed', 'completed', 'failed', 'retry', 'dlq', 'unknown'),
  fence: fc.oneof(
    { weight: 8, arbitrary: fc.constant('own' as const) },
    { weight: 3, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: pick('other', 'malformed') },
  ),
  where: fc.oneof(
    { weight: 15, arbitrary: fc.constant('own' as const) },
    { weight: 1, arbitrary: pick('other', 'missing', 'unreadable') },
  ),
  id: fc.oneof(
    { weight: 12, arbitrary: fc.constant('own' as const) },
    { weight: 1, arbitrary: pick('unknown', 'elsewhere') },
  ),
  error: pick(null, null, 'boom', 'no such order'),
});

const ack = fc.record({
  op: fc.constant('ack' as const),
  delivery: recent,
  group: fc.option(group, { freq: 12 }).map((it) => it),
  items: fc.array(ackPart, { minLength: 1, maxLength: 6 }),
});

const ackAll = fc.record({
  op: fc.constant('ackAll' as const),
  delivery: recent,
  status: pick('completed', 'completed', 'completed', 'completed', 'failed', 'retry', 'dlq'),
  fenced: fc.oneof(
    { weight: 4, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  without: pick(0, 0, 0, 1, 2),
});

const ackEach = fc.record({
  op: fc.constant('ackEach' as const),
  delivery: recent,
  fenced: fc.oneof(
    { weight: 4, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  statuses: fc.array(pick('completed', 'completed', 'failed', 'failed', 'retry', 'dlq', null), {
    minLength: 1,
    maxLength: 6,
  }),
});

const transaction = fc.record({
  op: fc.constant('transaction' as const),
  delivery: recent,
  other: fc.option(fc.nat({ max: 5 }), { freq: 2 }),
  fenced: fc.oneof(
    { weight: 4, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  statuses: fc.array(pick('completed', 'completed', 'completed', 'failed', 'retry', 'dlq', null), {
    minLength: 1,
    maxLength: 4,
  }),
  items: fc.array(pushPart, { minLength: 0, maxLength: 4 }),
});

const optionValues = {
  leaseTime: pick(1, 5, 30, 300, null),
  retryLimit: pick(0, 1, 2, 3, null),
  deadLetterQueue: pick(true, false, null),
  dlqAfterMaxRetries: pick(true, false, null),
  dedupWindowSeconds: pick(0, 1, 10, 1000, 7200, null),
  delayedProcessing: pick(0, 0, 1, 10, null),
  windowBuffer: pick(0, 0, 1, 5, null),
  retentionEnabled: pick(true, true, false, null),
  retentionSeconds: pick(0, 0, 5, 60, null),
  completedRetentionSeconds: pick(0, 2, 30, 2000, null),
  maxWaitTimeSeconds: pick(0, 0, 0, 10, 100, null),
  minPopWaitTime: pick(0, 10),
  priority: pick(0, 7),
  namespace: pick('', 'orders', 'x', 'a', null),
  task: pick('', 'invoices', 'b', null),
} as const;

const configure = fc.record({
  op: fc.constant('configure' as const),
  queue,
  mode: pick('merge', 'merge', 'merge', 'replace'),
  options: fc
    .record(optionValues, { requiredKeys: [] })
    .map((options) => options as QueueOptionsPatch),
});

const wait = fc.record({
  op: fc.constant('wait' as const),
  ms: fc.oneof(
    { weight: 3, arbitrary: fc.nat({ max: 2000 }) },
    { weight: 3, arbitrary: pick(1000, 5000, 10_000, 60_000) },
    { weight: 1, arbitrary: pick(900_000, 3_600_000, 4_000_000, 7_300_000, 36_000_000) },
  ),
});

const admin = fc.oneof(
  fc.record({
    op: fc.constant('seek' as const),
    queue,
    partition: fc.option(partition, { freq: 2 }),
    group,
    target: pick('end', 0, 1, 5, 60, 3600),
    budget: pick(1, 2, 100),
  }),
  fc.record({
    op: fc.constant('deleteGroup' as const),
    queue,
    group,
    withRegistration: fc.boolean(),
    budget: pick(1, 2, 100),
  }),
  fc.record({
    op: fc.constant('subscribe' as const),
    // Queue mode has no subscription.
    group: pick(1, 2),
    agoSeconds: pick(0, 1, 60, 3600, -5),
  }),
  fc.record({
    op: fc.constant('replay' as const),
    letter: fc.nat({ max: 3 }),
    queue: fc.option(queue, { freq: 2 }),
    partition: fc.option(partition, { freq: 2 }),
  }),
  fc.record({
    op: fc.constant('purge' as const),
    queue,
    group: fc.option(group, { freq: 2 }),
  }),
  fc.record({ op: fc.constant('deleteDeadLetters' as const), letter: fc.nat({ max: 3 }) }),
  fc.record({
    op: fc.constant('find' as const),
    delivery: recent,
    message: fc.nat({ max: 9 }),
  }),
);

/** Mostly resumes, so that sequences do not stand still. */
const maintenance = fc.record({
  op: fc.constant('maintenance' as const),
  requests: pick('push', 'pop'),
  paused: pick(true, false, false, false),
});

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 24, arbitrary: push },
  { weight: 30, arbitrary: pop },
  { weight: 12, arbitrary: ack },
  { weight: 10, arbitrary: ackAll },
  { weight: 10, arbitrary: ackEach },
  { weight: 6, arbitrary: transaction },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('extend' as const),
      delivery: recent,
      seconds: pick(1, 5, 60, 4000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('release' as const), delivery: recent }),
  },
  { weight: 5, arbitrary: configure },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('delete' as const), queue }) },
  { weight: 10, arbitrary: wait },
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constant('waitForNext' as const), offsetUs: pick(-1, 0, 1) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('failOver' as const) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('checkpoint' as const) }) },
  { weight: 2, arbitrary: maintenance },
  { weight: 5, arbitrary: admin },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('retire' as const),
      budget: pick(1, 2, 100),
      idleSeconds: pick(null, null, 1, 60),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('housekeep' as const), budget: pick(1, 2, 100) }),
  },
);

/** Labels that a discovery pop asks for; at least one is not empty. */
export function labelsOf(
  namespace: number,
  task: number,
): { readonly namespace: string; readonly task: string } {
  const labels = { namespace: LABELS[namespace] ?? '', task: LABELS[task] ?? '' };
  return labels.namespace === '' && labels.task === '' ? { namespace: 'orders', task: '' } : labels;
}

/** Sequences of up to `maxCommands` steps. */
export function sequences(maxCommands: number): fc.Arbitrary<Sequence> {
  const step = fc
    .tuple(operation, fc.nat({ max: 3 }))
    .map(([it, joins]): Step => ({ ...it, joins: joins === 3 }));
  return fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: maxCommands, size: 'max' }),
    drainsOften: fc.boolean(),
    isTight: pick(false, false, false, true),
  });
}
