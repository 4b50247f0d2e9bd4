// What the tests of this package share: temporary directories, seeded entries, a schedule that runs
// when told to, and opened directories that are closed again.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { randomBelow, SeededRng } from '@queen-ts/base';
import type { Entry, LogStore, NodeId } from '@queen-ts/raft';

import { openDataDirectory, type DataDirectory, type OpenLogOptions } from '../data-directory.ts';
import type { Schedule } from '../durable-bound.ts';

/** The node that tests are, unless they say otherwise. */
export const NODE_ID = 1 as NodeId;

/** A schedule that never runs anything: the durable bound then moves at close only. */
export const neverSchedule: Schedule = () => () => undefined;

/** A schedule whose pending runs start when the test says so. */
export class ManualSchedule {
  readonly #pending = new Set<() => void>();

  readonly schedule: Schedule = (run) => {
    this.#pending.add(run);
    return () => this.#pending.delete(run);
  };

  get pendingCount(): number {
    return this.#pending.size;
  }

  runAll(): void {
    const runs = [...this.#pending];
    this.#pending.clear();
    for (const run of runs) run();
  }
}

/** Runs `use` with a new temporary directory and removes it afterwards. */
export async function withTemporaryDirectory<T>(use: (path: string) => Promise<T>): Promise<T> {
  const path = await mkdtemp(join(tmpdir(), 'queen-storage-'));
  try {
    return await use(path);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

/** How a test opens a directory. */
export interface TestOpenOptions extends OpenLogOptions {
  readonly nodeId?: number;
  readonly seed?: number;
  readonly schedule?: Schedule;
}

/** An open directory and its log; closing the directory closes both. */
export interface OpenedDirectory {
  readonly directory: DataDirectory;
  readonly log: LogStore;
}

/** Opens or creates the directory and its log. Nothing stays open when it throws. */
export async function openBoth(
  path: string,
  options: TestOpenOptions = {},
): Promise<OpenedDirectory> {
  const nodeId = (options.nodeId ?? NODE_ID) as NodeId;
  const rng = new SeededRng(options.seed ?? nodeId);
  const schedule = options.schedule ?? neverSchedule;
  const directory = await openDataDirectory({ path, nodeId, rng, schedule });
  try {
    return { directory, log: await directory.openLog(options) };
  } catch (error) {
    await directory.close();
    throw error;
  }
}

/** Does what a driver does before it appends: the term of the log is durable in the vote file. */
export async function saveLastTerm({ directory, log }: OpenedDirectory): Promise<void> {
  const { term, commitIndex } = directory.hardState.current;
  const lastTerm = log.term(log.lastIndex) ?? 0;
  if (lastTerm > term) await directory.hardState.save({ term: lastTerm, votedFor: 0, commitIndex });
}

/** Sizes and place of an entry; its bytes follow from them and the seed. */
export interface EntryShape {
  readonly index: number;
  readonly term?: number;
  readonly headBytes?: number;
  readonly payloadBytes?: number;
  readonly seed?: number;
}

/** An entry with seeded random bytes. */
export function entryOf({ index, term = 1, headBytes, payloadBytes, seed = 0 }: EntryShape): Entry {
  const rng = new SeededRng(index + seed * 1_000_003);
  const head = randomBytes(rng, headBytes ?? randomBelow(rng, 200));
  const payload = randomBytes(rng, payloadBytes ?? randomBelow(rng, 2000));
  return { index, term, type: 'command', head, payload };
}

/** Entries with the indexes [from, toExclusive) and otherwise the same shape. */
export function entriesOf(
  from: number,
  toExclusive: number,
  shape: Omit<EntryShape, 'index'> = {},
): Entry[] {
  return Array.from({ length: toExclusive - from }, (_, i) =>
    entryOf({ ...shape, index: from + i }),
  );
}

/** Seeded random bytes. */
export function randomBytes(rng: SeededRng, sizeBytes: number): Uint8Array {
  const words = Uint32Array.from({ length: Math.ceil(sizeBytes / 4) }, () => rng.u32());
  return new Uint8Array(words.buffer, 0, sizeBytes);
}

/** Everything in the log. */
export function readAll(log: LogStore): Entry[] {
  const range = { from: log.firstIndex, toExclusive: log.lastIndex + 1 };
  return log.entries({ ...range, maxBytes: Number.MAX_SAFE_INTEGER });
}

/** Whether two entries are the same, byte for byte. */
export function sameEntry(a: Entry | undefined, b: Entry | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.index === b.index &&
    a.term === b.term &&
    a.type === b.type &&
    Buffer.compare(a.head, b.head) === 0 &&
    Buffer.compare(a.payload, b.payload) === 0
  );
}
