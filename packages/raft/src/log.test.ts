import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { ENTRY_OVERHEAD_BYTES, RaftLog } from './log.ts';
import type { Entry } from './ports.ts';
import { MemoryLogStore } from './testing/memory-log-store.ts';

const NO_BYTES = new Uint8Array(0);

describe('RaftLog', () => {
  it('starts from what the store and the state machine know', () => {
    const store = storeOf([1, 1, 2]);
    const log = new RaftLog({ store, commitIndex: 1, appliedIndex: 2 });
    expect([log.firstIndex, log.lastIndex, log.lastTerm]).toEqual([1, 3, 2]);
    expect([log.commitIndex, log.appliedIndex, log.persistedIndex]).toEqual([2, 2, 3]);
  });

  it.each([
    ['applied beyond the log', { commitIndex: 0, appliedIndex: 4 }],
    ['committed beyond the log', { commitIndex: 4, appliedIndex: 0 }],
  ])('refuses a store that lost something: %s', (_what, indexes) => {
    expect(() => new RaftLog({ store: storeOf([1, 1, 2]), ...indexes })).toThrow(/applied|commit/);
  });

  it('refuses a store that was compacted beyond what is applied', () => {
    const store = storeOf([1, 1, 2]);
    store.compactNow(2);
    const options = { store, commitIndex: 3, appliedIndex: 1 };
    expect(() => new RaftLog(options)).toThrow('applied 1 outside the log 3..3');
  });

  it('never replaces committed entries, leaves no gap and lets no term fall', () => {
    const log = new RaftLog({ store: storeOf([1, 1, 2]), commitIndex: 2, appliedIndex: 0 });
    expect(() => log.append([entryOf(2, 3)])).toThrow('append at 2: commit 2, last 3');
    expect(() => log.append([entryOf(5, 3)])).toThrow('append at 5');
    expect(() => log.append([entryOf(4, 1)])).toThrow('term falls at 4');
    expect(() => log.commitTo(4)).toThrow('commit 4 beyond the log 3');
  });

  it('compares logs by last term, then by length', () => {
    const log = new RaftLog({ store: storeOf([1, 2, 2]), commitIndex: 0, appliedIndex: 0 });
    const verdicts = [
      [3, 2],
      [4, 2],
      [1, 3],
      [2, 2],
      [9, 1],
    ].map(([index = 0, term = 0]) => log.isUpToDate(index, term));
    expect(verdicts).toEqual([true, true, true, false, false]);
  });

  it('finds where another log could still agree', () => {
    const log = new RaftLog({ store: storeOf([1, 1, 3, 3, 5]), commitIndex: 0, appliedIndex: 0 });
    expect(log.lastIndexUpToTerm(9, 5)).toBe(5);
    expect(log.lastIndexUpToTerm(9, 4)).toBe(4);
    expect(log.lastIndexUpToTerm(4, 2)).toBe(2);
    expect(log.lastIndexUpToTerm(4, 0)).toBe(0);
  });

  it('limits reads from memory and from the store, but gives one entry', () => {
    const log = new RaftLog({ store: storeOf([1, 1, 1]), commitIndex: 0, appliedIndex: 0 });
    log.append([entryOf(4, 1), entryOf(5, 1), entryOf(6, 1)]);
    const read = (from: number, maxBytes: number): number | undefined =>
      log.entries({ from, toExclusive: 7, maxBytes })?.length;
    expect([read(1, 1e6), read(4, 0), read(4, 2 * ENTRY_OVERHEAD_BYTES), read(4, 1e6)]).toEqual([
      3, 1, 2, 3,
    ]);
  });

  it('hands out what is committed and durable, once', () => {
    const log = new RaftLog({ store: new MemoryLogStore(), commitIndex: 0, appliedIndex: 0 });
    log.append([entryOf(1, 1), entryOf(2, 1)]);
    log.commitTo(2);
    expect(log.hasCommitted).toBe(false);
    log.takeUnpersisted();
    log.append([entryOf(3, 1)]);
    log.persisted();
    expect(log.persistedIndex).toBe(2);
    expect(indexesOf(log.takeCommitted(1000))).toEqual([1, 2]);
    expect([log.hasCommitted, indexesOf(log.takeCommitted(1000))]).toEqual([false, []]);
    expect(() => log.applied(3)).toThrow('applied 3 before it was handed out');
  });

  it('counts nothing of a persist that was replaced while it ran', () => {
    const log = new RaftLog({ store: new MemoryLogStore(), commitIndex: 0, appliedIndex: 0 });
    log.append([entryOf(1, 1), entryOf(2, 1), entryOf(3, 1)]);
    log.takeUnpersisted();
    log.append([entryOf(2, 2), entryOf(3, 2), entryOf(4, 2)]);
    log.persisted();
    expect(log.persistedIndex).toBe(1);
    expect(log.takeUnpersisted().map(({ index, term }) => [index, term])).toEqual([
      [2, 2],
      [3, 2],
      [4, 2],
    ]);
  });

  it('agrees with a plain array over random appends, persists, commits and reads', () => {
    for (let seed = 1; seed <= 60; seed++) compareWithArray(new SeededRng(seed));
  });
});

/** Runs a log beside the list of entries it should hold. */
function compareWithArray(rng: SeededRng): void {
  const store = new MemoryLogStore();
  const log = new RaftLog({ store, commitIndex: 0, appliedIndex: 0 });
  const model: Entry[] = [];
  const delivered: Entry[] = [];
  let isPersisting = false;
  for (let term = 1; term <= 150; term++) {
    const dice = randomBelow(rng, 6);
    if (dice < 2) {
      const from = log.commitIndex + 1 + randomBelow(rng, log.lastIndex - log.commitIndex + 1);
      const added = [entryOf(from, term), entryOf(from + 1, term)];
      model.splice(from - 1, Infinity, ...added);
      log.append(added);
    } else if (dice === 2 && !isPersisting && log.hasUnpersisted) {
      store.begin(log.takeUnpersisted());
      isPersisting = true;
    } else if (dice === 3 && isPersisting) {
      store.sync();
      log.persisted();
      isPersisting = false;
    } else if (dice === 4) {
      log.commitTo(log.commitIndex + randomBelow(rng, log.lastIndex - log.commitIndex + 1));
    } else {
      delivered.push(...log.takeCommitted(randomBelow(rng, 200)));
      log.applied(delivered.length);
    }
    expectSame(log, model, randomBelow(rng, model.length + 1) + 1);
  }
  expect(delivered).toEqual(model.slice(0, delivered.length));
}

function expectSame(log: RaftLog, model: readonly Entry[], from: number): void {
  expect(log.lastIndex).toBe(model.length);
  expect(log.term(from)).toBe(model[from - 1]?.term);
  if (from > model.length) return;
  const range = { from, toExclusive: model.length + 1, maxBytes: 1e6 };
  const found = log.entries(range) ?? [];
  // A read ends where the store ends and memory begins.
  expect(found.length).toBeGreaterThan(0);
  expect(found).toEqual(model.slice(from - 1, from - 1 + found.length));
}

function storeOf(terms: readonly number[]): MemoryLogStore {
  const store = new MemoryLogStore();
  store.begin(terms.map((term, i) => entryOf(i + 1, term)));
  store.sync();
  return store;
}

function entryOf(index: number, term: number): Entry {
  return { index, term, type: 'command', head: NO_BYTES, payload: NO_BYTES };
}

function indexesOf(entries: readonly Entry[]): number[] {
  return entries.map(({ index }) => index);
}
