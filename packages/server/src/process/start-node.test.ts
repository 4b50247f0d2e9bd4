// A whole node in this process, on a real data directory.

import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../config/config.ts';
import type { Config } from '../config/config.ts';
import { EdgeCounters } from '../metrics/edge-counters.ts';
import { RawClient } from '../testing/raw-client.ts';
import { createLog } from './log.ts';
import { startNode } from './start-node.ts';
import type { RunningNode } from './start-node.ts';
import { createStartingApp } from './starting-app.ts';

const PUSH = '{"items":[{"queue":"q","payload":{"n":1}}]}';
const TEST_MS_MAX = 30_000;

let folder: string;
const nodes: RunningNode[] = [];
const failures: unknown[] = [];
const log = createLog({ logLevel: 'silent', logJson: true, nodeId: 1 }, { write: () => {} });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'queen-ts-node-'));
});

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
  await rm(folder, { recursive: true, force: true });
  expect(failures.splice(0)).toEqual([]);
});

function config(settings: Readonly<Record<string, string>> = {}): Config {
  const QUEEN_RAFT_DIR = join(folder, 'data');
  return readConfig({ PORT: '0', QUEEN_BIND_ADDR: '127.0.0.1', QUEEN_RAFT_DIR, ...settings });
}

async function start(settings: Readonly<Record<string, string>> = {}): Promise<RunningNode> {
  const onFailure = (error: unknown) => void failures.push(error);
  const node = await startNode(config(settings), { log, onFailure });
  nodes.push(node);
  return node;
}

async function stop(node: RunningNode): Promise<void> {
  nodes.splice(nodes.indexOf(node), 1);
  await node.stop();
}

describe('a node', () => {
  test(
    'stores what it acknowledges, and delivers it after a restart',
    async () => {
      const first = await start();
      expect(first.isNew).toBe(true);
      const client = await RawClient.open(first.address.port);
      await client.post('/api/v1/push', PUSH);
      expect((await client.answer()).json).toMatchObject([{ status: 'queued', offset: 0 }]);
      await stop(first);
      await client.ended();

      const second = await start();
      expect(second.isNew).toBe(false);
      const again = await RawClient.open(second.address.port);
      await again.get('/api/v1/pop/queue/q');
      expect((await again.answer()).json).toMatchObject({ messages: [{ data: { n: 1 } }] });
    },
    TEST_MS_MAX,
  );

  test(
    'answers its waiting pops when it stops',
    async () => {
      const node = await start();
      const client = await RawClient.open(node.address.port);
      await client.get('/api/v1/pop/queue/q?wait=true&timeout=60000');
      const probe = await RawClient.open(node.address.port);
      for (let parked = 0; parked === 0;) {
        await probe.get('/metrics/prometheus');
        const { body } = await probe.answer();
        parked = Number(/^queen_parked_long_polls (\d+)$/m.exec(body)?.[1]);
      }
      await stop(node);
      const answer = await client.answer();
      expect(answer.status).toBe(204);
      expect(answer.headers.get('queen-pop-reason')).toBe('empty');
      await client.ended();
      await probe.ended();
    },
    TEST_MS_MAX,
  );

  test('that finds its port taken leaves no data directory behind', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve);
    });
    const { port } = other.address() as AddressInfo;
    await expect(start({ PORT: String(port) })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(existsSync(join(folder, 'data'))).toBe(false);
    other.close();
  });

  test(
    'that finds its directory in use lets go of its port',
    async () => {
      const first = await start();
      const probe = createServer();
      await new Promise<void>((resolve) => {
        probe.listen(0, '127.0.0.1', resolve);
      });
      const { port } = probe.address() as AddressInfo;
      await new Promise((resolve) => {
        probe.close(resolve);
      });
      await expect(start({ PORT: String(port) })).rejects.toMatchObject({
        code: 'DIRECTORY_LOCKED',
      });
      await expect(RawClient.open(port)).rejects.toThrow('ECONNREFUSED');
      expect(first.address.port).not.toBe(port);
    },
    TEST_MS_MAX,
  );
});

describe('while a node starts', () => {
  const app = createStartingApp({ log, counters: new EdgeCounters(), crash: () => {} });

  test('it is alive, but not ready', async () => {
    const health = await app.request('/health');
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ status: 'settling', engine: 'raft' });
    expect((await app.request('/health/live')).status).toBe(200);
  });

  test('everything else is asked to come back', async () => {
    const answer = await app.request('/api/v1/push', { method: 'POST', body: PUSH });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toMatchObject({ code: 'no_leader' });
  });
});
