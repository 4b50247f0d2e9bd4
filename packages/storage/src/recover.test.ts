// Logs that LevelDB finds in perfect order and that are wrong all the same.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Entry, NodeId } from '@queen-ts/raft';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { logKey } from './keys.ts';
import { encodeRecord } from './record.ts';
import { entriesOf, entryOf, ManualSchedule, openBoth, sameEntry } from './testing/fixtures.ts';

const CHUNKED = 5;

describe('recovery', () => {
  let path: string;
  let entries: Entry[];

  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    entries = entriesOf(1, 11, { term: 3 });
    entries[CHUNKED - 1] = entryOf({ index: CHUNKED, term: 3, payloadBytes: 150_000 });
    const { directory, log } = await openBoth(path);
    await directory.hardState.save({ term: 3, votedFor: 1 as NodeId, commitIndex: 0 });
    await log.append(entries);
    await directory.close();
  });

  afterEach(() => rm(path, { recursive: true }));

  /** Changes the log with LevelDB's own means, so that LevelDB has nothing to complain about. */
  async function edit(change: (level: ClassicLevel<Uint8Array, Uint8Array>) => Promise<void>) {
    const options = { keyEncoding: 'view', valueEncoding: 'view', compression: false } as const;
    const level = new ClassicLevel<Uint8Array, Uint8Array>(join(path, 'log'), options);
    await change(level);
    await level.close();
  }

  async function expectCorruption(what: string): Promise<void> {
    await expect(openBoth(path)).rejects.toMatchObject({
      code: 'CORRUPTION',
      message: expect.stringContaining(what) as string,
    });
  }

  it('streams every entry, in order, and waits for the receiver', async () => {
    const seen: Entry[] = [];
    let runningCount = 0;
    const { directory } = await openBoth(path, {
      onEntry: async (entry) => {
        expect(runningCount++).toBe(0);
        await Promise.resolve();
        runningCount--;
        seen.push(entry);
      },
    });
    await directory.close();
    expect(seen.length).toBe(10);
    expect(seen.every((entry, i) => sameEntry(entry, entries[i]))).toBe(true);
  });

  it('fails when the receiver fails, and leaves nothing open', async () => {
    const onEntry = () => Promise.reject(new Error('cannot replay'));
    await expect(openBoth(path, { onEntry })).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      cause: { message: 'cannot replay' },
    });
    const { directory } = await openBoth(path);
    await directory.close();
  });

  it.each([
    ['in the middle', 4],
    ['at the beginning', 1],
  ])('refuses a record missing %s', async (_where, index) => {
    await edit((level) => level.clear({ gte: logKey(index, 0), lt: logKey(index + 1, 0) }));
    await expectCorruption(`record ${index} chunk 0: missing; record ${index + 1} chunk 0 follows`);
  });

  it('refuses a tail missing below the durable bound', async () => {
    await edit((level) => level.clear({ gte: logKey(10, 0) }));
    await expectCorruption('the log ends at record 9, but record 10 was synced');
  });

  it('refuses an empty log when records were synced', async () => {
    await edit((level) => level.clear({ gt: logKey(0, 0) }));
    await expectCorruption('the log ends at record 0, but record 10 was synced');
  });

  it('refuses a payload chunk that is missing, changed or of the wrong length', async () => {
    const chunk = await readValue(CHUNKED, 2);
    for (const [value, what] of [
      [chunk.map((byte, i) => (i === 0 ? byte ^ 1 : byte)), 'chunk 2: checksum mismatch'],
      [chunk.subarray(1), 'chunk 2: 65535 bytes where 65536 are announced'],
      [undefined, 'chunk 2: missing; record 5 chunk 3 follows'],
    ] as const) {
      await edit((level) =>
        value === undefined
          ? level.del(logKey(CHUNKED, 2), { sync: true })
          : level.put(logKey(CHUNKED, 2), value, { sync: true }),
      );
      await expectCorruption(what);
    }
  });

  it('refuses a chunk that belongs to no record, inside and after the log', async () => {
    await edit((level) => level.put(logKey(7, 9), Uint8Array.of(1), { sync: true }));
    await expectCorruption('record 8 chunk 0: missing; record 7 chunk 9 follows');
    await edit((level) => level.del(logKey(7, 9), { sync: true }));
    await edit((level) => level.put(logKey(10, 9), Uint8Array.of(1), { sync: true }));
    await expectCorruption('record 11 chunk 0: missing; record 10 chunk 9 follows');
  });

  it('refuses a log that ends inside a record', async () => {
    const entry = entryOf({ index: 11, term: 3, payloadBytes: 100 });
    const last = encodeRecord(entry, await checksumOf(10));
    await edit((level) => level.put(logKey(11, 0), last.chunk0, { sync: true }));
    await expectCorruption('record 11 chunk 1: missing; the log ends before it');
  });

  it('refuses a record that is whole but not the one that was written', async () => {
    const other = entryOf({ index: 4, term: 3, payloadBytes: 0, seed: 1 });
    const sameChain = encodeRecord(other, await checksumOf(3)).chunk0;
    await edit(async (level) => {
      await level.del(logKey(4, 1), { sync: true });
      await level.put(logKey(4, 0), sameChain, { sync: true });
    });
    await expectCorruption('record 5 chunk 0: does not follow the record before it');
    await edit((level) => level.put(logKey(4, 0), encodeRecord(other, 5).chunk0, { sync: true }));
    await expectCorruption('record 4 chunk 0: does not follow the record before it');
  });

  it('refuses a last record that was replaced', async () => {
    const other = entryOf({ index: 10, term: 3, payloadBytes: 0, seed: 1 });
    const { chunk0 } = encodeRecord(other, await checksumOf(9));
    await edit(async (level) => {
      await level.del(logKey(10, 1), { sync: true });
      await level.put(logKey(10, 0), chunk0, { sync: true });
    });
    await expectCorruption('record 10 of the log is not the one that was synced');
  });

  it('refuses a term that falls and a record under the wrong key', async () => {
    const chunk0 = await readValue(4, 0);
    await edit((level) => level.put(logKey(5, 0), chunk0, { sync: true }));
    await expectCorruption('record 5 chunk 0: holds record 4');
    const falling = entryOf({ index: 5, term: 2, payloadBytes: 0 });
    const { chunk0: wrong } = encodeRecord(falling, await checksumOf(4));
    await edit((level) => level.put(logKey(5, 0), wrong, { sync: true }));
    await expectCorruption('record 5 chunk 0: term 2 after 3');
  });

  it('archives what lies before the start of the log, but accepts no hole after it', async () => {
    const opened = await openBoth(path);
    await opened.log.compact?.(6);
    await opened.log.archive?.purge([{ index: 2, kept: [] }]);
    await opened.directory.close();
    await edit((level) => level.clear({ gte: logKey(3, 0), lt: logKey(4, 0) }));
    const again = await openBoth(path);
    expect([again.log.firstIndex, again.log.lastIndex, again.log.term(6)]).toEqual([7, 10, 3]);
    const read = (index: number) => () => again.log.payload({ index, from: 0, toExclusive: 1 });
    expect(read(1)().length).toBe(1);
    expect(read(2)).toThrow(expect.objectContaining({ code: 'LOG_COMPACTED' }));
    // A record that nobody purged is missing: damage, which ends all writing.
    expect(() => again.log.archive?.next(2, 7)).toThrow('record 3 chunk 0: missing');
    await expect(again.log.append(entriesOf(11, 12, { term: 3 }))).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    });
    await again.directory.close();
    await edit((level) => level.clear({ gte: logKey(7, 0), lt: logKey(8, 0) }));
    await expectCorruption('record 7 chunk 0: missing; record 8 chunk 0 follows');
  });

  it('refuses a key that is none', async () => {
    await edit((level) => level.put(Uint8Array.of(9, 9), Uint8Array.of(1), { sync: true }));
    await expectCorruption('unexpected key 0909');
  });

  it('accepts records beyond the bound, and raises the bound to them', async () => {
    const manual = new ManualSchedule();
    const opened = await openBoth(path, { schedule: manual.schedule });
    await opened.log.append(entriesOf(11, 21, { term: 3 }));
    expect(manual.pendingCount).toBe(1);
    await opened.directory.close();
    await edit((level) => level.clear({ gte: logKey(20, 0) }));
    await expectCorruption('the log ends at record 19, but record 20 was synced');
  });

  async function readValue(index: number, chunk: number): Promise<Uint8Array> {
    let value: Uint8Array | undefined;
    await edit(async (level) => {
      value = await level.get(logKey(index, chunk));
    });
    if (value === undefined) throw new Error(`no value at ${index}, ${chunk}`);
    return Uint8Array.from(value);
  }

  async function checksumOf(index: number): Promise<number> {
    return Buffer.from(await readValue(index, 0)).readUInt32BE(0);
  }
});
