// The contract suite on real LevelDB; and, on a database that fails when told to, what is written when.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { InvariantError, randomBelow, SeededRng } from '@queen-ts/base';
import type { Entry } from '@queen-ts/raft';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { describeLogStoreContract } from '@queen-ts/raft/testing';
import { ENTRY_CACHE_BYTES } from './data-directory.ts';
import { createDurableBound, DurableBound } from './durable-bound.ts';
import { EntryCache } from './entry-cache.ts';
import { FailureLatch } from './failure-latch.ts';
import type { LogDatabase, LogWrite } from './log-database.ts';
import { LevelLogStore } from './log-store.ts';
import { RecordReader } from './record-reader.ts';
import { TableGuard } from './table-guard.ts';
import { TermRanges } from './term-ranges.ts';
import {
  entriesOf,
  entryOf,
  neverSchedule,
  NODE_ID,
  openBoth,
  readAll,
  sameEntry,
  saveLastTerm,
} from './testing/fixtures.ts';

const LOG_START = { index: 0, term: 0, checksum: 0 };
const OWNER = { nodeId: NODE_ID, incarnation: 5 };

for (const cacheBytes of [ENTRY_CACHE_BYTES, 0]) {
  describeLogStoreContract(`LevelDB, ${cacheBytes} bytes of cache`, async () => {
    const path = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    let opened = await openBoth(path, { cacheBytes });
    return {
      store: opened.log,
      reopen: async () => {
        await saveLastTerm(opened);
        await opened.directory.close();
        opened = await openBoth(path, { cacheBytes });
        return opened.log;
      },
      dispose: async () => {
        await opened.directory.close();
        await rm(path, { recursive: true });
      },
    };
  });
}

/** A map with LevelDB's surface, whose writes fail or wait on command. */
class FakeDatabase implements LogDatabase {
  readonly values = new Map<string, Uint8Array>();
  readonly batches: { readonly operations: LogWrite[]; readonly sync: boolean }[] = [];
  readCount = 0;
  failure: Error | undefined;

  async batch(operations: LogWrite[], { sync }: { sync: boolean }): Promise<void> {
    this.batches.push({ operations, sync });
    await Promise.resolve();
    if (this.failure !== undefined) throw this.failure;
    for (const operation of operations) {
      const key = Buffer.from(operation.key).toString('hex');
      if (operation.type === 'put') this.values.set(key, operation.value);
      else this.values.delete(key);
    }
  }

  getSync(key: Uint8Array): Uint8Array | undefined {
    this.readCount++;
    return this.values.get(Buffer.from(key).toString('hex'));
  }

  snapshot(): never {
    throw new Error('no snapshots of a map');
  }

  approximateSize(): Promise<number> {
    return Promise.resolve(0);
  }

