// Bodies of the routes of dead letters (data-plane reference §8.2).

import { z } from 'zod';

const Name = z.string().trim().min(1).nullish();

/** Where a replay goes; either half defaults to where the message came from. */
export const ReplayBody = z.object({ queue: Name, partition: Name });
