// Retention (reference §13): the oldest whole appends of a partition go when a rule of the queue lets
// them. Leases do not protect; dead letters and the memory of ids are not touched.

import { EFFECT } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import type { LeftBlocks } from '../tables/block-index.ts';
import type { PlanContext } from './context.ts';

const US_PER_SECOND = 1_000_000;

/** Appends that one visit removes from a partition at most; then the next call goes on there. */
const BLOCKS_PER_VISIT = 1024;

/** Work of one visit, and of all visits of a call, as the bytes that `OpenBlocks` counts. */
const COST_BYTES_PER_VISIT = 2 * 1024 * 1024;
const COST_BYTES_PER_CALL = 4 * 1024 * 1024;

/** What looking at an append costs if its place is in memory. */
const BLOCK_COST_BYTES = 256;

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
  const costEnd = state.openBlocks.costBytes + COST_BYTES_PER_CALL;
  return context.retention.run(state, budget, {
    wants: (queue) => queue.retainedMessages > 0 && isRuled(cutoffsOf(queue, state.nowUs)),
    visit: (queue, row) => {
      const { left, leftBytes, isAll } = removalOf(state, queue, row);
      if (left === undefined) return isAll;
      context.emit({
        kind: EFFECT.LOG_START,
        partition: state.partitions.number.get(row),
        offset: left.offset,
        retainedBlocks: left.blocks,
        retainedBytes: leftBytes,
        oldestUs: left.oldestUs,
      });
      return isAll;
    },
    isSpent: () => state.openBlocks.costBytes >= costEnd,
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

/** What is left of a partition when removable appends are gone, as far as one visit looks. */
interface Removal {
  /** Undefined when nothing goes. */
  readonly left: LeftBlocks | undefined;
  readonly leftBytes: number;
  readonly isAll: boolean;
}

const NOTHING: Removal = { left: undefined, leftBytes: 0, isAll: true };

function removalOf(state: State, queue: QueueState, row: number): Removal {
  const { blocks, partitions, openBlocks } = state;
  const cutoffs = cutoffsOf(queue, state.nowUs);
  const oldestUs = blocks.tails.oldestUs(row);
  const logStart = partitions.logStart.get(row);
  if (oldestUs === 0 || oldestUs >= Math.max(cutoffs.anyUs, cutoffs.completedUs)) return NOTHING;
  const completedTo = cutoffs.completedUs > 0 ? lowestNext(state, queue, row) : 0;
  // Without looking the oldest block up, which may have to be read.
  if (oldestUs >= cutoffs.anyUs && completedTo <= logStart) return NOTHING;
  const costEnd = openBlocks.costBytes + COST_BYTES_PER_VISIT;
  let block = blocks.oldest(row);
  let count = 0;
  let bytes = 0;
  let isAll = true;
  for (; block !== undefined; block = blocks.next(row, block)) {
    const { baseOffset, createdUs } = block;
    const isCompleted = createdUs < cutoffs.completedUs && baseOffset + block.count <= completedTo;
    if (createdUs >= cutoffs.anyUs && !isCompleted) break;
    isAll = count < BLOCKS_PER_VISIT && openBlocks.costBytes < costEnd;
    if (!isAll) break;
    count += 1;
    bytes += block.blockSize;
    openBlocks.charge(BLOCK_COST_BYTES);
  }
  if (count === 0) return { ...NOTHING, isAll };
  const left = {
    offset: block?.baseOffset ?? partitions.tail.get(row),
    blocks: blocks.tails.retained(row) - count,
    oldestUs: block?.createdUs ?? 0,
  };
  return { left, leftBytes: partitions.retainedBytes.get(row) - bytes, isAll };
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
