// Bodies of the maintenance routes (control-plane reference §5).

import { z } from 'zod';

/** `POST /system/maintenance` and `/system/maintenance/pop`. */
export const MaintenanceBody = z.object({ enabled: z.boolean() });
