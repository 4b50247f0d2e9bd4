// Starting on what cannot work: exit code 1, one line on stderr that says why, and nothing changed.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { BrokerProcess, makeDataDir, runToExit } from '../support/broker-process.ts';
import type { FinishedRun } from '../support/broker-process.ts';

const brokers: BrokerProcess[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const broker of brokers.splice(0)) await broker.dispose();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A data directory that a broker wrote, with a message in queue `q`; the broker has ended. */
async function writtenByBroker(): Promise<BrokerProcess> {
  const broker = await BrokerProcess.launch();
  brokers.push(broker);
  await broker.client.push([{ queue: 'q', payload: 'kept' }]);
  await broker.terminate();
  return broker;
}

async function emptyFolder(): Promise<string> {
  const folder = await makeDataDir();
  folders.push(folder);
  return folder;
}

function expectRefusal(run: FinishedRun, reason: RegExp): void {
  expect(run.code, run.stderr).toBe(1);
  const lines = run.stderr.split('\n').filter((line) => line.trim() !== '');
  expect(lines).toEqual([expect.stringMatching(reason)]);
}

async function expectKept(broker: BrokerProcess): Promise<void> {
  await broker.start();
  const batch = await broker.client.pop('q');
  expect(batch?.messages.map(({ data }) => data)).toEqual(['kept']);
}

describe('a broker refuses to start', () => {
  it('on a data directory of a format that it does not know', async () => {
    const broker = await writtenByBroker();
    const identity = join(broker.dataDir, 'identity.json');
    const text = await readFile(identity, 'utf8');
    const later = text.replace(/("version":\s*)\d+/, '$1999');
    expect(later).not.toBe(text);
    await writeFile(identity, later);
    expectRefusal(await runToExit({ QUEEN_RAFT_DIR: broker.dataDir }), /identity\.json.*999/);
    await writeFile(identity, text);
    await expectKept(broker);
  });

  it('on the data directory of another node', async () => {
    const broker = await writtenByBroker();
    const run = await runToExit({ QUEEN_RAFT_DIR: broker.dataDir, QUEEN_RAFT_NODE_ID: '2' });
    expectRefusal(run, /node 1\b.*node 2\b/);
    await expectKept(broker);
  });

  it('on a data directory that another process uses, which goes on undisturbed', async () => {
    const broker = await BrokerProcess.launch();
    brokers.push(broker);
    await broker.client.push([{ queue: 'q', payload: 'kept' }]);
    expectRefusal(await runToExit({ QUEEN_RAFT_DIR: broker.dataDir }), /in use/);
    const [verdict] = await broker.client.push([{ queue: 'q', payload: 'more' }]);
    expect(verdict).toMatchObject({ status: 'queued', offset: 1 });
  });

  it('on a folder that holds something else, and leaves it as it was', async () => {
    const folder = await emptyFolder();
    await writeFile(join(folder, 'thesis.txt'), 'do not touch');
    expectRefusal(await runToExit({ QUEEN_RAFT_DIR: folder }), /not a data directory/);
    expect(await readFile(join(folder, 'thesis.txt'), 'utf8')).toBe('do not touch');
  });

  it('on a damaged identity', async () => {
    const broker = await writtenByBroker();
    const identity = join(broker.dataDir, 'identity.json');
    const text = await readFile(identity, 'utf8');
    await writeFile(identity, text.slice(0, text.length / 2));
    expectRefusal(await runToExit({ QUEEN_RAFT_DIR: broker.dataDir }), /identity\.json/);
    await writeFile(identity, text);
    await expectKept(broker);
  });

  it('on a data directory whose log is gone', async () => {
    const broker = await writtenByBroker();
    await rm(join(broker.dataDir, 'log'), { recursive: true });
    expectRefusal(await runToExit({ QUEEN_RAFT_DIR: broker.dataDir }), /log/);
  });

  it('where a file stands in the place of the directory', async () => {
    const path = join(await emptyFolder(), 'file');
    await writeFile(path, '');
    expectRefusal(await runToExit({ QUEEN_RAFT_DIR: path }), /file/);
  });

  it('where the file system takes no directories', async () => {
    expectRefusal(await runToExit({ QUEEN_RAFT_DIR: '/proc/x' }), /\/proc\/x.*; remedy: /);
  });

  it('on a port that is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    try {
      const dataDir = join(await emptyFolder(), 'new');
      expectRefusal(await runToExit({ QUEEN_RAFT_DIR: dataDir, PORT: port }), new RegExp(port));
    } finally {
      server.close();
    }
  });

  it.each([
    ['PORT', 'http'],
    ['PORT', '70000'],
    ['QUEEN_BIND_ADDR', '127.0.0.1:6632'],
    ['QUEEN_RAFT_NODE_ID', '0'],
    ['QUEEN_MAX_BODY_BYTES', '64MB'],
    ['LOG_LEVEL', 'chatty'],
    ['DEFAULT_SUBSCRIPTION_MODE', 'sometimes'],
  ])('with a setting that makes no sense: %s=%s', async (name, value) => {
    const dataDir = join(await emptyFolder(), 'new');
    const run = await runToExit({ QUEEN_RAFT_DIR: dataDir, [name]: value });
    expectRefusal(run, new RegExp(name));
    await expect(mkdir(dataDir)).resolves.toBeUndefined();
  });
});
