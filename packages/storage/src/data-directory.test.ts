// What a data directory refuses, how it is created, and who may have it open; with real files and real
// second processes.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { NodeId } from '@queen-ts/raft';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openDataDirectory } from './data-directory.ts';
import { StorageError, type StorageErrorCode } from './errors.ts';
import {
  entriesOf,
  entryOf,
  openBoth,
  readAll,
  sameEntry,
  saveLastTerm,
} from './testing/fixtures.ts';

const OTHER_PROCESS = new URL('./testing/other-process.ts', import.meta.url).pathname;

describe('openDataDirectory', () => {
  let root: string;
  let path: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    path = join(root, 'deep', 'data');
  });

  afterEach(() => rm(root, { recursive: true }));

  async function create(): Promise<void> {
    const opened = await openBoth(path);
    await opened.log.append(entriesOf(1, 4));
    await saveLastTerm(opened);
    await opened.directory.close();
  }

  async function expectRefusal(code: StorageErrorCode, named: string, nodeId = 1): Promise<void> {
    const error: unknown = await openBoth(path, { nodeId }).then(
      ({ directory }) => directory.close(),
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(StorageError);
    if (!(error instanceof StorageError)) return;
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^[^\n]+; remedy: [^\n]+$/);
    expect(error.message).toContain(named);
  }

  it('creates a directory with a readable identity and opens it again with the same one', async () => {
    const first = await openBoth(path, { seed: 5 });
    const { identity } = first.directory;
    expect([first.directory.isNew, first.directory.hardState.incarnation]).toEqual([
      true,
      identity.incarnation,
    ]);
    expect(identity.incarnation).toBeGreaterThanOrEqual(1);
    expect(identity.incarnation).toBeLessThan(2 ** 48);
    await first.directory.close();
    expect(JSON.parse(await readFile(join(path, 'identity.json'), 'utf8'))).toMatchObject({
      format: 'queen-ts data directory',
      version: 1,
      ...identity,
    });
    expect((await readdir(path)).toSorted()).toEqual([
      'durable',
      'identity.json',
      'lock',
      'log',
      'vote',
    ]);
    const second = await openBoth(path, { seed: 6 });
    expect([second.directory.isNew, second.directory.identity]).toEqual([false, identity]);
    expect(second.directory.warnings).toEqual([]);
    await second.directory.close();
  });

  it('accepts an empty directory, also the root of a new file system', async () => {
    await mkdir(join(path, 'lost+found'), { recursive: true });
    await create();
  });

  it('refuses a directory that is not one of ours, and changes nothing in it', async () => {
    await mkdir(path, { recursive: true });
    await writeFile(join(path, 'thesis.tex'), 'precious');
    await expectRefusal('DIRECTORY_FOREIGN', path);
    expect(await readdir(path)).toEqual(['thesis.tex']);
    path = join(path, 'thesis.tex');
    await expectRefusal('DIRECTORY_FOREIGN', path);
  });

  it('refuses the directory of another node', async () => {
    await create();
    await expectRefusal('NODE_MISMATCH', 'belongs to node 1, but this is node 2', 2);
  });

  it('refuses a version it does not know', async () => {
    await create();
    const identityPath = join(path, 'identity.json');
    const text = await readFile(identityPath, 'utf8');
    await writeFile(identityPath, text.replace('"version": 1', '"version": 2'));
    await expectRefusal('FORMAT_UNSUPPORTED', identityPath);
  });

  it('refuses an edited, emptied or deleted identity', async () => {
    await create();
    const identityPath = join(path, 'identity.json');
    const text = await readFile(identityPath, 'utf8');
    for (const wrong of [
      text.replace('"nodeId": 1', '"nodeId": 2'),
      text.replace('"nodeId": 1', '"nodeId": "1"'),
      `${text} `,
      '{}',
      '',
    ]) {
      await writeFile(identityPath, wrong);
      await expectRefusal('CORRUPTION', identityPath);
    }
    await rm(identityPath);
    await expectRefusal('CORRUPTION', `${identityPath}: the file is missing`);
  });

  it.each(['vote', 'durable', 'log'])('refuses when %s is missing', async (name) => {
    await create();
    await rm(join(path, name), { recursive: true });
    await expectRefusal('CORRUPTION', join(path, name));
    expect(await readdir(path)).not.toContain(name);
  });

  it('refuses a vote file that is older than the log', async () => {
    await create();
    const older = await readFile(join(path, 'vote'));
    const opened = await openBoth(path);
    await opened.directory.hardState.save({ term: 9, votedFor: 1 as NodeId, commitIndex: 3 });
    await opened.log.append([entryOf({ index: 4, term: 9 })]);
    await opened.directory.close();
    await writeFile(join(path, 'vote'), older);
    await expectRefusal('CORRUPTION', `${join(path, 'vote')}: term 1, but the log`);
  });

  it('refuses where the file system takes no directories, at once', async () => {
    for (const name of ['x', 'x/y/z']) {
      path = join('/proc', name);
      await expectRefusal('STORAGE_FAILED', '/proc/x');
    }
  });

  it('finishes a creation that a crash interrupted, whatever it had come to', async () => {
    await create();
    const parts = ['log', 'vote', 'durable', 'lock', 'identity.json.tmp'];
    for (let count = 0; count <= parts.length; count++) {
      const interrupted = join(root, `interrupted-${count}`);
      await mkdir(interrupted);
      await writeFile(join(interrupted, 'creating'), '');
      for (const part of parts.slice(0, count)) {
        if (part.endsWith('.tmp')) await writeFile(join(interrupted, part), '{');
        else await cp(join(path, part), join(interrupted, part), { recursive: true });
      }
      const { directory, log } = await openBoth(interrupted, { seed: 8 });
      expect([directory.isNew, log.lastIndex]).toEqual([true, 0]);
      await directory.close();
      const again = await openBoth(interrupted);
      expect(again.directory.isNew).toBe(false);
      await again.directory.close();
    }
  });

  it('does not create anew over a finished directory whose marker is still there', async () => {
    await create();
    await writeFile(join(path, 'creating'), '');
    const { directory, log } = await openBoth(path);
    expect([directory.isNew, log.lastIndex]).toEqual([false, 3]);
    await directory.close();
    expect(await readdir(path)).not.toContain('creating');
  });

  it('refuses a second opening in the same process, also by another name', async () => {
    const first = await openBoth(path);
    await expectRefusal('DIRECTORY_LOCKED', `this process (${process.pid})`);
    const directPath = path;
    path = join(root, 'link');
    await symlink(directPath, path);
    await expectRefusal('DIRECTORY_LOCKED', `this process (${process.pid})`);
    await first.log.append([entryOf({ index: 1 })]);
    await first.directory.close();
  });

  it('refuses a directory in use by another process and is refused by one, naming it', async () => {
    await create();
    const holder = startOther(path);
    expect(await nextLine(holder)).toBe('opened');
    await expectRefusal('DIRECTORY_LOCKED', `another process (pid ${holder.pid})`);
    holder.stdin?.end();
    await once(holder, 'exit');
    const { directory } = await openBoth(path);
    const refused = startOther(path);
    expect(await nextLine(refused)).toContain(`in use by another process (pid ${process.pid})`);
    await once(refused, 'exit');
    await directory.close();
  }, 30_000);

  it('is not held up by what a killed process left', async () => {
    await create();
    const holder = startOther(path);
    expect(await nextLine(holder)).toBe('opened');
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(await readFile(join(path, 'lock', 'owner'), 'utf8')).toBe(`pid ${holder.pid}\n`);
    const { directory, log } = await openBoth(path);
    expect(log.lastIndex).toBe(3);
    await directory.close();
  }, 30_000);

  it('replaces a damaged lock, which holds no data', async () => {
    await create();
    for (const nonsense of ['', 'nonsense', 'MANIFEST-000009\n']) {
      await writeFile(join(path, 'lock', 'CURRENT'), nonsense);
      const { directory, log } = await openBoth(path);
      expect(readAll(log).every((entry, i) => sameEntry(entry, entryOf({ index: i + 1 })))).toBe(
        true,
      );
      await directory.close();
    }
  });

  it('closes idempotently and gives the directory free', async () => {
    const { directory, log } = await openBoth(path);
    await directory.close();
    await directory.close();
    await log.close();
    await expect(log.append([entryOf({ index: 1 })])).rejects.toMatchObject({
      code: 'STORE_CLOSED',
    });
    await create();
  });

  it('passes an error of the file system on as STORAGE_FAILED', async () => {
    const schedule = () => () => undefined;
    const rng = {
      u32: (): number => {
        throw new Error('no entropy');
      },
    };
    await expect(
      openDataDirectory({ path, nodeId: 1 as NodeId, rng, schedule }),
    ).rejects.toMatchObject({ code: 'STORAGE_FAILED', cause: { message: 'no entropy' } });
    await create();
  });
});

function startOther(path: string): ChildProcess {
  return spawn(process.execPath, ['--conditions=source', OTHER_PROCESS, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

async function nextLine(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  return text.trimEnd();
}
