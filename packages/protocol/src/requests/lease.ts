// `POST /api/v1/lease/:leaseId/extend` (data-plane reference §4). Nothing in this request is refused:
// a body that says nothing means the default, and an id that is none matches nothing.

import { decodeUtf8, parseUuid } from '@queen-ts/base';
import type { ExtendCommand } from '../commands.ts';
import { EXTEND_SECONDS_DEFAULT, EXTEND_SECONDS_MAX } from '../limits.ts';

/** Reads an extension. `seconds` that is no integer counts as absent; it is held to [1, 2^31). */
export function parseExtend(leaseId: string, body: Uint8Array): ExtendCommand {
  const asked = readSeconds(body) ?? EXTEND_SECONDS_DEFAULT;
  const seconds = Math.min(Math.max(1, asked), EXTEND_SECONDS_MAX);
  return { kind: 'extend', leaseId: parseUuid(leaseId), seconds };
}

function readSeconds(body: Uint8Array): number | undefined {
  const text = decodeUtf8(body, 0, body.length);
  if (text === undefined || text === '') return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The reference treats an unreadable body like an empty one.
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || !('seconds' in parsed)) return undefined;
  const { seconds } = parsed;
  return typeof seconds === 'number' && Number.isInteger(seconds) ? seconds : undefined;
}
