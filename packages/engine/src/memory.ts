// How long transaction ids are remembered. One index serves all queues, so the longest memory among
// them counts. Derived: replicas may forget at other moments without consequence.

import type { State } from './state.ts';

/** Ids are looked at this often, in microseconds of entry time. */
const INTERVAL_US = 1_000_000;

/** Forgets the ids that no queue needs any longer. */
export function forgetIds(state: State): void {
  if (state.dedup.count === 0 || state.nowUs < state.forgetAtUs) return;
  state.forgetAtUs = state.nowUs + INTERVAL_US;
  if (state.rememberVersion !== state.queuesVersion) {
    state.rememberVersion = state.queuesVersion;
    state.rememberUs = 0;
    for (const queue of state.queuesByName.values()) {
      state.rememberUs = Math.max(state.rememberUs, queue.rememberUs);
    }
  }
  state.dedup.forgetBefore(state.nowUs - state.rememberUs);
}
