// Maintenance: which kinds of requests are paused.

import type { MaintenanceEffect } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** Replaces the flags. */
export function applyMaintenance(state: State, effect: MaintenanceEffect): void {
  const { pushPaused, popPaused } = effect;
  state.maintenance = { pushPaused, popPaused };
}
