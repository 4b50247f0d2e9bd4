// The contract suite of LogStore: exactly what ports.ts promises, and what the core relies on.

import { randomBelow, SeededRng } from '@queen-ts/base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Entry, EntryType, LogReader, LogStore } from '../ports.ts';

/** One new, empty store and the means to restart it. */
export interface LogStoreFixture {
  readonly store: LogStore;
  /** Closes the store and opens what a restarted process would find. */
  reopen(): Promise<LogStore>;
  dispose(): Promise<void>;
}

/** Registers the cases every LogStore must pass. `open` gives each case a new, empty store. */
export function describeLogStoreContract(name: string, open: () => Promise<LogStoreFixture>): void {
  describe(`LogStore contract: ${name}`, () => {
    let fixture: LogStoreFixture;
    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(() => fixture.dispose());

    describe('appending and reading', () => appendCases(() => fixture));
    describe('truncating', () => truncateCases(() => fixture));
    describe('compacting and purging', () => compactCases(() => fixture));
    describe('closing', () => closeCases(() => fixture));
  });
}

function appendCases(get: () => LogStoreFixture): void {
  it('is empty at first: indexes 1 and 0, term 0 before the first entry', () => {
    const { store } = get();
    expect([store.firstIndex, store.lastIndex]).toEqual([1, 0]);
    expect([store.term(0), store.term(1)]).toEqual([0, undefined]);
  });

  it('returns what was appended, byte for byte, also after a restart', async () => {
    const entries = [
      entryOf(1, 1, { type: 'noop' }),
      entryOf(2, 1, { type: 'membership', head: bytesOf(7, 1) }),
      entryOf(3, 4, { head: bytesOf(100, 2), payload: bytesOf(200_000, 3) }),
      entryOf(4, 4, { head: bytesOf(70_000, 4) }),
    ];
    await get().store.append(entries);
    expectLog(get().store, entries);
    expectLog(await get().reopen(), entries);
  });

  it('shows entries to readers as soon as the append has started', async () => {
    const { store } = get();
    const entries = [entryOf(1, 1), entryOf(2, 1)];
    const running = store.append(entries);
    expectLog(store, entries);
    await running;
    expectLog(store, entries);
  });

  it('knows the term of every index it holds and of none other', async () => {
    const { store } = get();
    await store.append([entryOf(1, 1), entryOf(2, 1), entryOf(3, 9)]);
    expect([0, 1, 2, 3, 4].map((index) => store.term(index))).toEqual([0, 1, 1, 9, undefined]);
  });

  it('limits a read to the longest prefix of at most maxBytes, but gives one entry at least', async () => {
    const { store } = get();
    const entries = [1, 2, 3, 4].map((index) =>
      entryOf(index, 1, { head: bytesOf(4, index), payload: bytesOf(6, index) }),
    );
    await store.append(entries);
    const lengthFor = (maxBytes: number): number =>
      store.entries({ from: 2, toExclusive: 5, maxBytes }).length;
    expect([0, 9, 10, 19, 20, 30, 1000].map(lengthFor)).toEqual([1, 1, 1, 1, 2, 3, 3]);
    expect(store.entries({ from: 2, toExclusive: 2, maxBytes: 1000 })).toEqual([]);
    expect(store.entries({ from: 5, toExclusive: 5, maxBytes: 1000 })).toEqual([]);
  });

  it('returns any part of a payload', async () => {
    const payload = bytesOf(150_000, 5);
    await get().store.append([entryOf(1, 1, { head: bytesOf(3, 1), payload })]);
    const store = await get().reopen();
    const ranges: readonly (readonly [number, number])[] = [
      [0, 0],
      [0, 1],
      [65_535, 65_537],
      [131_072, 150_000],
      [1, 149_999],
      [0, 150_000],
    ];
    for (const [from, toExclusive] of ranges) {
      const part = store.payload({ index: 1, from, toExclusive });
      expect(sameBytes(part, payload.subarray(from, toExclusive)), `${from}..${toExclusive}`).toBe(
        true,
      );
    }
  });

  it('names the indexes of membership entries, also after truncation and restart', async ({
    skip,
  }) => {
    const { store } = get();
    if (store.membershipIndexes === undefined) return skip();
    const entries = [1, 2, 3, 4, 5].map((index) =>
      entryOf(index, 1, { type: index % 2 === 0 ? 'membership' : 'command' }),
    );
    await store.append(entries);
    expect(store.membershipIndexes({ from: 1, toExclusive: 6 })).toEqual([2, 4]);
    expect(store.membershipIndexes({ from: 3, toExclusive: 4 })).toEqual([]);
    await store.append([entryOf(4, 2), entryOf(5, 2, { type: 'membership' })]);
    const range = { from: 2, toExclusive: 6 };
    expect(store.membershipIndexes(range)).toEqual([2, 5]);
    expect((await get().reopen()).membershipIndexes?.(range)).toEqual([2, 5]);
  });

  it('goes on after a restart', async () => {
    await get().store.append([entryOf(1, 1), entryOf(2, 1)]);
    const store = await get().reopen();
    await store.append([entryOf(3, 2)]);
    expectLog(store, [entryOf(1, 1), entryOf(2, 1), entryOf(3, 2)]);
  });
}

