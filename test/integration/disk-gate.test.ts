// A disk that is nearly full: a small tmpfs as the data directory of a real process, and another file on it
// that takes the room. Messages are refused and everything else goes on; on a disk without any room left
// the reserve lets the next start open the log.

import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { eventually } from '../support/eventually.ts';
import type { Answer } from '../support/http-client.ts';
import { MemoryDisk } from '../support/memory-disk.ts';
import { findObstacle, nameOrSkip } from '../support/mount.ts';

const MEBIBYTE = 1_048_576;
const DISK_BYTES = 192 * MEBIBYTE;

const obstacle = await findObstacle('disk gate, no tmpfs', async (folder) => {
  await (await MemoryDisk.mount(folder, MEBIBYTE)).dispose();
});

let broker: BrokerProcess | undefined;
let disk: MemoryDisk | undefined;

afterEach(async () => {
  await broker?.kill();
  await disk?.dispose();
  await broker?.dispose();
});

async function launch(): Promise<BrokerProcess> {
  const env = { QUEEN_RAFT_DISK_HIGH_PCT: '50', QUEEN_RAFT_DISK_LOW_PCT: '40' };
  const process = (broker = await BrokerProcess.launch({ env }));
  await process.kill();
  disk = await MemoryDisk.mount(process.dataDir, DISK_BYTES);
  await process.start();
  return process;
}

/** Fills a file with so many bytes, or with all that there is room for. */
async function fill(path: string, sizeBytes: number): Promise<void> {
  const file = await open(path, 'w');
  const piece = Buffer.alloc(MEBIBYTE / 16, 'x');
  try {
    for (let at = 0; at < sizeBytes; at += piece.length) await file.write(piece);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    await file.close();
  }
}

function push(process: BrokerProcess, queue: string): Promise<Answer> {
  return process.client.post('/api/v1/push', { items: [{ queue, payload: 'x' }] });
}

async function untilPushIs(process: BrokerProcess, status: number): Promise<void> {
  await eventually(`a push answered ${status}`, async () => {
    return (await push(process, 'probe')).status === status;
  });
}

describe.skipIf(obstacle !== undefined)(nameOrSkip('a disk that is nearly full', obstacle), () => {
  it('takes no messages, does everything else, and takes messages again with room', async () => {
    const process = await launch();
    const { client } = process;
    const filler = join(process.dataDir, 'filler');
    for (const queue of ['q', 'q', 'q', 'gone'])
      expect((await push(process, queue)).status).toBe(201);
    await client.configure('q', { deadLetterQueue: true });
    const first = (await client.pop('q', { batch: 1 }))?.messages[0];
    await client.post('/api/v1/ack', { ...first, status: 'dlq' });
    const { text } = await client.request('GET', '/api/v1/dlq');
    const [letter] = (JSON.parse(text) as { messages: { id: string }[] }).messages;

    await fill(filler, DISK_BYTES * 0.6);
    await untilPushIs(process, 507);
    const item = { queue: 'q', payload: 1 };
    const refused = [
      await client.post('/api/v1/push', { items: [item] }),
      await client.post('/api/v1/transaction', { operations: [{ type: 'push', items: [item] }] }),
      await client.post(`/api/v1/dlq/${letter?.id}/replay`, {}),
    ];
    for (const { status, headers, text: body } of refused) {
      expect(status).toBe(507);
      expect(headers['retry-after']).toBe('5');
      expect(JSON.parse(body)).toMatchObject({ code: 'storage_full' });
    }
    expect(await client.push([])).toEqual([]);
    const second = (await client.pop('q', { batch: 1 }))?.messages[0];
    const acked = await client.post('/api/v1/ack', { ...second, status: 'completed' });
    expect(JSON.parse(acked.text)).toMatchObject([{ success: true }]);
    const third = (await client.pop('q', { batch: 1 }))?.messages[0];
    const operations = [{ type: 'ack', ...third, status: 'completed' }];
    const bundle = await client.post('/api/v1/transaction', { operations });
    expect(JSON.parse(bundle.text)).toMatchObject({ success: true });
    expect(await client.deleteQueue('gone')).toMatchObject({ existed: true });
    expect((await client.configure('new', { leaseTime: 9 })).configured).toBe(true);
    const metrics = await client.request('GET', '/metrics/prometheus');
    expect(metrics.text).toMatch(/^queen_raft_storage_full 1$/m);

    await rm(filler);
    await untilPushIs(process, 201);
    expect(process.log).toMatch(/refusing messages/);
    expect(process.log).toMatch(/taking messages/);
  });

  it('without any room left gives up its reserve to start, more than once', async () => {
    const process = await launch();
    const filler = join(process.dataDir, 'filler');
    const payload = 'x'.repeat(100_000);
    const items = Array.from({ length: 50 }, (_, i) => ({
      queue: 'q',
      transactionId: String(i),
      payload,
    }));
    await process.client.push(items);
    await process.kill();
    await fill(join(process.dataDir, 'reserve'), 64 * MEBIBYTE);
    await fill(filler, DISK_BYTES);

    for (let start = 1; start <= 2; start += 1) {
      await process.start();
      expect(process.log.split('gave up the reserve')).toHaveLength(start + 1);
      expect((await push(process, 'q')).status).toBe(507);
      const [message] = (await process.client.pop('q', { batch: 1 }))?.messages ?? [];
      const acked = await process.client.post('/api/v1/ack', { ...message, status: 'completed' });
      expect(JSON.parse(acked.text)).toMatchObject([{ success: true }]);
      await process.kill();
      await fill(join(process.dataDir, `filler-${start}`), DISK_BYTES);
    }

    await rm(filler);
    await process.start();
    await untilPushIs(process, 201);
    const rest = await process.client.pop('q', { batch: 100 });
    expect(rest?.messages).toHaveLength(48);
  });
});
