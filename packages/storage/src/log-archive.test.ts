// What only a real database shows of the archive: space that comes back, tables that were not verified,
// damage inside of it, and its state after many purges.

import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { randomBelow, SeededRng } from '@queen-ts/base';
import type { LogStore, PayloadRange } from '@queen-ts/raft';
import { describe, expect, it, vi } from 'vitest';

import {
  entriesOf,
  entryOf,
  ManualSchedule,
  openBoth,
  saveLastTerm,
  withTemporaryDirectory,
} from './testing/fixtures.ts';

const SMALL = { writeBufferBytes: 262_144, cacheBytes: 0 };

async function logBytes(path: string): Promise<number> {
  const names = await readdir(join(path, 'log'));
  const sizes = await Promise.all(
    names.map((name) => stat(join(path, 'log', name)).then(({ size }) => size)),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function indexes(from: number, toExclusive: number): number[] {
  return Array.from({ length: toExclusive - from }, (_, i) => from + i);
}

describe('the archive', () => {
  it('gives the disk back what was purged', async () => {
    await withTemporaryDirectory(async (path) => {
      const { directory, log } = await openBoth(path, SMALL);
      for (let from = 1; from <= 400; from += 20) {
        await log.append(entriesOf(from, from + 20, { payloadBytes: 20_000 }));
      }
      await log.compact?.(390);
      const before = await logBytes(path);
      expect(before).toBeGreaterThan(8_000_000);
      // Every tenth record stays.
      const gone = indexes(1, 391).filter((index) => index % 10 !== 0);
      for (let at = 0; at < gone.length; at += 50) {
        await log.archive?.purge(gone.slice(at, at + 50).map((index) => ({ index, kept: [] })));
      }
      expect(await log.archive?.reclaim()).toBe(true);
      const after = await logBytes(path);
      expect(after).toBeLessThan(before * 0.25);
      for (const index of [10, 200, 390]) {
        const expected = entryOf({ index, payloadBytes: 20_000 }).payload;
        const found = log.payload({ index, from: 0, toExclusive: 20_000 });
        expect(Buffer.compare(found, expected)).toBe(0);
      }
      await directory.close();
    });
  });

  it('gives the disk back what had never left memory when it was purged', async () => {
    await withTemporaryDirectory(async (path) => {
      const { directory, log } = await openBoth(path, { writeBufferBytes: 33_554_432 });
      await log.append(entriesOf(1, 201, { payloadBytes: 20_000 }));
      await log.compact?.(190);
      const before = await logBytes(path);
      await log.archive?.purge(indexes(1, 191).map((index) => ({ index, kept: [] })));
      expect(await log.archive?.reclaim()).toBe(true);
      expect(await logBytes(path)).toBeLessThan(before * 0.25);
      await directory.close();
    });
  });

  it('is not rewritten for little', async () => {
    await withTemporaryDirectory(async (path) => {
      const filled = await openBoth(path, SMALL);
      for (let from = 1; from <= 200; from += 20) {
        await filled.log.append(entriesOf(from, from + 20, { payloadBytes: 20_000 }));
      }
      await saveLastTerm(filled);
      await filled.directory.close();
      // Opened again, all of it is in tables, whose size is known.
      const { directory, log } = await openBoth(path, SMALL);
      await log.compact?.(200);
      expect(await log.archive?.reclaim()).toBe(true);
      const purge = async (gone: readonly number[]): Promise<void> => {
        await log.archive?.purge(gone.map((index) => ({ index, kept: [] })));
      };
      await purge(indexes(1, 181).filter((index) => index % 10 === 0));
      expect(await log.archive?.reclaim()).toBe(false);
      await purge(indexes(1, 181).filter((index) => index % 10 < 3 && index % 10 > 0));
      expect(await log.archive?.reclaim()).toBe(true);
      await directory.close();
    });
  });

  it('is not rewritten before all of it was verified', async () => {
    await withTemporaryDirectory(async (path) => {
      const first = await openBoth(path, SMALL);
      for (let from = 1; from <= 100; from += 10) {
        await first.log.append(entriesOf(from, from + 10, { payloadBytes: 20_000 }));
      }
      await saveLastTerm(first);
      const position = { index: 95, term: 1, checksum: checksumOf(first.log, 95) };
      await first.directory.close();
      const manual = new ManualSchedule();
      const { directory, log } = await openBoth(path, {
        ...SMALL,
        from: position,
        schedule: manual.schedule,
      });
      await log.compact?.(90);
      await log.archive?.purge(indexes(1, 50).map((index) => ({ index, kept: [] })));
      expect(await log.archive?.reclaim()).toBe(false);
      await vi.waitUntil(
        async () => {
          manual.runAll();
          return log.archive?.reclaim();
        },
        { timeout: 20_000, interval: 1 },
      );
      expect(await log.archive?.reclaim()).toBe(true);
      await directory.close();
    });
  });

  it('agrees with a model over random purges, parts, restarts and appends', async () => {
    await withTemporaryDirectory(async (path) => {
      const rng = new SeededRng(20_261);
      let opened = await openBoth(path, SMALL);
      /** What is kept of a record; undefined: all of it. */
      const model = new Map<number, readonly PayloadRange[] | undefined>();
      for (let round = 0; round < 60; round += 1) {
        const { lastIndex } = opened.log;
        const added = entriesOf(lastIndex + 1, lastIndex + 1 + randomBelow(rng, 5), shapeOf(round));
        if (added.length > 0) await opened.log.append(added);
        const start = Math.max(0, opened.log.lastIndex - randomBelow(rng, 8));
        for (const index of indexes(opened.log.firstIndex, start + 1)) model.set(index, undefined);
        await opened.log.compact?.(start);
        const purged = [...model]
          .filter(() => randomBelow(rng, 6) === 0)
          .map(([index, kept]) => ({ index, kept: lessOf(rng, kept, sizeOf(opened.log, index)) }));
        await opened.log.archive?.purge(purged);
        for (const { index, kept } of purged) {
          if (kept.length === 0) model.delete(index);
          else model.set(index, kept);
        }
        if (randomBelow(rng, 10) === 0) await opened.log.archive?.reclaim();
        if (randomBelow(rng, 6) === 0) {
          await saveLastTerm(opened);
          await opened.directory.close();
          opened = await openBoth(path, SMALL);
        }
        expectModel(opened.log, model);
      }
      expect(model.size).toBeGreaterThan(10);
      await opened.directory.close();
    });
  }, 30_000);

  it('notices a page of the map of purges that was changed', async () => {
    await withTemporaryDirectory(async (path) => {
      const { directory, log } = await openBoth(path, SMALL);
      await log.append(entriesOf(1, 11));
      await log.compact?.(10);
      await log.archive?.purge([{ index: 3, kept: [] }]);
      await log.archive?.reclaim();
      await directory.close();
      for (const name of await readdir(join(path, 'log'))) {
        if (!name.endsWith('.ldb')) continue;
        const bytes = await readFile(join(path, 'log', name));
        // The page begins with ten zero bytes of key, 65,535 and the number 0.
        const at = bytes.indexOf(Buffer.from('ffff0000000000000000', 'hex'));
        if (at < 0) continue;
        bytes[at + 30] = (bytes[at + 30] ?? 0) ^ 1;
        await writeFile(join(path, 'log', name), bytes);
      }
      await expect(openBoth(path, SMALL)).rejects.toMatchObject({ code: 'CORRUPTION' });
    });
  });
});

function shapeOf(round: number): { payloadBytes: number } {
  return { payloadBytes: round % 3 === 0 ? 250_000 : 500 };
}

/** A random part of what is kept; often nothing. */
function lessOf(
  rng: SeededRng,
  kept: readonly PayloadRange[] | undefined,
  payloadBytes: number,
): readonly PayloadRange[] {
  if (payloadBytes < 70_000 || randomBelow(rng, 2) === 0) return [];
  if (kept !== undefined) return kept.filter(() => randomBelow(rng, 2) === 0);
  return indexes(0, 3).map((i) => {
    const from = i * 80_000 + randomBelow(rng, 40_000);
    return { from, toExclusive: from + 1 + randomBelow(rng, 30_000) };
  });
}

function sizeOf(log: LogStore, index: number): number {
  return log.archive?.next(index, index + 1)?.payloadBytes ?? 0;
}

function expectModel(
  log: LogStore,
  model: ReadonlyMap<number, readonly PayloadRange[] | undefined>,
): void {
  for (const index of indexes(1, log.firstIndex)) {
    const record = log.archive?.next(index, index + 1);
    expect(record !== undefined).toBe(model.has(index));
    if (record === undefined) continue;
    const { payloadBytes } = record;
    const { payload } = entryOf({ index, payloadBytes });
    for (const range of model.get(index) ?? [{ from: 0, toExclusive: payloadBytes }]) {
      const found = log.payload({ index, ...range });
      const expected = payload.subarray(range.from, range.toExclusive);
      expect(Buffer.compare(found, expected)).toBe(0);
    }
  }
}

function checksumOf(log: LogStore, index: number): number {
  const position =
    'position' in log && typeof log.position === 'function' ? log.position : undefined;
  const found: unknown = position?.call(log, index);
  return (found as { checksum: number }).checksum;
}
