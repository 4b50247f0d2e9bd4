// The answer of a lease extension (data-plane reference §4): always 200.

import { encodeUtf8, formatTimestampMs } from '@queen-ts/base';
import type { ExtendOutcome } from '../outcomes.ts';

/** Returns the body of the answer. `leaseId` is the path segment as it was sent. */
export function renderExtend(outcome: ExtendOutcome, leaseId: string): Uint8Array {
  const { expiresAtUs, renewed } = outcome;
  const expiresAt = renewed === 0 ? null : formatTimestampMs(expiresAtUs);
  return encodeUtf8(
    JSON.stringify({
      leaseId,
      success: renewed > 0,
      renewed,
      newExpiresAt: expiresAt,
      expiresAt,
      lease_expires_at: expiresAt,
    }),
  );
}
