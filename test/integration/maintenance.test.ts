// Maintenance over HTTP: what pauses, what goes on, and that the flags are durable.

import { afterEach, describe, expect, it } from 'vitest';
import { within } from '../support/eventually.ts';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';

const PATH = '/api/v1/system/maintenance';

const broker = useBroker();

async function set(path: string, enabled: boolean): Promise<object> {
  return expectJson<object>(await broker.client.post(path, { enabled }), 200);
}

afterEach(async () => {
  await set(PATH, false);
  await set(`${PATH}/pop`, false);
});

describe('paused pushes', () => {
  it('are refused with a hint to come back, while pops and acks go on', async () => {
    const queue = broker.queueName();
    await broker.client.push([{ queue, payload: 1, transactionId: 'a' }]);
    expect(await set(PATH, true)).toMatchObject({ maintenanceMode: true, mirrored: true });
    const refused = await broker.client.post('/api/v1/push', { items: [{ queue, payload: 2 }] });
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'maintenance' });
    const batch = await broker.client.pop(queue);
    const { partitionId = '', leaseId = '' } = batch ?? {};
    const [verdict] = await broker.client.ack([{ transactionId: 'a', partitionId, leaseId }]);
    expect(verdict?.success).toBe(true);
    await set(PATH, false);
    await broker.client.push([{ queue, payload: 2 }]);
  });

  it('stay paused over a restart', async () => {
    await set(PATH, true);
    await broker.process.kill();
    await broker.process.start();
    const answer = await broker.client.request('GET', PATH);
    expect(expectJson<object>(answer, 200)).toEqual({
      maintenanceMode: true,
      popMaintenanceMode: false,
      bufferedMessages: 0,
      bufferHealthy: true,
    });
  });
});

describe('paused pops', () => {
  it('deliver nothing and say why; waiting ones get their messages when it is over', async () => {
    const queue = broker.queueName();
    await broker.client.push([{ queue, payload: 1 }]);
    await set(`${PATH}/pop`, true);
    const empty = await broker.client.popRaw(`queue/${queue}`, {});
    expect(empty.status).toBe(204);
    expect(empty.headers['queen-pop-reason']).toBe('paused');
    const waiting = broker.client.pop(queue, { wait: true, timeout: 20_000 });
    await broker.client.parked(1);
    await set(`${PATH}/pop`, false);
    const batch = await within('the resumed pop', waiting, 5000);
    expect(batch?.messages).toHaveLength(1);
  });
});
