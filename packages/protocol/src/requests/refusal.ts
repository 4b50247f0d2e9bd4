// Refusals that request parsers share.

import type { ErrorCode } from '../errors.ts';
import type { JsonScanner } from '../json/scanner.ts';
import type { Refused } from '../outcomes.ts';

/** Returns a refusal of the whole request. */
export function refuse(code: ErrorCode, message: string): Refused {
  return { kind: 'refused', code, message };
}

/** The refusal of a body whose scanner has failed. */
export function refuseMalformed(scanner: JsonScanner): Refused {
  const { expected, failedAt } = scanner;
  return refuse('bad_body', `the body is not valid JSON: expected ${expected} at byte ${failedAt}`);
}
