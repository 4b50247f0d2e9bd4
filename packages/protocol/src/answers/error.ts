// The error envelope (data-plane reference §0.5).

import { encodeUtf8 } from '@queen-ts/base';
import type { ErrorCode } from '../errors.ts';

/** What an envelope says. */
export interface ErrorAnswer {
  readonly code: ErrorCode;
  /** What was wrong and what to do instead, for people. */
  readonly message: string;
  /** Further members, after the two that every envelope has: `leader`, `path`. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Returns the body of an error answer; its status is that of the code in `ERRORS`. */
export function renderError({ code, message, details }: ErrorAnswer): Uint8Array {
  return encodeUtf8(JSON.stringify({ error: message, code, ...details }));
}
