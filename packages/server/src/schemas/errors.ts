// Bodies of refusals (data-plane reference §0.5).

import { ERRORS } from '@queen-ts/protocol';
import type { ErrorCode } from '@queen-ts/protocol';
import { z } from 'zod';

const CODES = Object.keys(ERRORS) as ErrorCode[];

/** What nearly every refusal looks like. */
export const ErrorEnvelope = z.object({
  error: z.string().min(1).describe('What was wrong, and what to send instead.'),
  code: z.enum(CODES).describe('Stable; programs look at this and not at the text.'),
  leader: z.string().optional().describe('Where the leader is, where that helps.'),
});

/** The answer where no route is. */
export const NoSuchRoute = z.object({
  code: z.literal('no_such_route'),
  error: z.string(),
  path: z.string(),
});

/** A refusal without a code. */
export const PlainError = z.object({ error: z.string().min(1) });

/** A refusal of the routes that answer with `success`. */
export const Unsuccessful = z.object({ success: z.literal(false), error: z.string().min(1) });
