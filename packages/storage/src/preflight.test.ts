// What is told apart before LevelDB looks: a torn last write, which is normal after a power cut, and
// damage to what was synced, which never is.

import { cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { randomBelow, SeededRng } from '@queen-ts/base';
import { ClassicLevel } from 'classic-level';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { scanRecordFile } from './leveldb-files.ts';
import { verifyTable } from './leveldb-table.ts';
import { preflightLog } from './preflight.ts';
import { flipBit } from './testing/damage.ts';
import { randomBytes } from './testing/fixtures.ts';

const BATCH_COUNT = 30;
const EVERYTHING = { toIndex: 0, fromIndex: 0 };
const OPTIONS = { valueEncoding: 'view', compression: false } as const;

describe('preflight', () => {
  let root: string;
  let path: string;
  let writeAhead: string;
  /** Size of the write-ahead file after each batch: where each record ends. */
  const ends: number[] = [0];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    const source = join(root, 'source');
    const rng = new SeededRng(21);
    const level = new ClassicLevel<string, Uint8Array>(source, OPTIONS);
    for (let i = 0; i < 200; i++) {
      await level.put(`a${i}`, randomBytes(rng, randomBelow(rng, 9000)), { sync: true });
    }
    await level.compactRange('a', 'b');
    await level.close();
    const again = new ClassicLevel<string, Uint8Array>(source, OPTIONS);
    await again.open();
    const log = join(source, (await namesOf(source, /^\d+\.log$/))[0] ?? '');
    for (let i = 0; i < BATCH_COUNT; i++) {
      const sizeBytes = i % 7 === 3 ? 100_000 : randomBelow(rng, 3000);
      await again.put(`b${i}`, randomBytes(rng, sizeBytes), { sync: true });
      ends.push((await stat(log)).size);
    }
    await again.close();
  });

  beforeEach(async () => {
    path = join(root, 'copy');
    await rm(path, { recursive: true, force: true });
    await cp(join(root, 'source'), path, { recursive: true });
    writeAhead = join(path, (await namesOf(path, /^\d+\.log$/))[0] ?? '');
  });

  afterAll(() => rm(root, { recursive: true }));

  it('accepts undamaged files', async () => {
    await preflightLog(path, EVERYTHING);
    expect(await scanRecordFile(writeAhead)).toEqual({
      recordCount: BATCH_COUNT,
      tornOffset: undefined,
    });
  });

  it('takes a write-ahead file cut anywhere for a torn write and counts what is whole', async () => {
    const rng = new SeededRng(22);
    const size = ends.at(-1) ?? 0;
    for (let round = 0; round < 100; round++) {
      const length = size - 1 - randomBelow(rng, size);
      const copy = join(root, 'cut');
      await cp(writeAhead, copy);
      await truncate(copy, length);
      const { recordCount, tornOffset } = await scanRecordFile(copy);
      expect(recordCount).toBe(ends.filter((end) => end > 0 && end <= length).length);
      expect(tornOffset === undefined).toBe(ends.includes(length));
    }
  });

  it('refuses damage that a later record follows, and takes damage in the last one for torn', async () => {
    const rng = new SeededRng(23);
    const lastStart = ends.at(-2) ?? 0;
    const size = ends.at(-1) ?? 0;
    for (let round = 0; round < 150; round++) {
      const isInLast = round % 3 === 0;
      const offset = isInLast
        ? lastStart + randomBelow(rng, size - lastStart)
        : randomBelow(rng, lastStart);
      const copy = join(root, 'flipped');
      await cp(writeAhead, copy);
      if (await isBlockTrailer(copy, offset)) continue;
      await flipBit(copy, () => offset);
      const scan = scanRecordFile(copy);
      if (isInLast) expect((await scan).recordCount).toBe(BATCH_COUNT - 1);
      else await expect(scan).rejects.toMatchObject({ code: 'CORRUPTION' });
    }
  });

  it('takes a zeroed part of the last record for torn, whole later fragments of it included', async () => {
    const bytes = await readFile(writeAhead);
    const big = ends.findLastIndex((end, i) => i > 0 && end - (ends[i - 1] ?? 0) > 90_000);
    const start = ends[big - 1] ?? 0;
    const copy = join(root, 'zeroed');
    await writeFile(copy, bytes.subarray(0, ends[big]).fill(0, start + 40_000, start + 44_000));
    const { recordCount, tornOffset } = await scanRecordFile(copy);
    expect([recordCount, tornOffset === undefined]).toEqual([big - 1, false]);
  });

  it('refuses a torn write in a file that a later one continues', async () => {
    await truncate(writeAhead, (ends.at(-1) ?? 0) - 1);
    const later = join(path, '900000.log');
    await writeFile(later, '');
    await preflightLog(path, EVERYTHING);
    await writeFile(later, await readFile(join(root, 'source', writeAhead.slice(path.length))));
    await expect(preflightLog(path, EVERYTHING)).rejects.toMatchObject({
      code: 'CORRUPTION',
      message: expect.stringContaining(`${writeAhead}: damaged at byte`) as string,
    });
  });

  it('refuses a table with any byte changed', async () => {
    const rng = new SeededRng(24);
    const [name = ''] = await namesOf(path, /\.ldb$/);
    const table = join(path, name);
    const { size } = await stat(table);
    await verifyTable({ path: table, sizeBytes: size });
    for (let round = 0; round < 60; round++) {
      const copy = join(root, 'table');
      await cp(table, copy);
      // Every other flip lies in the index, the filter or the footer at the end.
      const offset = randomBelow(rng, round % 2 === 0 ? size : 3000);
      await flipBit(copy, (sizeBytes) => sizeBytes - 1 - offset);
      await expect(verifyTable({ path: copy, sizeBytes: size })).rejects.toMatchObject({
        code: 'CORRUPTION',
      });
    }
  });

  it.each([/^MANIFEST/, /^CURRENT$/, /\.ldb$/, /\.log$/])('names a missing %s', async (pattern) => {
    const [name = ''] = await namesOf(path, pattern);
    await rm(join(path, name));
    await expect(preflightLog(path, EVERYTHING)).rejects.toMatchObject({
      code: 'CORRUPTION',
      message: expect.stringContaining(`${join(path, name)}: `) as string,
    });
  });
});

async function namesOf(path: string, pattern: RegExp): Promise<string[]> {
  return (await readdir(path)).filter((name) => pattern.test(name)).toSorted();
}

/** The zeros at a block's end carry nothing; changing them damages nothing. */
async function isBlockTrailer(path: string, offset: number): Promise<boolean> {
  const bytes = await readFile(path);
  return offset % 32_768 > 32_768 - 7 && bytes[offset] === 0;
}
