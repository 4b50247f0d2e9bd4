// Pausing and resuming, over an engine.

import { describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';

const PATH = '/api/v1/system/maintenance';

describe('maintenance', () => {
  test('of pushes is off, goes on and off again', async () => {
    const { send } = engineEdge();
    const off =
      '{"maintenanceMode":false,"popMaintenanceMode":false,"bufferedMessages":0,"bufferHealthy":true';
    expect((await send('GET', PATH)).text).toBe(`${off}}`);
    const on = await send('POST', PATH, { enabled: true });
    expect(on.text).toBe(`${off.replace('false', 'true')},"mirrored":true}`);
    const push = await send('POST', '/api/v1/push', { items: [{ queue: 'q', payload: 1 }] });
    expect(push.status).toBe(503);
    expect(push.body).toMatchObject({ code: 'maintenance' });
    expect((await send('POST', PATH, { enabled: false })).text).toBe(`${off},"mirrored":true}`);
    const again = await send('POST', '/api/v1/push', { items: [{ queue: 'q', payload: 1 }] });
    expect(again.status).toBe(201);
  });

  test('of pops leaves pushes alone', async () => {
    const { driver, send } = engineEdge();
    const on = await send('POST', `${PATH}/pop`, { enabled: true });
    expect(on.body).toMatchObject({ popMaintenanceMode: true, mirrored: true });
    driver.push({ queue: 'q' });
    expect(driver.pop({ queue: 'q' }).reason).toBe('paused');
    const shown = await send('GET', `${PATH}/pop`);
    expect(shown.body).toMatchObject({ popMaintenanceMode: true });
    expect((await send('GET', PATH)).body).toMatchObject({
      maintenanceMode: false,
      popMaintenanceMode: true,
    });
    await send('POST', `${PATH}/pop`, { enabled: false });
    expect(driver.pop({ queue: 'q' }).messages).toHaveLength(1);
  });

  test.each(['', '{}', '{"enabled":"yes"}', '{"enabled":1}'])('refuses %s', async (body) => {
    const { driver, send } = engineEdge();
    const { status } = await send('POST', PATH, body);
    expect(status).toBe(400);
    expect(driver.push({ queue: 'q' })[0]?.status).toBe('queued');
  });
});
