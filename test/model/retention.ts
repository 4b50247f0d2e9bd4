// The model's retention and cleanup (reference §13): whole appends from the front, by age.

import { SECOND_US, tailOf } from './state.ts';
import type { ModelAppend, ModelPartition, ModelQueue, ModelQueues } from './state.ts';
import { isLive } from './visibility.ts';

/** Moves every log start as far as the rules of its queue allow. */
export function modelRetention(queues: ModelQueues, nowUs: number): void {
  for (const queue of queues.values()) {
    for (const partition of queue.partitions.values()) {
      const kept = partition.appends.find((append) => !mayGo(queue, partition, append, nowUs));
      const logStart = kept?.baseOffset ?? tailOf(partition);
      partition.logStart = Math.max(partition.logStart, logStart);
    }
  }
}

function mayGo(
  { options }: ModelQueue,
  partition: ModelPartition,
  append: ModelAppend,
  nowUs: number,
): boolean {
  const ageUs = nowUs - append.createdUs;
  const isOlderThan = (seconds: number): boolean => seconds > 0 && ageUs > seconds * SECOND_US;
  if (isOlderThan(options.maxWaitTimeSeconds)) return true;
  if (!options.retentionEnabled) return false;
  if (isOlderThan(options.retentionSeconds)) return true;
  const consumed = [...partition.cursors.values()].map(({ next }) => next);
  const lowest = consumed.length === 0 ? 0 : Math.min(...consumed);
  const isConsumed = append.baseOffset + append.count <= lowest;
  return isConsumed && isOlderThan(options.completedRetentionSeconds);
}

/**
 * Removes partitions that hold nothing and were idle. What counts as activity besides pushes and
 * claims is open: where that decides, the engine's choice stands.
 */
export function modelCleanup(
  queues: ModelQueues,
  at: {
    readonly nowUs: number;
    readonly idleUs: number;
    /** True when the engine removed the partition of that number. */
    readonly isRemoved: (number: number | undefined) => boolean;
  },
): void {
  for (const queue of queues.values()) {
    for (const partition of queue.partitions.values()) {
      const hasDeadLetters = queue.deadLetters.some((it) => it.partition === partition.name);
      const isLeased = [...partition.cursors.values()].some((it) => isLive(it, at.nowUs));
      if (partition.logStart < tailOf(partition) || hasDeadLetters || isLeased) continue;
      const isSurelyIdle = at.nowUs - partition.touchedUs > at.idleUs;
      const mayBeIdle = at.nowUs - partition.activeUs >= at.idleUs;
      if (isSurelyIdle || (mayBeIdle && at.isRemoved(partition.number))) {
        queue.partitions.delete(partition.name);
      }
    }
  }
}
