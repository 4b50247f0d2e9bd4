// Retention (reference §13): the oldest whole appends of a partition go when a rule of the queue lets
// them. Leases do not protect; dead letters and the memory of ids are not touched.

import { EFFECT } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import type { PlanContext } from './context.ts';

const US_PER_SECOND = 1_000_000;

/** Appends that one visit removes from a partition at most; then the next call goes on there. */
const BLOCKS_PER_VISIT = 1024;

/** Age in seconds until which a named sink holds messages back when the queue stores none. */
const SINK_HOLD_SECONDS_DEFAULT = 604_800;

/** Appends created before these times may go. */
interface Cutoffs {
  /** Consumed or not. */
  readonly anyUs: number;
  /** Only below the lowest cursor. */
  readonly completedUs: number;
}

/** Looks at up to `budget` partitions of queues with a rule. Returns whether the pass is complete. */
export function planRetention(context: PlanContext, budget: number): boolean {
  const { state } = context;
  return context.retention.run(state, budget, {
    wants: (queue) => queue.retainedMessages > 0 && isRuled(cutoffsOf(queue, state.nowUs)),
    visit: (queue, row) => {
      const { offset, isAll } = removableTo(state, queue, row);
      if (offset <= state.partitions.logStart.get(row)) return true;
      const partition = state.partitions.number.get(row);
      context.emit({ kind: EFFECT.LOG_START, partition, offset });
      return isAll;
    },
  });
}

/**
 * Looks at up to `budget` partitions and removes those that are empty and were not used for
 * `idleUs`. Returns whether the pass is complete.
 */
export function planCleanup(
  context: PlanContext,
  limits: { readonly budget: number; readonly idleUs: number },
): boolean {
  const { state } = context;
  const { partitions, deadLetters } = state;
  return context.cleanup.run(state, limits.budget, {
    wants: () => true,
    visit: (queue, row) => {
      const isEmpty = partitions.logStart.get(row) === partitions.tail.get(row);
      const isIdle = partitions.activeUs.get(row) + limits.idleUs <= state.nowUs;
      const isKept = !isEmpty || !isIdle || deadLetters.newestOf(row) !== 0;
      if (!isKept && !hasLiveLease(state, queue, row)) {
        context.emit({ kind: EFFECT.PARTITION_DELETE, partition: partitions.number.get(row) });
      }
      return true;
    },
  });
}

function cutoffsOf(queue: QueueState, nowUs: number): Cutoffs {
  const { options } = queue;
  const cutoff = (seconds: number): number => (seconds > 0 ? nowUs - seconds * US_PER_SECOND : 0);
  const waited = cutoff(options.maxWaitTimeSeconds);
  if (!options.retentionEnabled) return { anyUs: waited, completedUs: 0 };
  const held = options.retentionSinkHold === '' ? Infinity : nowUs - holdUs(queue);
  return {
    anyUs: Math.max(waited, Math.min(cutoff(options.retentionSeconds), held)),
    completedUs: Math.min(cutoff(options.completedRetentionSeconds), held),
  };
}

/** A sink that never confirms holds messages back until the ceiling. */
function holdUs(queue: QueueState): number {
  const seconds = queue.options.retentionSinkHoldMaxSeconds;
  return (seconds > 0 ? seconds : SINK_HOLD_SECONDS_DEFAULT) * US_PER_SECOND;
}

function isRuled(cutoffs: Cutoffs): boolean {
  return cutoffs.anyUs > 0 || cutoffs.completedUs > 0;
}

/** Offset up to which removable appends reach without a gap, as far as one visit looks. */
function removableTo(
  state: State,
  queue: QueueState,
  row: number,
): { readonly offset: number; readonly isAll: boolean } {
  const { blocks, partitions } = state;
  const cutoffs = cutoffsOf(queue, state.nowUs);
  let record = blocks.head(row);
  let offset = partitions.logStart.get(row);
  const newestUs = Math.max(cutoffs.anyUs, cutoffs.completedUs);
  if (record === 0 || blocks.createdUs(record) >= newestUs) return { offset, isAll: true };
  const completedTo = cutoffs.completedUs > 0 ? lowestNext(state, queue, row) : 0;
  for (let i = 0; record !== 0; i += 1) {
    if (i === BLOCKS_PER_VISIT) return { offset, isAll: false };
    const createdUs = blocks.createdUs(record);
    const isCompleted = createdUs < cutoffs.completedUs && blocks.endOffset(record) <= completedTo;
    if (createdUs >= cutoffs.anyUs && !isCompleted) break;
    offset = blocks.endOffset(record);
    record = blocks.next(row, record);
  }
  return { offset, isAll: true };
}

/** Lowest cursor of a partition over all groups, queue mode included; 0 without any. */
function lowestNext(state: State, queue: QueueState, row: number): number {
  let lowest = Infinity;
  for (const group of queue.groups) {
    const cursorRow = state.cursors.find(row, group.number);
    if (cursorRow !== 0) lowest = Math.min(lowest, state.cursors.next.get(cursorRow));
  }
  return lowest === Infinity ? 0 : lowest;
}

function hasLiveLease(state: State, queue: QueueState, row: number): boolean {
  return queue.groups.some((group) => {
    const cursorRow = state.cursors.find(row, group.number);
    return cursorRow !== 0 && state.cursors.isLeased(cursorRow, state.nowUs);
  });
}
