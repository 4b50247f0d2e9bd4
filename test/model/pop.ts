// The model's pop (reference §2). Which of several ready partitions comes first is the engine's
// choice; everything else follows.

import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { EmptyReason, PopCommand, Subscription } from '@queen-ts/protocol';
import { ensureQueue } from './push.ts';
import { SECOND_US, tailOf } from './state.ts';
import type {
  AttemptMarker,
  ModelCursor,
  ModelGroup,
  ModelMessage,
  ModelPartition,
  ModelQueue,
  ModelQueues,
} from './state.ts';
import { claimableOf, isLive, startOf, TICK_US } from './visibility.ts';

/** Most messages of one conflating pop (reference §2.6). */
const CONFLATED_MAX = 64;

/** What one partition gave. */
export interface ModelClaim {
  readonly queue: string;
  readonly partition: string;
  /** Delivery attempts that the reference allows. */
  readonly attempts: readonly number[];
  readonly messages: readonly ModelMessage[];
}

/** What a pop must answer. */
export interface ModelPop {
  readonly claims: readonly ModelClaim[];
  /** Reasons that fit when nothing was claimed. */
  readonly emptyReasons: readonly EmptyReason[];
  /** Policies of the groups that the pop looked at; empty when it met none. */
  readonly conflations: readonly boolean[];
}

/** What the model cannot know beforehand. */
export interface PopChoices {
  readonly nowUs: number;
  /** Text of the lease id. */
  readonly leaseId: string;
  /** The engine's claims in its order. */
  readonly visited: readonly {
    readonly queue: string;
    readonly partition: string;
    readonly attempt: number;
    readonly count: number;
  }[];
  /** True when limits may end a claim, and the pop, before its budget does. */
  readonly mayStopEarly: boolean;
}

interface Candidate {
  readonly queue: ModelQueue;
  readonly partition: ModelPartition;
}

/** Applies a pop and returns what it must answer. */
export function modelPop(queues: ModelQueues, pop: PopCommand, choices: PopChoices): ModelPop {
  const scope = scopeOf(queues, pop, choices.nowUs);
  for (const queue of scope.queues) touchGroup(queue, pop, choices.nowUs);
  for (const { partition } of scope.candidates) noteSeal(partition, pop.group, choices.nowUs);
  const conflations = scope.queues.map((queue) => conflates(queue, pop.group));
  const claims: ModelClaim[] = [];
  const reasons = new Set<EmptyReason>();
  let isHeldBack = false;
  for (const candidate of inEngineOrder(scope.candidates, pop, choices)) {
    const budget = budgetLeft(pop, claims, conflations.includes(true));
    if (budget === 0) break;
    const claim = claimFrom(candidate, pop, { ...choices, budget });
    if ('messages' in claim) claims.push(claim);
    else {
      for (const reason of claim) reasons.add(reason);
      if (!claim.includes('empty')) isHeldBack = true;
    }
  }
  if (pop.scope.kind !== 'partition') {
    for (const queue of scope.queues) {
      for (const reason of holdsOf(queue, choices.nowUs - TICK_US)) reasons.add(reason);
      if (holdsOf(queue, choices.nowUs).length > 0) isHeldBack = true;
    }
  }
  if (isHeldBack) reasons.delete('empty');
  const emptyReasons: EmptyReason[] = reasons.size === 0 ? ['empty'] : [...reasons];
  return { claims, emptyReasons, conflations };
}

/**
 * What holds the newest message of a queue back. A pop that may take any partition is told so whether
 * or not its group is past that message.
 */
function holdsOf({ options, newestAppendUs }: ModelQueue, nowUs: number): EmptyReason[] {
  const { windowBuffer, delayedProcessing } = options;
  const isYounger = (seconds: number): boolean =>
    seconds > 0 && nowUs - newestAppendUs < seconds * SECOND_US;
  const holds: EmptyReason[] = [];
  if (isYounger(windowBuffer)) holds.push('window');
  if (isYounger(delayedProcessing)) holds.push('delayed');
  return holds;
}

