// How bodies name a partition (data-plane reference §11).

import { DEFAULT_PARTITION } from '@queen-ts/protocol';
import { z } from 'zod';

/** A name; a number is taken as its digits; absent and null mean the default partition. */
export const PartitionName = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((name) => (name === null || name === undefined ? DEFAULT_PARTITION : String(name)))
  .describe('Absent and null: `Default`. A number is taken as its digits.');