  compactRange(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

describe('LevelLogStore', () => {
  let path: string;
  let db: FakeDatabase;
  let latch: FailureLatch;
  let bound: DurableBound;

  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    db = new FakeDatabase();
    latch = new FailureLatch(() => undefined);
    const boundPath = join(path, 'durable');
    await createDurableBound(boundPath, OWNER, LOG_START);
    const schedule = neverSchedule;
    bound = await DurableBound.open({ path: boundPath, owner: OWNER, latch, schedule });
  });

  afterEach(async () => {
    await bound.close().catch(() => undefined);
    await rm(path, { recursive: true });
  });

  function storeWith(cacheBytes: number): LevelLogStore {
    const terms = new TermRanges(LOG_START);
    const cache = new EntryCache(cacheBytes);
    const reader = new RecordReader(db, path);
    const last = { index: 0, checksum: 0 };
    const guard = new TableGuard({ tables: [], latch, schedule: neverSchedule });
    return new LevelLogStore({ path, db, bound, latch, terms, cache, reader, guard, last });
  }

  it('writes one synced batch per append, truncation included', async () => {
    const store = storeWith(1_000_000);
    await store.append(entriesOf(1, 6, { payloadBytes: 70_000 }));
    await store.append([entryOf({ index: 3, term: 2, payloadBytes: 10 })]);
    expect(db.batches.map(({ sync }) => sync)).toEqual([true, true]);
    expect(db.batches[1]?.operations.map(({ type }) => type)).toEqual([
      ...Array<string>(9).fill('del'),
      ...Array<string>(2).fill('put'),
    ]);
    expect(db.values.size).toBe(2 * 3 + 2);
  });

  it('acknowledges nothing after a failed write, but goes on reading', async () => {
    const store = storeWith(1_000_000);
    await store.append([entryOf({ index: 1 })]);
    db.failure = new Error('ENOSPC: no space left on device');
    const failed = { code: 'STORAGE_FAILED', cause: db.failure };
    await expect(store.append([entryOf({ index: 2 })])).rejects.toMatchObject(failed);
    db.failure = undefined;
    await expect(store.append([entryOf({ index: 3 })])).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    });
    expect(db.batches.length).toBe(2);
    expect(sameEntry(readAll(store)[0], entryOf({ index: 1 }))).toBe(true);
    await store.close();
    expect(bound.written.index).toBe(0);
  });

  it('acknowledges nothing when another file of the directory failed meanwhile', async () => {
    const store = storeWith(1_000_000);
    const running = store.append([entryOf({ index: 1 })]);
    latch.trip('writing the vote file', new Error('EIO'));
    await expect(running).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  });

  it('refuses appends that leave a gap, run backwards in term or overlap, and stays usable', async () => {
    const store = storeWith(1_000_000);
    await store.append([entryOf({ index: 1, term: 5 })]);
    const wrong: Entry[][] = [
      [],
      [entryOf({ index: 3, term: 5 })],
      [entryOf({ index: 2, term: 4 })],
      [entryOf({ index: 2, term: 6 }), entryOf({ index: 4, term: 6 })],
      [entryOf({ index: 2, term: 6 }), entryOf({ index: 3, term: 5 })],
    ];
    for (const entries of wrong) {
      await expect(store.append(entries)).rejects.toThrow(InvariantError);
    }
    const running = store.append([entryOf({ index: 2, term: 5 })]);
    await expect(store.append([entryOf({ index: 3, term: 5 })])).rejects.toThrow(InvariantError);
    await running;
    expect([store.lastIndex, db.batches.length]).toEqual([2, 2]);
  });

  it('reads recent entries without touching LevelDB, and old ones within the cache bound', async () => {
    const store = storeWith(20_000);
    for (const entry of entriesOf(1, 101, { headBytes: 10, payloadBytes: 990 })) {
      await store.append([entry]);
    }
    store.entries({ from: 90, toExclusive: 101, maxBytes: 1_000_000 });
    store.payload({ index: 95, from: 100, toExclusive: 200 });
    expect(store.term(1)).toBe(1);
    expect(db.readCount).toBe(0);
    expect(readAll(store).every((entry, i) => sameEntry(entry, expectedAt(i + 1)))).toBe(true);
    expect(db.readCount).toBeGreaterThan(80);
  });

  const expectedAt = (index: number) => entryOf({ index, headBytes: 10, payloadBytes: 990 });

  it('reads only the chunks of a payload that a range lies in', async () => {
    const store = storeWith(0);
    const entry = entryOf({ index: 1, headBytes: 100, payloadBytes: 1_000_000 });
    await store.append([entry]);
    const rng = new SeededRng(11);
    for (let round = 0; round < 200; round++) {
      const from = randomBelow(rng, 1_000_000);
      const toExclusive = from + randomBelow(rng, Math.min(200_000, 1_000_000 - from) + 1);
      db.readCount = 0;
      const bytes = store.payload({ index: 1, from, toExclusive });
      const chunkCount =
        from === toExclusive
          ? 0
          : Math.floor((toExclusive - 1) / 65_536) - Math.floor(from / 65_536) + 1;
      expect(Buffer.compare(bytes, entry.payload.subarray(from, toExclusive))).toBe(0);
      expect(db.readCount).toBe(chunkCount);
    }
    expect(() => store.payload({ index: 1, from: 0, toExclusive: 1_000_001 })).toThrow(
      InvariantError,
    );
  });

  it('reports damage it meets while reading and accepts nothing afterwards', async () => {
    const store = storeWith(0);
    await store.append([entryOf({ index: 1, payloadBytes: 200_000 })]);
    const chunk = db.values.get('00000000000000010002');
    if (chunk !== undefined)
      db.values.set(
        '00000000000000010002',
        chunk.map((b) => b ^ 1),
      );
    expect(store.payload({ index: 1, from: 0, toExclusive: 65_536 }).length).toBe(65_536);
    expect(() => store.payload({ index: 1, from: 0, toExclusive: 65_537 })).toThrow(
      expect.objectContaining({
        code: 'CORRUPTION',
        message: expect.stringContaining('record 1 chunk 2: checksum mismatch') as string,
      }),
    );
    await expect(store.append([entryOf({ index: 2 })])).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      cause: { code: 'CORRUPTION' },
    });
  });

  it('moves the start in the durable file before anything may be purged, beside an append', async () => {
    const store = storeWith(1_000_000);
    await store.append(entriesOf(1, 11, { payloadBytes: 70_000 }));
    const compacting = store.compact(4);
    expect([store.firstIndex, store.term(4), store.term(3)]).toEqual([5, 1, undefined]);
    expect([bound.start.index, store.archive.next(1, 5)]).toEqual([0, undefined]);
    await expect(store.archive.purge([{ index: 4, kept: [] }])).rejects.toThrow(InvariantError);
    await Promise.all([compacting, store.append([entryOf({ index: 11 })]), store.compact(6)]);
    expect([bound.start.index, store.archive.next(1, 7)?.index]).toEqual([6, 1]);
    expect(db.values.size).toBe(10 * 3 + 2);
    await store.archive.purge([{ index: 4, kept: [] }]);
    expect(db.values.size).toBe(9 * 3 + 2 + 1);
    await store.close();
    expect([bound.start.index, bound.written.index]).toEqual([6, 11]);
  });

  it('marks what it purges in the batch that deletes it, and is poisoned when that fails', async () => {
    const store = storeWith(0);
    await store.append(entriesOf(1, 4, { payloadBytes: 200_000 }));
    await store.compact(2);
    const kept = [{ from: 70_000, toExclusive: 70_001 }];
    const freedBytes = await store.archive.purge([{ index: 1, kept }]);
    expect(freedBytes).toBe(200_000 - 65_536);
    const { operations, sync } = db.batches[1] ?? { operations: [], sync: true };
    expect([operations.map(({ type }) => type), sync]).toEqual([
      ['del', 'del', 'del', 'put'],
      false,
    ]);
    expect(store.payload({ index: 1, ...kept[0]! }).length).toBe(1);
    expect(() => store.payload({ index: 1, from: 0, toExclusive: 1 })).toThrow(
      expect.objectContaining({ code: 'LOG_COMPACTED' }),
    );
    // What is purged is no damage: the store goes on.
    await store.append([entryOf({ index: 4 })]);
    db.failure = new Error('EIO: i/o error');
    const poisoned = { code: 'STORAGE_FAILED', cause: db.failure };
    await expect(store.archive.purge([{ index: 2, kept: [] }])).rejects.toMatchObject(poisoned);
    await expect(store.append([entryOf({ index: 5 })])).rejects.toMatchObject(poisoned);
    await store.close();
  });

  it('compacts nothing that is not durable', async () => {
    const store = storeWith(1_000_000);
    await store.append(entriesOf(1, 3));
    const running = store.append([entryOf({ index: 3 })]);
    await expect(store.compact(3)).rejects.toThrow(InvariantError);
    await running;
    await store.compact(3);
    await store.compact(2);
    await store.append([entryOf({ index: 4 })]);
    await store.close();
  });

  it('lowers the durable bound before it truncates below it', async () => {
    const store = storeWith(1_000_000);
    await store.append(entriesOf(1, 11));
    await bound.flush();
    expect(bound.written.index).toBe(10);
    const seen: number[] = [];
    const batch = db.batch.bind(db);
    db.batch = (operations, options) => {
      seen.push(bound.written.index);
      return batch(operations, options);
    };
    await store.append([entryOf({ index: 4, term: 2 })]);
    expect(seen).toEqual([3]);
    await store.close();
    expect(bound.written.index).toBe(4);
  });
});
