// Opening the log from a checkpoint: only what follows is walked, and what lies before is neither
// trusted blindly nor left for LevelDB to stumble over.

import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SeededRng } from '@queen-ts/base';
import type { Entry, LogPosition } from '@queen-ts/raft';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { openDataDirectory, type DataDirectory } from './data-directory.ts';
import { readManifest } from './leveldb-files.ts';
import { userKey } from './leveldb-table.ts';
import { parseLogKey } from './keys.ts';
import { LevelLogStore } from './log-store.ts';
import { entriesOf, ManualSchedule, NODE_ID, openBoth, sameEntry } from './testing/fixtures.ts';
import { flipBit } from './testing/damage.ts';

const ENTRY_COUNT = 400;
const OPTIONS = { writeBufferBytes: 65_536, cacheBytes: 0 };

interface Table {
  readonly path: string;
  readonly firstIndex: number;
  readonly lastIndex: number;
}

describe('a log opened from a checkpoint', () => {
  let path: string;
  let entries: readonly Entry[];
  let positions: readonly LogPosition[];
  const opened: DataDirectory[] = [];

  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    entries = [
      ...entriesOf(1, 201, { term: 2, payloadBytes: 2000 }),
      ...entriesOf(201, ENTRY_COUNT + 1, { term: 5, payloadBytes: 2000 }),
    ];
    const { directory, log } = await openBoth(path, OPTIONS);
    await directory.hardState.save({ term: 5, votedFor: 0, commitIndex: 0 });
    for (const entry of entries) await log.append([entry]);
    positions = entries.map(({ index }) => positionOf(log, index));
    await directory.close();
  });

  afterEach(async () => {
    for (const directory of opened.splice(0)) await directory.close();
    await rm(path, { recursive: true });
  });

  async function openFrom(from: LogPosition, schedule = new ManualSchedule()) {
    const walked: Entry[] = [];
    const directory = await openDataDirectory({
      path,
      nodeId: NODE_ID,
      rng: new SeededRng(1),
      schedule: schedule.schedule,
    });
    opened.push(directory);
    const onEntry = (entry: Entry): void => void walked.push(entry);
    const log = await directory.openLog({ ...OPTIONS, from, onEntry });
    return { directory, log, walked, schedule };
  }

  function at(index: number): LogPosition {
    return positions[index - 1]!;
  }

  function readOne(log: { entries: LevelLogStore['entries'] }, index: number): Entry | undefined {
    return log.entries({ from: index, toExclusive: index + 1, maxBytes: 0 })[0];
  }

  /** Tables of which nothing is read when the log is opened from 300. */
  async function oldTables(): Promise<Table[]> {
    const directory = join(path, 'log');
    const current = (await readFile(join(directory, 'CURRENT'), 'latin1')).trimEnd();
    const { tables } = await readManifest(join(directory, current));
    const found = [...tables.values()].map(({ number, smallestKey, largestKey }) => ({
      path: join(directory, `${String(number).padStart(6, '0')}.ldb`),
      firstIndex: parseLogKey(userKey(smallestKey))!.index,
      lastIndex: parseLogKey(userKey(largestKey))!.index,
    }));
    const old = found.filter(({ firstIndex, lastIndex }) => firstIndex > 1 && lastIndex < 300);
    expect(old.length).toBeGreaterThan(2);
    return old.toSorted((a, b) => a.firstIndex - b.firstIndex);
  }

  it('walks only what follows and knows everything else', async () => {
    const { log, walked } = await openFrom(at(300));
    expect(walked.map(({ index }) => index)).toEqual(entries.slice(300).map(({ index }) => index));
    expect([log.firstIndex, log.lastIndex]).toEqual([1, ENTRY_COUNT]);
    for (const index of [0, 1, 200, 201, 299, 300, 301, 400]) {
      expect(log.term(index), `term of ${index}`).toBe(index === 0 ? 0 : entries[index - 1]!.term);
    }
    expect(entries.every((entry) => sameEntry(entry, readOne(log, entry.index)))).toBe(true);
    const [next] = entriesOf(401, 402, { term: 5 });
    await log.append([next!]);
    await log.append(entriesOf(350, 352, { term: 5 }));
    expect(log.lastIndex).toBe(351);
    expect(positionOf(log, 120)).toEqual(at(120));
  });

  it('may start at its very end, at its start and where the bound is', async () => {
    for (const index of [1, ENTRY_COUNT]) {
      const { directory, walked } = await openFrom(at(index));
      expect(walked.length).toBe(ENTRY_COUNT - index);
      await directory.close();
    }
    const { walked } = await openFrom({ index: 0, term: 0, checksum: 0 });
    expect(walked.length).toBe(ENTRY_COUNT);
  });

  it('compacts to before and after that point', async () => {
    const { log, directory } = await openFrom(at(300));
    await log.compact?.(100);
    expect([log.term(100), log.term(250), log.firstIndex]).toEqual([2, 5, 101]);
    await log.compact?.(350);
    expect([log.term(350), log.firstIndex]).toEqual([5, 351]);
    await directory.close();
    await expect(openFrom(at(300))).rejects.toMatchObject({
      code: 'CORRUPTION',
      message: expect.stringContaining('the state before it is lost') as string,
    });
  });

  it('refuses a checkpoint of another history, or one that is newer than the log', async () => {
    const refusals: [LogPosition, string][] = [
      [{ ...at(300), checksum: at(300).checksum ^ 1 }, 'another history'],
      [{ ...at(300), term: 4 }, 'another history'],
      [
        { index: 401, term: 5, checksum: 1 },
        'record 401: missing, but a checkpoint was taken there',
      ],
      [{ index: 9_000_000, term: 5, checksum: 1 }, 'missing, but a checkpoint'],
    ];
    for (const [from, message] of refusals) {
      await expect(openFrom(from)).rejects.toMatchObject({
        code: 'CORRUPTION',
        message: expect.stringContaining(message) as string,
      });
      await opened.pop()?.close();
    }
    await openFrom(at(300));
  });

  it('still refuses a log that lost synced records at its end', async () => {
    const directory = join(path, 'log');
    const names = await readdir(directory);
    const writeAhead = names
      .filter((name) => name.endsWith('.log'))
      .toSorted()
      .at(-1)!;
    await truncate(join(directory, writeAhead), 0);
    await expect(openFrom(at(150))).rejects.toMatchObject({ code: 'CORRUPTION' });
  });

  it('refuses damage to a table that it walks', async () => {
    const walked = await oldTables();
    await flipBit(walked.at(-1)!.path, (size) => Math.floor(size / 3));
    await expect(openFrom(at(walked.at(-1)!.lastIndex))).rejects.toMatchObject({
      code: 'CORRUPTION',
      message: expect.stringContaining(walked.at(-1)!.path) as string,
    });
  });

  it('refuses a missing, short or unreadable old table at once', async () => {
    const [table] = await oldTables();
    const whole = await readFile(table!.path);
    const damages: (() => Promise<void>)[] = [
      () => rm(table!.path),
      () => truncate(table!.path, whole.length - 1),
      () => flipBit(table!.path, (size) => size - 3),
      () => flipBit(table!.path, (size) => size - 120),
    ];
    for (const damage of damages) {
      await damage();
      await expect(openFrom(at(300))).rejects.toMatchObject({
        code: 'CORRUPTION',
        message: expect.stringContaining(table!.path) as string,
      });
      await opened.pop()?.close();
      await writeFile(table!.path, whole);
    }
    await openFrom(at(300));
  });

  it('finds a damaged block of an old table before LevelDB reads it, and stops writing', async () => {
    const [, table] = await oldTables();
    const { size } = await stat(table!.path);
    await zero(table!.path, Math.floor(size / 2));
    const { log, directory } = await openFrom(at(300));
    const found = entries
      .filter(({ index }) => index < 300)
      .map(({ index }) => outcomeOf(() => readOne(log, index)));
    const damaged = found.flatMap((outcome, i) => (outcome === 'read' ? [] : [i + 1]));
    expect(damaged.length).toBeGreaterThan(0);
    expect(damaged.length).toBeLessThan(60);
    expect(damaged.every((i) => i >= table!.firstIndex - 1 && i <= table!.lastIndex)).toBe(true);
    expect(found[damaged[0]! - 1]).toContain(table!.path);
    expect(directory.failure).toBeDefined();
    await expect(log.append(entriesOf(401, 402, { term: 5 }))).rejects.toThrow();
  });

  it('verifies old tables in the background, newest first, and stops at damage', async () => {
    const tables = await oldTables();
    const { directory, log, schedule } = await openFrom(at(300));
    let idle = 0;
    await runUntil(schedule, () => {
      idle = schedule.pendingCount === 0 ? idle + 1 : 0;
      return idle > 20;
    });
    expect(directory.failure).toBeUndefined();
    expect(sameEntry(readOne(log, 150), entries[149])).toBe(true);
    await directory.close();

    await zero(tables[0]!.path, 9000);
    const again = await openFrom(at(300));
    await runUntil(again.schedule, () => again.directory.failure !== undefined);
    expect(again.directory.failure?.message).toContain(tables[0]!.path);
  });

  it('removes a checkpoint that a crash left half written', async () => {
    const { directory } = await openFrom(at(300));
    const writer = await directory.checkpoints.begin();
    await writer.write(new Uint8Array(900_000));
    await writer.write(new Uint8Array(900_000));
    await directory.close();
    expect(await readdir(join(path, 'checkpoints'))).toEqual(['writing']);
    await openFrom(at(300));
    expect(await readdir(join(path, 'checkpoints'))).toEqual([]);
    await writer.abandon();
  });

  it('closes while the background check is anywhere', async () => {
    for (const steps of [0, 1, 2, 3]) {
      const { directory, schedule } = await openFrom(at(300));
      for (let i = 0; i < steps; i += 1) {
        schedule.runAll();
        await new Promise(setImmediate);
      }
      await directory.close();
      expect(directory.failure).toBeUndefined();
      opened.pop();
    }
  });
});

function positionOf(log: unknown, index: number): LogPosition {
  if (!(log instanceof LevelLogStore)) throw new Error('not the log on LevelDB');
  return log.position(index);
}

async function zero(path: string, from: number): Promise<void> {
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0, from, from + 600));
}

function outcomeOf(read: () => unknown): string {
  try {
    read();
    return 'read';
  } catch (error) {
    return String(error);
  }
}

/** Lets scheduled work run until `isDone` holds; each run is followed by I/O. */
async function runUntil(schedule: ManualSchedule, isDone: () => boolean): Promise<void> {
  await vi.waitUntil(
    async () => {
      schedule.runAll();
      await new Promise(setImmediate);
      return isDone();
    },
    { timeout: 10_000, interval: 1 },
  );
}
