// Snapshots that are interrupted: at every step of taking their place, and by killing the process at any
// moment. What is found afterwards is the state before or the state after, whole.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, cp, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { randomBelow, SeededRng } from '@queen-ts/base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { INCOMING_DIRECTORY, markComplete } from './installation.ts';
import {
  appendTo,
  checkEntries,
  checkpointAt,
  openAsStart,
  receiveFrom,
} from './testing/snapshot-nodes.ts';

const RECEIVING_PROCESS = new URL('./testing/receiving-process.ts', import.meta.url).pathname;
const ROUND_COUNT = 6;

describe('a snapshot that is interrupted', () => {
  let root: string;
  let path: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    path = join(root, 'target');
  });

  afterEach(() => rm(root, { recursive: true }));

  /** A directory with entries 1 to 10 and a checkpoint at 5, and a finished snapshot at 37 beside them. */
  async function prepare(stopAfterPieces = Infinity): Promise<void> {
    const source = await openAsStart(join(root, 'source'));
    await appendTo(source, 40);
    await checkpointAt(source, 37);
    const target = await openAsStart(path);
    await appendTo(target, 10);
    await checkpointAt(target, 5);
    const receiving = receiveFrom(source, target, (count) => {
      if (count === stopAfterPieces) throw new Error('interrupted');
    });
    await receiving.catch((error: unknown) => {
      if (stopAfterPieces === Infinity) throw error;
    });
    await target.directory.close();
    await source.directory.close();
  }

  async function expectState(state: 'old' | 'new'): Promise<void> {
    const expected = state === 'old' ? [1, 10, 5] : [38, 37, 37];
    // Opened twice: the first start changes nothing that the second one needs.
    for (let round = 0; round < 2; round += 1) {
      const { directory, log, position } = await openAsStart(path);
      expect([log.firstIndex, log.lastIndex, position.index]).toEqual(expected);
      checkEntries(log);
      expect(directory.hardState.current.term).toBe(1);
      await directory.close();
      expect(await readdir(path)).not.toContain(INCOMING_DIRECTORY);
    }
    const found = await openAsStart(path);
    await appendTo(found, found.log.lastIndex + 3);
    await found.directory.close();
  }

  it.each([1, 2, 3])('after %i pieces leaves the old state', async (count) => {
    await prepare(count);
    expect(await readdir(path)).toContain(INCOMING_DIRECTORY);
    await expectState('old');
  });

  it('before it is accepted leaves the old state', async () => {
    await prepare();
    await expectState('old');
  });

  const steps: [string, (path: string) => Promise<void>][] = [
    ...['checkpoints', 'durable', 'log'].flatMap((name): typeof steps => [
      [`removing ${name}`, (at) => rm(join(at, name), { recursive: true })],
      [`moving ${name}`, (at) => rename(join(at, INCOMING_DIRECTORY, name), join(at, name))],
    ]),
    ['removing the marker', (at) => rm(join(at, INCOMING_DIRECTORY, 'complete'))],
    ['removing the rest', (at) => rm(join(at, INCOMING_DIRECTORY), { recursive: true })],
  ];

  it.each(Array.from({ length: steps.length + 1 }, (_, i) => i))(
    'after %i of the steps of taking its place gives the new state',
    async (count) => {
      await prepare();
      await markComplete(path);
      for (const [, run] of steps.slice(0, count)) await run(path);
      await expectState('new');
    },
  );

  it('is what the steps are those of', async () => {
    await prepare();
    await markComplete(path);
    const copy = join(root, 'copy');
    await cp(path, copy, { recursive: true });
    for (const [, run] of steps) await run(copy);
    const { directory, log } = await openAsStart(path);
    checkEntries(log);
    await directory.close();
    expect((await readdir(copy)).toSorted()).toEqual((await readdir(path)).toSorted());
    await expect(access(join(copy, 'log', 'CURRENT'))).resolves.toBeUndefined();
  });

  it('by kill -9 at any moment leaves one state or the other, on both sides', async () => {
    const rng = new SeededRng(2026);
    let before = { start: 0, last: 0 };
    for (let round = 0; round < ROUND_COUNT; round += 1) {
      const said = await runUntilKilled(root, 3 + randomBelow(rng, 25), randomBelow(rng, 8));
      const { directory, log, position } = await openAsStart(path);
      const start = log.firstIndex - 1;
      const known = said.installed === 0 ? before : { start: said.installed, last: said.appended };
      if (start === known.start) expect(log.lastIndex).toBeGreaterThanOrEqual(known.last);
      else expect([said.finished > known.start, start]).toEqual([true, said.finished]);
      expect(position.index).toBe(start);
      checkEntries(log);
      before = { start, last: log.lastIndex };
      await directory.close();
      const source = await openAsStart(join(root, 'source'));
      checkEntries(source.log);
      await source.directory.close();
    }
    expect(before.start).toBeGreaterThan(20);
  }, 60_000);
});

/** What the process said last of each; kills it `delayMs` after so many lines. */
async function runUntilKilled(root: string, lineCount: number, delayMs: number) {
  const args = [
    '--conditions=source',
    RECEIVING_PROCESS,
    join(root, 'source'),
    join(root, 'target'),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const said = { piece: 0, finished: 0, installed: 0, appended: 0 };
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [verb, value] = line.split(' ');
    said[verb as keyof typeof said] = Number(value);
    lines += 1;
    if (lines === lineCount) setTimeout(() => child.kill('SIGKILL'), delayMs);
  }
  await exited;
  expect(lines).toBeGreaterThanOrEqual(lineCount);
  return said;
}