/** Which of the empty partitions in its scope a pop looks at, and seals, is the engine's choice. */
function noteSeal(partition: ModelPartition, group: string, nowUs: number): void {
  partition.touchedUs = nowUs;
  const cursor = partition.cursors.get(group);
  const isEmpty = partition.logStart === tailOf(partition);
  if (cursor !== undefined && isEmpty && !isLive(cursor, nowUs)) cursor.sealTo = tailOf(partition);
}

function scopeOf(
  queues: ModelQueues,
  pop: PopCommand,
  nowUs: number,
): { readonly queues: ModelQueue[]; readonly candidates: Candidate[] } {
  const { scope } = pop;
  switch (scope.kind) {
    case 'queue': {
      const queue = ensureQueue(queues, scope.queue, nowUs);
      return { queues: [queue], candidates: allOf(queue) };
    }
    case 'partition': {
      const queue = queues.get(scope.queue);
      if (queue === undefined) return { queues: [], candidates: [] };
      const partition = queue.partitions.get(scope.partition);
      const candidates = partition === undefined ? [] : [{ queue, partition }];
      return { queues: [queue], candidates };
    }
    case 'labels': {
      const matching = [...queues.values()].filter(
        ({ options }) =>
          (scope.namespace === '' || scope.namespace === options.namespace) &&
          (scope.task === '' || scope.task === options.task),
      );
      return { queues: matching, candidates: matching.flatMap(allOf) };
    }
  }
}

function allOf(queue: ModelQueue): Candidate[] {
  return [...queue.partitions.values()].map((partition) => ({ queue, partition }));
}

/** Registers the group on first contact; a pinned pop only makes it known (reference §2.3). */
function touchGroup(queue: ModelQueue, pop: PopCommand, nowUs: number): void {
  const known = queue.groups.get(pop.group);
  const registers = pop.scope.kind !== 'partition' || pop.conflation === true;
  if (known?.registration !== undefined) return;
  if (registers) {
    const isQueueMode = pop.group === QUEUE_MODE_GROUP;
    const fromUs = isQueueMode ? 0 : subscribedFromUs(pop.subscription, nowUs);
    const registration = { fromUs, conflation: pop.conflation === true };
    if (known === undefined) queue.groups.set(pop.group, { registration });
    else known.registration = registration;
  }
}

function subscribedFromUs(subscription: Subscription, nowUs: number): number {
  switch (subscription.mode) {
    case 'all':
      return 0;
    case 'new':
      return nowUs;
    case 'from':
      return subscription.fromUs;
  }
}

function conflates(queue: ModelQueue, group: string): boolean {
  return queue.groups.get(group)?.registration?.conflation === true;
}

function budgetLeft(pop: PopCommand, claims: readonly ModelClaim[], isConflating: boolean): number {
  const taken = claims.reduce((sum, { messages }) => sum + messages.length, 0);
  const isPinned = pop.scope.kind === 'partition';
  if (!isPinned && pop.partitions > 0 && claims.length >= pop.partitions) return 0;
  const most = isConflating ? Math.min(pop.batch, CONFLATED_MAX) : pop.batch;
  return Math.max(0, most - taken);
}

function visitOf(
  queue: ModelQueue,
  partition: ModelPartition,
  choices: PopChoices,
): PopChoices['visited'][number] | undefined {
  return choices.visited.find((it) => it.queue === queue.name && it.partition === partition.name);
}

/** The partitions the engine claimed, in its order, then all others: none of those may be ready. */
function inEngineOrder(
  candidates: readonly Candidate[],
  pop: PopCommand,
  choices: PopChoices,
): Candidate[] {
  const rest = [...candidates];
  const ordered: Candidate[] = [];
  for (const { queue, partition } of choices.visited) {
    const at = rest.findIndex((it) => it.queue.name === queue && it.partition.name === partition);
    if (at >= 0) ordered.push(...rest.splice(at, 1));
  }
  return choices.mayStopEarly && pop.scope.kind !== 'partition' ? ordered : [...ordered, ...rest];
}

