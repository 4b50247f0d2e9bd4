// Maintenance: pushes or pops of the whole cluster are paused or resumed.

import { EFFECT } from '@queen-ts/protocol';
import type { MaintenanceCommand, MaintenanceOutcome, Refused } from '@queen-ts/protocol';
import type { PlanContext } from '../plan/context.ts';

/** Plans a change of one flag; setting it to what it is has no effect. */
export function planMaintenance(
  context: PlanContext,
  command: MaintenanceCommand,
): MaintenanceOutcome {
  const before = context.state.maintenance;
  const after =
    command.requests === 'push'
      ? { ...before, pushPaused: command.paused }
      : { ...before, popPaused: command.paused };
  const isChanged = after.pushPaused !== before.pushPaused || after.popPaused !== before.popPaused;
  if (isChanged) context.emit({ kind: EFFECT.MAINTENANCE, ...after });
  return { kind: 'maintenance', ...after };
}

/** The refusal of everything that stores messages while pushes are paused; else undefined. */
export function refusePaused(context: PlanContext): Refused | undefined {
  if (!context.state.maintenance.pushPaused) return undefined;
  const message = 'pushes are paused for maintenance; nothing was changed, try again later';
  return { kind: 'refused', code: 'maintenance', message };
}
