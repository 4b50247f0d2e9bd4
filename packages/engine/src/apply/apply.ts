// One function per effect changes the tables. The leader calls it when it plans, replicas when they
// apply: there is no second way to change state.

import { unreachable } from '@queen-ts/base';
import { EFFECT } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import type { State } from '../state.ts';
import { applyAppend } from './append.ts';
import { applyCursorDelete, applyCursorPut } from './cursor.ts';
import { applyDeadLetterDelete, applyDeadLetterPut } from './dead-letter.ts';
import { applyGenesis } from './genesis.ts';
import { applyGroupDelete, applyGroupPut } from './group.ts';
import { applyLogStart } from './log-start.ts';
import { applyMaintenance } from './maintenance.ts';
import { applyPartitionDelete, applyPartitionPut } from './partition.ts';
import { applyQueueDelete, applyQueuePut } from './queue.ts';

/** Applies one effect. Throws InvariantError when it does not fit the state. */
export function applyEffect(state: State, effect: Effect): void {
  switch (effect.kind) {
    case EFFECT.GENESIS:
      return applyGenesis(state, effect);
    case EFFECT.QUEUE_PUT:
      return applyQueuePut(state, effect);
    case EFFECT.QUEUE_DELETE:
      return applyQueueDelete(state, effect);
    case EFFECT.PARTITION_PUT:
      return applyPartitionPut(state, effect);
    case EFFECT.PARTITION_DELETE:
      return applyPartitionDelete(state, effect);
    case EFFECT.APPEND:
      return applyAppend(state, effect);
    case EFFECT.LOG_START:
      return applyLogStart(state, effect);
    case EFFECT.GROUP_PUT:
      return applyGroupPut(state, effect);
    case EFFECT.GROUP_DELETE:
      return applyGroupDelete(state, effect);
    case EFFECT.CURSOR_PUT:
      return applyCursorPut(state, effect);
    case EFFECT.CURSOR_DELETE:
      return applyCursorDelete(state, effect);
    case EFFECT.DEAD_LETTER_PUT:
      return applyDeadLetterPut(state, effect);
    case EFFECT.DEAD_LETTER_DELETE:
      return applyDeadLetterDelete(state, effect);
    case EFFECT.MAINTENANCE:
      return applyMaintenance(state, effect);
    default:
      return unreachable(effect);
  }
}
