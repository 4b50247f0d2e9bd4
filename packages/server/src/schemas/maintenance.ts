// Bodies and answers of the maintenance routes (control-plane reference §5).

import { z } from 'zod';
import { Count } from './fields.ts';

/** `POST /system/maintenance` and `/system/maintenance/pop`. */
export const MaintenanceBody = z.object({ enabled: z.boolean() });

const Mirrored = z.literal(true).optional().describe('Every node follows; in answers to changes.');

/** Both flags. Nothing is ever buffered. */
export const MaintenanceAnswer = z.object({
  maintenanceMode: z.boolean().describe('Pushes are refused with 503.'),
  popMaintenanceMode: z.boolean().describe('Pops deliver nothing.'),
  bufferedMessages: Count,
  bufferHealthy: z.boolean(),
  mirrored: Mirrored,
});

/** The flag of pops. */
export const PopMaintenanceAnswer = z.object({
  popMaintenanceMode: z.boolean(),
  message: z.string(),
  mirrored: Mirrored,
});
