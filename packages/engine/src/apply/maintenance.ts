// Maintenance: which kinds of requests are paused.

import type { MaintenanceEffect } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** Replaces the flags. Resumed pops may find something in every queue. */
export function applyMaintenance(state: State, effect: MaintenanceEffect): void {
  const { pushPaused, popPaused } = effect;
  const isResumed = state.maintenance.popPaused && !popPaused;
  state.maintenance = { pushPaused, popPaused };
  if (!isResumed || !state.isSignalling) return;
  for (const queue of state.queuesByName.values()) state.signals.appended(queue.number, 0);
}