function truncateCases(get: () => LogStoreFixture): void {
  it('replaces a conflicting suffix in the same step', async () => {
    const { store } = get();
    await store.append([1, 2, 3, 4, 5].map((index) => entryOf(index, 1)));
    await store.append([entryOf(3, 2)]);
    const expected = [entryOf(1, 1), entryOf(2, 1), entryOf(3, 2)];
    expectLog(store, expected);
    expectLog(await get().reopen(), expected);
  });

  it('replaces the whole log', async () => {
    const { store } = get();
    await store.append([entryOf(1, 1, { payload: bytesOf(200_000, 1) }), entryOf(2, 1)]);
    await store.append([entryOf(1, 2, { payload: bytesOf(10, 2) })]);
    const expected = [entryOf(1, 2, { payload: bytesOf(10, 2) })];
    expectLog(store, expected);
    expectLog(await get().reopen(), expected);
  });

  it('accepts the same entries once more', async () => {
    const { store } = get();
    const entries = [1, 2, 3].map((index) => entryOf(index, 1));
    await store.append(entries);
    await store.append(entries.slice(1));
    expectLog(store, entries);
  });

  it('agrees with a plain array over random appends, truncations and restarts', async () => {
    const rng = new SeededRng(20_260_101);
    let { store } = get();
    let model: Entry[] = [];
    for (let round = 1; round <= 120; round++) {
      const keepCount =
        randomBelow(rng, 3) === 0 ? randomBelow(rng, model.length + 1) : model.length;
      const added = Array.from({ length: 1 + randomBelow(rng, 4) }, (_, i) =>
        entryOf(keepCount + 1 + i, round, { payload: bytesOf(randomBelow(rng, 300), round) }),
      );
      model = [...model.slice(0, keepCount), ...added];
      await store.append(added);
      if (randomBelow(rng, 10) === 0) store = await get().reopen();
      expectLog(store, model);
    }
  });
}

