// Lease extension: every live lease with the id ends later, never earlier (reference §4).

import type { ExtendCommand, ExtendOutcome } from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';
import { readCursor } from './cursor-row.ts';
import { liveLeases } from './leases.ts';

const US_PER_SECOND = 1_000_000;

/** Longest extension in seconds. */
const SECONDS_MAX = 2 ** 31 - 1;

/** Plans an extension. */
export function planExtend(context: PlanContext, command: ExtendCommand): ExtendOutcome {
  const { state } = context;
  if (command.leaseId === undefined) return { kind: 'extend', renewed: 0, expiresAtUs: 0 };
  const seconds = Math.min(Math.max(1, command.seconds), SECONDS_MAX);
  const wantedUs = state.nowUs + seconds * US_PER_SECOND;
  let earliestUs = Infinity;
  const rows = liveLeases(state, command.leaseId);
  for (const row of rows) {
    const expiresUs = Math.max(state.cursors.deliveries.leaseExpiresUs.get(row), wantedUs);
    if (expiresUs > state.cursors.deliveries.leaseExpiresUs.get(row)) {
      context.emit({ ...readCursor(state, row), leaseExpiresUs: expiresUs });
    }
    earliestUs = Math.min(earliestUs, expiresUs);
  }
  const renewed = rows.length;
  return { kind: 'extend', renewed, expiresAtUs: renewed === 0 ? 0 : earliestUs };
}