function claimFrom(
  { queue, partition }: Candidate,
  pop: PopCommand,
  choices: PopChoices & { readonly budget: number },
): ModelClaim | readonly EmptyReason[] {
  const isNoticed = pop.scope.kind === 'partition' || visitOf(queue, partition, choices);
  const nowUs = isNoticed ? choices.nowUs : choices.nowUs - TICK_US;
  const cursor = contact(queue, partition, pop);
  const row = queue.groups.get(pop.group);
  const next = cursor?.next ?? startOf(partition, { name: pop.group, row }, pop.subscription);
  const found = claimableOf(queue, partition, { cursor, next, nowUs });
  if (found.kind === 'none') {
    const now = claimableOf(queue, partition, { cursor, next, nowUs: choices.nowUs });
    return now.kind === 'none' ? [...found.reasons, ...now.reasons] : found.reasons;
  }
  const isConflating = conflates(queue, pop.group);
  const from = isConflating ? found.toExclusive - 1 : found.from;
  const seen = visitOf(queue, partition, choices);
  const limit = choices.mayStopEarly ? (seen?.count ?? 1) : Infinity;
  const toExclusive = isConflating
    ? found.toExclusive
    : Math.min(found.toExclusive, found.from + choices.budget, found.from + limit);
  const messages = partition.messages.slice(from, toExclusive);
  partition.activeUs = choices.nowUs;
  const holder = cursor ?? newCursor(next);
  partition.cursors.set(pop.group, holder);
  const attempts = pop.autoAck
    ? commit(holder, toExclusive)
    : lease(holder, { id: choices.leaseId, from: found.from, toExclusive }, choices, {
        queue,
        partition,
        pop,
      });
  return { queue: queue.name, partition: partition.name, attempts, messages };
}

/**
 * The cursor that the pop meets. The first pinned pop of an unregistered group decides where the
 * group starts, whether it delivers something or not (reference §2.3, §2.4).
 */
function contact(
  queue: ModelQueue,
  partition: ModelPartition,
  pop: PopCommand,
): ModelCursor | undefined {
  const cursor = partition.cursors.get(pop.group);
  const row: ModelGroup = queue.groups.get(pop.group) ?? { registration: undefined };
  if (cursor !== undefined || row.registration !== undefined) return cursor;
  queue.groups.set(pop.group, row);
  // Queue mode starts at the oldest retained message whenever it starts: nothing to decide.
  if (pop.group === QUEUE_MODE_GROUP) return undefined;
  const decided = newCursor(startOf(partition, { name: pop.group, row }, pop.subscription));
  partition.cursors.set(pop.group, decided);
  return decided;
}

function newCursor(next: number): ModelCursor {
  const attempt: AttemptMarker = { from: 0, counts: [0] };
  return { next, retries: [0], lease: undefined, attempt, settled: [undefined] };
}

function commit(cursor: ModelCursor, toExclusive: number): readonly number[] {
  cursor.next = toExclusive;
  cursor.retries = [0];
  cursor.lease = undefined;
  cursor.attempt = { from: 0, counts: [0] };
  return [1];
}

function lease(
  cursor: ModelCursor,
  span: { readonly id: string; readonly from: number; readonly toExclusive: number },
  choices: PopChoices,
  at: { readonly queue: ModelQueue; readonly partition: ModelPartition; readonly pop: PopCommand },
): readonly number[] {
  const asked = at.pop.leaseSeconds > 0 ? at.pop.leaseSeconds : at.queue.options.leaseTime;
  const expiresUs = choices.nowUs + Math.max(1, asked) * SECOND_US;
  const isRepeat = cursor.attempt.from === span.from;
  // Whether an attempt still counts after retention removed where it started is open.
  const isPassed = at.partition.logStart > cursor.next;
  const known = isPassed ? [0, ...cursor.attempt.counts] : cursor.attempt.counts;
  const counts = (isRepeat || isPassed ? known : [0]).map((count) => count + 1);
  const seen = visitOf(at.queue, at.partition, choices)?.attempt;
  const settledCounts = counts.filter((count) => count === seen);
  cursor.next = Math.max(cursor.next, at.partition.logStart);
  cursor.attempt = { from: span.from, counts: settledCounts.length > 0 ? settledCounts : counts };
  cursor.lease = { ...span, expiresUs };
  return counts;
}
