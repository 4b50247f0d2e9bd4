// Release: a claim that nobody received ends at once, as if it had not been made (decisions D2).

import type { ReleaseCommand, ReleaseOutcome } from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';
import { NO_ATTEMPT, NO_LEASE, readCursor } from './cursor-row.ts';
import { liveLeases } from './leases.ts';

/** Plans a release. The retry counter stays, the attempt is taken back. */
export function planRelease(context: PlanContext, command: ReleaseCommand): ReleaseOutcome {
  const rows = liveLeases(context.state, command.leaseId);
  for (const row of rows) {
    const cursor = readCursor(context.state, row);
    const attempt =
      cursor.attemptCount > 1
        ? { attemptFrom: cursor.attemptFrom, attemptCount: cursor.attemptCount - 1 }
        : NO_ATTEMPT;
    context.emit({ ...cursor, ...NO_LEASE, ...attempt });
  }
  return { kind: 'release', released: rows.length };
}
