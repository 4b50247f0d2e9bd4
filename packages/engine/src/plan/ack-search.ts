// Where an ack target looks for the messages that its items name: in the batch that it settles, else
// among what its group has consumed.

import { ID_WORDS } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { AckBudget } from './ack-budget.ts';
import type { AckWork } from './ack-target.ts';
import { openBlock } from './blocks.ts';
import type { PlanContext } from './context.ts';
import { isRememberedBelow } from './originals.ts';

/** Blocks that one target may search for ids it does not find where they are expected. */
const BLOCKS_SEARCHED_MAX = 1024;

/** What comparing a message and looking an id up cost, in bytes. */
const COMPARING_COST_BYTES = 16;
const LOOK_UP_COST_BYTES = 256;

/** Blocks ahead of a cursor that one target may search when no pop bounded what it may name. */
const BLOCKS_AHEAD_MAX = 4096;

/** Messages of a partition by offset. */
interface OffsetRange {
  readonly partitionRow: number;
  readonly from: number;
  readonly toExclusive: number;
}

/** How far a search may go; absent means as far as the range. */
interface SearchBounds {
  readonly blocks?: number;
  readonly budget?: AckBudget;
}

/** Resolves what it can in a batch that a pop delivered: it is as large as the pop made it. */
export function searchBatch(context: PlanContext, range: OffsetRange): void {
  search(context, range, {});
  context.matcher.resolveRepeats();
}

/**
 * The same for a range that no pop bounded: what a conflating pop passed over and delivered, or what
 * lies ahead of a cursor without a lease. Returns whether the budget sufficed.
 */
export function searchAhead(context: PlanContext, work: AckWork, range: OffsetRange): boolean {
  const isWhole = search(context, range, { budget: work.budget, blocks: BLOCKS_AHEAD_MAX });
  const last = Math.max(range.from, range.toExclusive - 1);
  // A conflating pop delivered the newest message.
  if (!isWhole) search(context, { ...range, from: last }, { blocks: 1 });
  context.matcher.resolveRepeats();
  return isWhole;
}

/**
 * Looks for completed items without an offset among what the group has consumed: those that are
 * remembered have a noop verdict then, others may have an offset below `next`. Returns whether the
 * budget sufficed.
 */
export function searchConsumed(
  context: PlanContext,
  work: AckWork,
  place: {
    readonly queue: QueueState;
    readonly partitionRow: number;
    readonly next: number;
    readonly isOpen: (position: number) => boolean;
  },
): boolean {
  const { state } = context;
  const { command, target, verdicts, budget } = work;
  const { queue, partitionRow, next, isOpen } = place;
  let hasUnknown = false;
  for (const [position, item] of target.items.entries()) {
    if (!isOpen(position)) continue;
    if (budget.isSpent) return false;
    const query = { partitionRow, words: command.txnHashes, at: item * ID_WORDS };
    state.openBlocks.charge(LOOK_UP_COST_BYTES);
    if (isRememberedBelow(state, queue, query, next)) verdicts.noops[item] = 1;
    else hasUnknown = true;
  }
  return !hasUnknown || searchBelow(context, work, { partitionRow, next });
}

/** Looks for the open ids among the last messages that the group consumed, newest part first. */
function searchBelow(
  context: PlanContext,
  work: AckWork,
  { partitionRow, next }: { readonly partitionRow: number; readonly next: number },
): boolean {
  const { state, matcher } = context;
  const { budget } = work;
  const bounds = { budget, blocks: BLOCKS_SEARCHED_MAX };
  let toExclusive = next;
  let left = context.limits.ackMessagesScannedMax;
  // Parts grow, so that a recent id is found early and an unknown one costs a bounded search.
  for (let size = 256; left > 0 && toExclusive > 0 && matcher.unresolved > 0; size *= 4) {
    const from = Math.max(0, toExclusive - Math.min(size, left));
    if (toExclusive <= state.partitions.logStart.get(partitionRow)) return true;
    const isWhole = search(context, { partitionRow, from, toExclusive }, bounds);
    // A second mention of an id found here means the same message, not an older one.
    matcher.resolveRepeats();
    if (!isWhole) return !budget.isSpent;
    left -= toExclusive - from;
    toExclusive = from;
  }
  return true;
}

/**
 * Compares the messages of a range with the open ids, oldest first, until all are found.
 * @returns false when a bound was met before.
 */
function search(
  context: PlanContext,
  range: OffsetRange,
  { blocks: blocksMax = Infinity, budget }: SearchBounds,
): boolean {
  const { state, matcher } = context;
  const { blocks } = state;
  let left = blocksMax;
  const { partitionRow } = range;
  let record = blocks.firstAtOrAfter(partitionRow, range.from);
  for (
    ;
    record !== undefined && matcher.unresolved > 0;
    record = blocks.next(partitionRow, record)
  ) {
    const { baseOffset } = record;
    if (baseOffset >= range.toExclusive) return true;
    if (left === 0 || budget?.isSpent === true) return false;
    left -= 1;
    const first = Math.max(0, range.from - baseOffset);
    const end = Math.min(record.count, range.toExclusive - baseOffset);
    const compared = matcher.scan(openBlock(state, record), first, end);
    state.openBlocks.charge(compared * COMPARING_COST_BYTES);
  }
  return true;
}
