// Cursors: replaced as whole rows. Rings and timers follow from what the row says.

import { assert } from '@queen-ts/base';
import type { CursorDeleteEffect, CursorPutEffect } from '@queen-ts/protocol';
import { groupByNumber, partitionRowByNumber } from '../invariants.ts';
import type { GroupState } from '../queue-state.ts';
import { arm, forgetLease, noteLease, noteNoLease } from '../readiness.ts';
import type { State } from '../state.ts';

/** Creates or replaces a cursor. */
export function applyCursorPut(state: State, effect: CursorPutEffect): void {
  const { cursors, partitions } = state;
  const partitionRow = partitionRowByNumber(state, effect.partition);
  const group = groupByNumber(state, effect.group);
  const tail = partitions.tail.get(partitionRow);
  assert(
    group.queue.number === partitions.queue.get(partitionRow) &&
      effect.next <= tail &&
      effect.leaseToExclusive <= tail,
    () => `cursor of group ${effect.group} in partition ${effect.partition} at ${effect.next}`,
  );
  let row = cursors.find(partitionRow, effect.group);
  if (row === 0) {
    row = cursors.add(partitionRow, effect.group);
    group.cursors += 1;
  }
  const isLeased = effect.leaseToExclusive > 0;
  // The timer hangs on the delivery, which may go.
  if (!isLeased) forgetLease(state, row, group);
  cursors.put(row, effect);
  partitions.activeUs.set(partitionRow, state.nowUs);
  if (isLeased) noteLease(state, row, group);
  else noteNoLease(state, row, group);
}

/** Removes a cursor. */
export function applyCursorDelete(state: State, effect: CursorDeleteEffect): void {
  const partitionRow = partitionRowByNumber(state, effect.partition);
  const row = state.cursors.find(partitionRow, effect.group);
  assert(row !== 0, () => `no cursor of group ${effect.group} in partition ${effect.partition}`);
  const group = groupByNumber(state, effect.group);
  forgetCursor(state, group, row);
  // The group starts again there by its subscription.
  arm(state, group, partitionRow);
}

/** Removes a cursor row with its timer. */
export function forgetCursor(state: State, group: GroupState, row: number): void {
  forgetLease(state, row, group);
  state.cursors.remove(row);
  group.cursors -= 1;
}
