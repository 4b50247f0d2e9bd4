// Maintenance: pushes or pops of the whole cluster pause (decisions D1, control-plane reference §5).

import { readMaintenance } from '@queen-ts/engine';
import type { Maintenance } from '@queen-ts/engine';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { bodyHandler, readState, submitAdmin } from '../http/control.ts';
import { readJsonBody } from '../http/json-body.ts';
import { MaintenanceBody } from '../schemas/maintenance.ts';
import type { Route } from './route.ts';

const PUSH_PATH = '/api/v1/system/maintenance';
const POP_PATH = '/api/v1/system/maintenance/pop';

/** The routes. */
export function maintenanceRoutes(edge: Edge): readonly Route[] {
  const show = async (render: Render): Promise<Response> =>
    json(render(await readState(edge, readMaintenance)));
  const change = (requests: 'push' | 'pop', render: Render): Route['handler'] =>
    bodyHandler(edge, async (exchange, body) => {
      const { enabled } = readJsonBody(MaintenanceBody, body);
      const command = { kind: 'maintenance', requests, paused: enabled } as const;
      const flags = await submitAdmin(edge, { exchange, body }, command);
      // Every node follows the flag as soon as it has applied the entry.
      return json({ ...render(flags), mirrored: true });
    });
  return [
    { method: 'GET', path: PUSH_PATH, handler: () => show(showAll) },
    { method: 'POST', path: PUSH_PATH, handler: change('push', showAll) },
    { method: 'GET', path: POP_PATH, handler: () => show(showPop) },
    { method: 'POST', path: POP_PATH, handler: change('pop', showPop) },
  ];
}

type Render = (flags: Maintenance) => object;

/** Nothing is ever buffered: a paused push is refused. */
function showAll({ pushPaused, popPaused }: Maintenance): object {
  return {
    maintenanceMode: pushPaused,
    popMaintenanceMode: popPaused,
    bufferedMessages: 0,
    bufferHealthy: true,
  };
}

function showPop({ popPaused }: Maintenance): object {
  const message = popPaused ? 'pops deliver nothing until they are resumed' : 'pops deliver';
  return { popMaintenanceMode: popPaused, message };
}
