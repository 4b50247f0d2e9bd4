// A disk that is really full: a small tmpfs. Needs the right to mount one.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { Entry } from '@queen-ts/raft';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { StorageError } from './errors.ts';
import { entryOf, openBoth, readAll, sameEntry } from './testing/fixtures.ts';

const run = promisify(execFile);

describe('a full disk', () => {
  let mountPoint: string;
  let obstacle: string | undefined;

  beforeAll(async () => {
    mountPoint = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    await run('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', mountPoint]).catch(
      (error: Error) => {
        obstacle = `cannot mount a tmpfs: ${error.message.trim()}`;
      },
    );
  });

  afterAll(async () => {
    if (obstacle === undefined) await run('umount', [mountPoint]);
    await rm(mountPoint, { recursive: true });
  });

  for (const round of [1, 2, 3]) {
    it(`ends all acknowledging and loses nothing acknowledged (round ${round})`, async ({
      skip,
    }) => {
      if (obstacle !== undefined) return skip(obstacle);
      await fillAndReopen(mountPoint, round);
    }, 30_000);
  }
});

async function fillAndReopen(mountPoint: string, round: number): Promise<void> {
  const path = join(mountPoint, `data-${round}`);
  const reserve = join(mountPoint, 'reserve');
  await writeFile(reserve, Buffer.alloc(2_500_000));
  const opened = await openBoth(path, { writeBufferBytes: 262_144 });
  await opened.directory.hardState.save({ term: 1, votedFor: 0, commitIndex: 0 });
  const acknowledged: Entry[] = [];
  const failure = await fillUp(opened.log, acknowledged, round);
  expect(failure?.code).toBe('STORAGE_FAILED');
  await rm(reserve);
  const next = entryOf({ index: acknowledged.length + 1 });
  await expect(opened.log.append([next])).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  const saving = opened.directory.hardState.save({ term: 7, votedFor: 0, commitIndex: 0 });
  await expect(saving).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await opened.directory.close();
  await expectEverything(path, acknowledged);
  await rm(path, { recursive: true });
}

async function fillUp(
  log: { append(entries: readonly Entry[]): Promise<void> },
  acknowledged: Entry[],
  seed: number,
): Promise<StorageError | undefined> {
  for (let index = 1; index < 10_000; index++) {
    const entry = entryOf({ index, payloadBytes: 9000 + seed * 777, seed });
    try {
      await log.append([entry]);
    } catch (error) {
      return error as StorageError;
    }
    acknowledged.push(entry);
  }
  return undefined;
}

async function expectEverything(path: string, acknowledged: readonly Entry[]): Promise<void> {
  expect(acknowledged.length).toBeGreaterThan(50);
  const { directory, log } = await openBoth(path);
  const found = readAll(log);
  expect(found.length).toBeGreaterThanOrEqual(acknowledged.length);
  // At most the append that failed may be there, too: it was never answered.
  expect(found.length).toBeLessThanOrEqual(acknowledged.length + 1);
  expect(acknowledged.every((entry, i) => sameEntry(entry, found[i]))).toBe(true);
  await log.append([entryOf({ index: found.length + 1 })]);
  await directory.close();
}