function compactCases(get: () => LogStoreFixture): void {
  it('drops a prefix but keeps the term before the first entry', async ({ skip }) => {
    const { store } = get();
    if (store.compact === undefined) return skip();
    await store.append([entryOf(1, 1), entryOf(2, 1), entryOf(3, 2), entryOf(4, 2)]);
    await store.compact(3);
    const expectCompacted = (reader: LogReader): void => {
      expect([reader.firstIndex, reader.lastIndex]).toEqual([4, 4]);
      expect([2, 3, 4].map((index) => reader.term(index))).toEqual([undefined, 2, 2]);
      expect(() => reader.entries({ from: 3, toExclusive: 5, maxBytes: 100 })).toThrow(
        expect.objectContaining({ code: 'LOG_COMPACTED' }),
      );
    };
    expectCompacted(store);
    expectCompacted(await get().reopen());
  });

  it('goes on after everything was compacted', async ({ skip }) => {
    const { store } = get();
    if (store.compact === undefined) return skip();
    await store.append([entryOf(1, 1), entryOf(2, 3)]);
    await store.compact(2);
    expect([store.firstIndex, store.lastIndex, store.term(2)]).toEqual([3, 2, 3]);
    await store.append([entryOf(3, 3)]);
    expectLog(await get().reopen(), [entryOf(3, 3)], 3);
  });

  it('archives what it compacts: payloads stay readable', async ({ skip }) => {
    const { store } = get();
    if (store.compact === undefined || store.archive === undefined) return skip();
    const entries = [1, 2, 3, 4].map((index) =>
      entryOf(index, 1, { head: bytesOf(5, index), payload: bytesOf(150_000, index) }),
    );
    await store.append(entries);
    expect(store.archive.next(1, 5)).toBeUndefined();
    await store.compact(3);
    expectArchived(store, entries.slice(0, 3));
    const reopened = await get().reopen();
    expectArchived(reopened, entries.slice(0, 3));
    expect(reopened.archive?.next(2, 3)?.index).toBe(2);
    expect(reopened.archive?.next(4, 5)).toBeUndefined();
  });

  it('purges records and parts of records, and says so when they are read', async ({ skip }) => {
    const { store } = get();
    if (store.compact === undefined || store.archive === undefined) return skip();
    const entries = [1, 2, 3, 4].map((index) =>
      entryOf(index, 1, { payload: bytesOf(300_000, index) }),
    );
    await store.append(entries);
    await store.compact(3);
    const kept = [
      { from: 10, toExclusive: 100 },
      { from: 140_000, toExclusive: 140_500 },
    ];
    const deletedBytes = await store.archive.purge([
      { index: 1, kept: [] },
      { index: 3, kept },
    ]);
    expect(deletedBytes).toBeGreaterThan(400_000);
    await store.archive.reclaim();
    await store.append([entryOf(5, 1)]);
    const expectPurged = (log: LogStore): void => {
      expect([log.archive?.next(1, 5)?.index, log.archive?.next(3, 5)?.index]).toEqual([2, 3]);
      expectArchived(log, entries.slice(1, 2));
      for (const { from, toExclusive } of kept) {
        const part = log.payload({ index: 3, from, toExclusive });
        const expected = entries[2]?.payload.subarray(from, toExclusive);
        expect(expected !== undefined && sameBytes(part, expected)).toBe(true);
      }
      for (const range of [
        { index: 1, from: 0, toExclusive: 10 },
        { index: 3, from: 70_000, toExclusive: 70_010 },
        { index: 3, from: 0, toExclusive: 300_000 },
      ]) {
        expect(() => log.payload(range)).toThrow(
          expect.objectContaining({ code: 'LOG_COMPACTED' }),
        );
      }
      expectLog(log, [...entries.slice(3), entryOf(5, 1)], 4);
    };
    expectPurged(store);
    expectPurged(await get().reopen());
  });

  it('purges the rest of a record later, and everything in the end', async ({ skip }) => {
    const { store } = get();
    if (store.compact === undefined || store.archive === undefined) return skip();
    await store.append([1, 2].map((index) => entryOf(index, 1, { payload: bytesOf(200_000, 7) })));
    await store.compact(2);
    await store.archive.purge([{ index: 1, kept: [{ from: 0, toExclusive: 70_000 }] }]);
    await store.archive.purge([{ index: 1, kept: [{ from: 0, toExclusive: 10 }] }]);
    expect(store.payload({ index: 1, from: 0, toExclusive: 10 }).length).toBe(10);
    await store.archive.purge([1, 2].map((index) => ({ index, kept: [] })));
    expect(store.archive.next(1, 3)).toBeUndefined();
    await store.append([entryOf(3, 1)]);
    const reopened = await get().reopen();
    expect(reopened.archive?.next(1, 3)).toBeUndefined();
    expectLog(reopened, [entryOf(3, 1)], 3);
  });
}

function expectArchived(log: LogStore, entries: readonly Entry[]): void {
  for (const { index, type, head, payload } of entries) {
    const record = log.archive?.next(index, index + 1);
    expect(record).toMatchObject({ index, type, payloadBytes: payload.length });
    expect(record !== undefined && sameBytes(record.head, head)).toBe(true);
    const found = log.payload({ index, from: 0, toExclusive: payload.length });
    expect(sameBytes(found, payload)).toBe(true);
  }
}

function closeCases(get: () => LogStoreFixture): void {
  it('closes twice without complaint and refuses later calls', async () => {
    const { store } = get();
    await store.append([entryOf(1, 1)]);
    await store.close();
    await store.close();
    await expect(store.append([entryOf(2, 1)])).rejects.toThrow();
    expect(() => store.entries({ from: 1, toExclusive: 2, maxBytes: 10 })).toThrow();
  });
}

function expectLog(reader: LogReader, entries: readonly Entry[], firstIndex = 1): void {
  expect([reader.firstIndex, reader.lastIndex]).toEqual([
    firstIndex,
    firstIndex + entries.length - 1,
  ]);
  const range = { from: firstIndex, toExclusive: reader.lastIndex + 1 };
  const found = reader.entries({ ...range, maxBytes: Number.MAX_SAFE_INTEGER });
  expect(found.map(({ index, term, type }) => ({ index, term, type }))).toEqual(
    entries.map(({ index, term, type }) => ({ index, term, type })),
  );
  found.forEach((entry, i) => {
    const expected = entries[i];
    expect(expected !== undefined && sameBytes(entry.head, expected.head)).toBe(true);
    expect(expected !== undefined && sameBytes(entry.payload, expected.payload)).toBe(true);
    expect(reader.term(entry.index)).toBe(entry.term);
  });
}

function entryOf(
  index: number,
  term: number,
  rest: { type?: EntryType; head?: Uint8Array; payload?: Uint8Array } = {},
): Entry {
  const { type = 'command', head = new Uint8Array(0), payload = new Uint8Array(0) } = rest;
  return { index, term, type, head, payload };
}

function bytesOf(sizeBytes: number, seed: number): Uint8Array {
  return Uint8Array.from({ length: sizeBytes }, (_, i) => (i * 31 + seed * 97 + (i >> 8)) & 0xff);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
