// Bodies of the routes of consumer groups (data-plane reference §9).

import { z } from 'zod';
import { PartitionName } from './partition.ts';

/** Most partitions of one call for positions. */
export const POSITIONS_MAX = 65_536;

/** `POST …/seek`: to the end, or to the first append at or after a time; the end wins. */
export const SeekBody = z.object({
  toEnd: z.boolean().nullish(),
  timestamp: z.string().nullish(),
});

/** `POST …/subscription`. */
export const SubscriptionBody = z.object({ subscriptionTimestamp: z.string() });

/** `POST /consumer-groups/positions`; without entries, all positions of the group. */
export const PositionsBody = z.object({
  consumerGroup: z.string(),
  entries: z
    .array(z.object({ queue: z.string(), partition: PartitionName }))
    .max(POSITIONS_MAX, 'too many entries')
    .nullish(),
});
