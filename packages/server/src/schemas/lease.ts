// `POST /lease/:leaseId/extend` (data-plane reference §4).

import { z } from 'zod';
import { Count, Milliseconds } from './fields.ts';

/** The body; an empty or unreadable one means 60 seconds. */
export const ExtendBody = z.object({
  seconds: z.int().optional().describe('From now on; less than 1 counts as 1. Never shortens.'),
});

/** The same instant three times, as clients of several ages look for it. */
export const ExtendAnswer = z.object({
  leaseId: z.string().describe('As it stood in the path.'),
  success: z.boolean(),
  renewed: Count.describe('Partitions whose lease now lasts longer.'),
  newExpiresAt: Milliseconds.nullable(),
  expiresAt: Milliseconds.nullable(),
  lease_expires_at: Milliseconds.nullable(),
});
