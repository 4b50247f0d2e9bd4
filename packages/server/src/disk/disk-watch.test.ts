import { DiskGate } from '@queen-ts/cluster';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../process/log.ts';
import { eventually } from '../testing/eventually.ts';
import { DiskWatch, readDiskRoom, usedPart } from './disk-watch.ts';

const RESERVE_BYTES = 8 * 1024 * 1024;
const ROOMY = 1024 * 1024 * 1024;

let directory: string;
let lines: string[];
let room: { usedBytes: number; freeBytes: number };
let readings: number;
let watch: DiskWatch;
let gate: DiskGate;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'queen-ts-disk-'));
  lines = [];
  room = { usedBytes: 0, freeBytes: ROOMY };
  readings = 0;
  gate = new DiskGate({ high: 0.85, low: 0.8 });
  watch = newWatch();
});

afterEach(async () => {
  await watch.stop();
  await rm(directory, { recursive: true });
});

function newWatch(readRoom: (path: string) => Promise<typeof room> = async () => room): DiskWatch {
  return new DiskWatch({
    dataDirectory: directory,
    gate,
    log: createLog(
      { logLevel: 'info', logJson: true, nodeId: 1 },
      { write: (line) => void lines.push(line) },
    ),
    reserveBytes: RESERVE_BYTES,
    readRoom(path) {
      readings += 1;
      return readRoom(path);
    },
  });
}

function tell(used: number): void {
  gate.report({ nodeId: 1, used });
}

async function reserveSize(): Promise<number> {
  const names = await readdir(directory);
  return names.includes('reserve') ? (await stat(join(directory, 'reserve'))).size : 0;
}

/** Waits for a look that begins after now. */
async function nextLook(): Promise<void> {
  const before = readings;
  await eventually(() => expect(readings).toBeGreaterThan(before + 1));
}

describe('the watch of a disk', () => {
  test('tells the gate from its first look on, and says when it closes and opens', async () => {
    room = { usedBytes: 90, freeBytes: 10 };
    await watch.start(tell);
    expect(gate.worstVoterDisk).toEqual({ nodeId: 1, used: 0.9 });
    expect(gate.isClosed).toBe(true);
    expect(lines.join('')).toContain('refusing messages');
    room = { usedBytes: 10, freeBytes: 90 };
    await nextLook();
    expect(gate.isClosed).toBe(false);
    expect(lines.at(-1)).toContain('taking messages');
  });

  test('goes on when the disk does not answer, and says so once', async () => {
    watch = newWatch(() => Promise.reject(new Error('no such disk')));
    await watch.start(tell);
    await nextLook();
    expect(gate.isClosed).toBe(false);
    expect(lines.filter((line) => line.includes('does not tell'))).toHaveLength(1);
  });

  test('reads a real disk', async () => {
    const real = await readDiskRoom(directory);
    expect(real.usedBytes + real.freeBytes).toBeGreaterThan(0);
    expect(usedPart(real)).toBeLessThanOrEqual(1);
    expect(usedPart({ usedBytes: 0, freeBytes: 0 })).toBe(0);
  });
});

describe('the reserve', () => {
  test.each([
    ['half of the disk is used', { usedBytes: ROOMY, freeBytes: ROOMY }, RESERVE_BYTES],
    ['less is used', { usedBytes: ROOMY * 0.9, freeBytes: ROOMY }, 0],
    ['the gate is closed', { usedBytes: ROOMY * 9, freeBytes: ROOMY }, 0],
    [
      'it would fill up the disk',
      { usedBytes: RESERVE_BYTES * 3, freeBytes: RESERVE_BYTES * 3 },
      0,
    ],
  ])('is looked at when %s', async (_, now, size) => {
    room = now;
    await watch.start(tell);
    expect(await reserveSize()).toBe(size);
  });

  test('is given up before the log is opened when there is no room, half of it taken again', async () => {
    await writeFile(join(directory, 'reserve'), Buffer.alloc(RESERVE_BYTES));
    room = { usedBytes: ROOMY, freeBytes: RESERVE_BYTES - 1 };
    await watch.makeRoom();
    expect(await reserveSize()).toBe(0);
    expect(lines.join('')).toContain('gave up the reserve');
    await watch.start(tell);
    expect(await reserveSize()).toBe(RESERVE_BYTES / 2);
  });

  test('is kept by a start with room enough', async () => {
    await writeFile(join(directory, 'reserve'), Buffer.alloc(RESERVE_BYTES));
    await watch.makeRoom();
    expect(await reserveSize()).toBe(RESERVE_BYTES);
  });

  test('is no matter where there is no data directory yet', async () => {
    await rm(directory, { recursive: true });
    await watch.makeRoom();
    expect(readings).toBe(0);
    await writeFile(directory, 'a file');
    await watch.makeRoom();
    expect(readings).toBe(0);
  });
});
