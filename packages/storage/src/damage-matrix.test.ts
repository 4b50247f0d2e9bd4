// Real files, really damaged: a damaged directory opens with every acknowledged entry and the saved
// vote, or it refuses in one line. `vitest -u` rewrites docs/format/damage-matrix.md.

import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SeededRng } from '@queen-ts/base';
import type { Entry, HardState, LogStore, NodeId } from '@queen-ts/raft';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { openDataDirectory, type DataDirectory } from './data-directory.ts';
import { StorageError } from './errors.ts';
import { logKey } from './keys.ts';
import { readManifest } from './leveldb-files.ts';
import { userKey } from './leveldb-table.ts';
import { DAMAGES, type Damage } from './testing/damage.ts';
import {
  entriesOf,
  entryOf,
  ManualSchedule,
  neverSchedule,
  NODE_ID,
  openBoth,
  randomBytes,
  readAll,
  sameEntry,
} from './testing/fixtures.ts';

const MATRIX_FILE = new URL('../../../docs/format/damage-matrix.md', import.meta.url).pathname;
const ENTRY_COUNT = 150;
const WRITE_BUFFER_BYTES = 65_536;
/** Indexes of the checkpoints of the image that has some. */
const CHECKPOINTS = [100, 130];
/** The image with an archive: its log starts after this entry, and these records were purged. */
const ARCHIVED_TO = 60;
const PURGED = { from: 5, toExclusive: 41 };
const VOTE: HardState = { term: 4, votedFor: 3 as NodeId, commitIndex: 12 };

/** A file by the part it plays; `pick` finds it in a directory. */
interface Target {
  readonly name: string;
  /** The images that have it; absent: all but the one with an archive. */
  readonly images?: readonly Image['name'][];
  pick(path: string): Promise<string>;
}

const TARGETS: readonly Target[] = [
  { name: 'table of the origin', pick: (path) => pickTable(path, () => 0) },
  { name: 'first table (.ldb)', pick: (path) => pickTable(path, () => 1) },
  { name: 'middle table (.ldb)', pick: (path) => pickTable(path, (count) => count >> 1) },
  { name: 'last table (.ldb)', pick: (path) => pickTable(path, (count) => count - 1) },
  { name: 'write-ahead file (.log)', pick: pickWriteAhead },
  { name: 'MANIFEST', pick: pickManifest },
  { name: 'CURRENT', pick: (path) => Promise.resolve(join(path, 'log', 'CURRENT')) },
  { name: 'vote', pick: (path) => Promise.resolve(join(path, 'vote')) },
  { name: 'durable', pick: (path) => Promise.resolve(join(path, 'durable')) },
  {
    name: 'newest checkpoint',
    images: ['checkpoints', 'archive'],
    pick: (path) => pickCheckpoint(path, 1),
  },
  {
    name: 'older checkpoint',
    images: ['checkpoints', 'archive'],
    pick: (path) => pickCheckpoint(path, 0),
  },
  { name: 'table of the archive', images: ['archive'], pick: pickArchiveTable },
  {
    name: 'bound of the archive',
    images: ['archive'],
    pick: (path) => Promise.resolve(join(path, 'durable')),
  },
  { name: 'identity.json', pick: (path) => Promise.resolve(join(path, 'identity.json')) },
];

/** A directory in a state that a process can leave behind. */
interface Image {
  readonly name: keyof typeof OTHERS;
  readonly path: string;
}

/** Directories of another node, by the name of the image whose files they replace. */
const OTHERS = {
  closed: 'other',
  killed: 'other-killed',
  checkpoints: 'other-checkpoints',
  archive: 'other-archive',
} as const;

let root: string;
let entries: Entry[];
const images: Image[] = [];
const outcomes = new Map<string, string>();

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'queen-storage-'));
  entries = entriesOf(1, ENTRY_COUNT + 1, { term: 4 });
  entries[60] = entryOf({ index: 61, term: 4, payloadBytes: 200_000 });
  // Fills a write buffer, so that the write-ahead file at the end holds the last entries only.
  entries[ENTRY_COUNT - 31] = entryOf({ index: ENTRY_COUNT - 30, term: 4, payloadBytes: 70_000 });
  images.push(
    { name: 'closed', path: join(root, 'closed') },
    { name: 'killed', path: join(root, 'killed') },
    { name: 'checkpoints', path: join(root, 'checkpoints') },
    { name: 'archive', path: join(root, 'archive') },
  );
  const others = entriesOf(1, ENTRY_COUNT + 1, { term: 4, seed: 9 });
  await fill(join(root, 'closed'), { nodeId: 1, entries, copyTo: join(root, 'killed') });
  await fill(join(root, 'checkpoints'), { nodeId: 1, entries, hasCheckpoints: true });
  await fill(join(root, 'archive'), { nodeId: 1, entries, hasCheckpoints: true, isArchived: true });
  await fill(join(root, OTHERS.closed), {
    nodeId: 2,
    entries: others,
    copyTo: join(root, OTHERS.killed),
  });
  await fill(join(root, OTHERS.checkpoints), { nodeId: 2, entries: others, hasCheckpoints: true });
  await fill(join(root, OTHERS.archive), {
    nodeId: 2,
    entries: others,
    hasCheckpoints: true,
    isArchived: true,
  });
}, 60_000);

afterAll(async () => {
  await rm(root, { recursive: true });
});

describe('damaged directories', () => {
  for (const target of TARGETS) {
    for (const damage of DAMAGES) {
      it(`never lose anything: ${target.name}, ${damage.name}`, async () => {
        for (const image of imagesOf(target)) {
          const outcome = await outcomeOf(image, target, damage);
          outcomes.set(`${target.name}/${damage.name}/${image.name}`, outcome);
        }
      }, 20_000);
    }
  }

  it('open completely when nothing is damaged, so that a refusal means something', async () => {
    for (const { path, name } of images) {
      const copy = join(root, 'intact');
      await rm(copy, { recursive: true, force: true });
      await cp(path, copy, { recursive: true });
      expect(await tryOpen(copy, name)).toBe('opens, complete');
      expect(await tryOpen(copy, name)).toBe('opens, complete');
    }
  });

  it('answer as docs/format/damage-matrix.md says', async () => {
    await expect(renderMatrix()).toMatchFileSnapshot(MATRIX_FILE);
  });
});

function imagesOf({ images: names }: Target): readonly Image[] {
  return images.filter(({ name }) => names?.includes(name) ?? name !== 'archive');
}

async function writeCheckpoints({ checkpoints }: DataDirectory, nodeId: number): Promise<void> {
  for (const index of CHECKPOINTS) {
    const writer = await checkpoints.begin();
    const state = stateOf(index);
    for (let at = 0; at < state.length; at += 1000)
      await writer.write(state.subarray(at, at + 1000));
    const membership = Uint8Array.of(nodeId);
    await writer.finish({ index, clusterId: 'c', digest: 'd', membership });
  }
}

/** What stands for the state at an index. */
function stateOf(index: number): Uint8Array {
  return randomBytes(new SeededRng(index), 20_000);
}

async function fill(
  path: string,
  options: {
    readonly nodeId: number;
    readonly entries: readonly Entry[];
    readonly copyTo?: string;
    readonly hasCheckpoints?: boolean;
    readonly isArchived?: boolean;
  },
): Promise<void> {
  const manual = new ManualSchedule();
  const { directory, log } = await openBoth(path, {
    nodeId: options.nodeId,
    schedule: manual.schedule,
    writeBufferBytes: WRITE_BUFFER_BYTES,
  });
  await directory.hardState.save({ term: 2, votedFor: 0, commitIndex: 0 });
  await directory.hardState.save(VOTE);
  for (const entry of options.entries) await log.append([entry]);
  manual.runAll();
  await vi.waitUntil(async () => (await readFile(join(path, 'durable'))).includes(boundBody()));
  // What a killed process leaves. LevelDB may be writing tables: retried until the copy is one state.
  const { copyTo, nodeId } = options;
  if (copyTo !== undefined) await vi.waitUntil(() => copyLive(path, copyTo), { timeout: 10_000 });
  if (options.hasCheckpoints === true) await writeCheckpoints(directory, nodeId);
  if (options.isArchived === true) await archive(log);
  await directory.close();
}

/** Moves the log's start, purges, and lets LevelDB rewrite the archive. */
async function archive(log: LogStore): Promise<void> {
  await log.compact?.(ARCHIVED_TO);
  const { from, toExclusive } = PURGED;
  const indexes = Array.from({ length: toExclusive - from }, (_, i) => from + i);
  await log.archive?.purge(indexes.map((index) => ({ index, kept: [] })));
  expect(await log.archive?.reclaim()).toBe(true);
}

/** The last index as the durable file stores it. */
function boundBody(): Buffer {
  const body = Buffer.alloc(8);
  body.writeUInt32BE(ENTRY_COUNT, 4);
  return body;
}

/** Copies a directory in use; false if its files changed meanwhile. LOCK files must not be opened. */
async function copyLive(from: string, to: string): Promise<boolean> {
  await rm(to, { recursive: true, force: true });
  const before = await listing(from);
  const filter = (source: string) => !source.endsWith('LOCK');
  const isCopied = await cp(from, to, { recursive: true, filter }).then(
    () => true,
    () => false,
  );
  return isCopied && before === (await listing(from));
}

async function listing(path: string): Promise<string> {
  const names = await readdir(join(path, 'log'));
  const manifest = await readFile(await pickManifest(path));
  return `${names.toSorted().join()} ${manifest.toString('base64')}`;
}

async function outcomeOf(image: Image, target: Target, damage: Damage): Promise<string> {
  const path = join(root, 'victim');
  await rm(path, { recursive: true, force: true });
  await cp(image.path, path, { recursive: true });
  const stale = await target.pick(join(root, OTHERS[image.name]));
  await damage.apply(await target.pick(path), stale);
  const outcome = await tryOpen(path, image.name);
  // A refusal is not forgotten: nothing of what the first opening did makes the second one succeed.
  expect(await tryOpen(path, image.name), 'opened again').toBe(outcome);
  return outcome;
}

async function tryOpen(path: string, name: Image['name']): Promise<string> {
  let isOpen = false;
  try {
    return await useDirectory(path, async (directory) => {
      const { from, replayed, log } = await recover(directory);
      isOpen = true;
      expect(directory.hardState.current).toEqual(VOTE);
      expect([log.lastIndex, replayed.length]).toEqual([ENTRY_COUNT, ENTRY_COUNT - from]);
      expect(replayed.every((entry, i) => sameEntry(entry, entries[from + i]))).toBe(true);
      const start = name === 'archive' ? ARCHIVED_TO : 0;
      expect(readAll(log).every((entry, i) => sameEntry(entry, entries[start + i]))).toBe(true);
      expect(readArchive(log)).toEqual(expectedArchive(start));
      return directory.warnings.some((warning) => warning.includes('checkpoints/'))
        ? 'opens, complete, warns'
        : 'opens, complete';
    });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    expect(error.message).not.toContain('\n');
    expect(error.message).toContain(path);
    expect(error.message).toContain('; remedy: ');
    expect(['CORRUPTION', 'NODE_MISMATCH', 'FORMAT_UNSUPPORTED']).toContain(error.code);
    return isOpen ? `${error.code} when read` : error.code;
  }
}

/** Indexes of all archived records, each of which is read completely. */
function readArchive(log: LogStore): number[] {
  const found: number[] = [];
  for (let from = 1; from < log.firstIndex;) {
    const record = log.archive?.next(from, log.firstIndex);
    if (record === undefined) break;
    const { index, payloadBytes, head } = record;
    const payload = log.payload({ index, from: 0, toExclusive: payloadBytes });
    const { term, type } = entries[index - 1] ?? { term: 0, type: 'noop' };
    expect(sameEntry({ index, term, type, head, payload }, entries[index - 1])).toBe(true);
    found.push(index);
    from = index + 1;
  }
  return found;
}

function expectedArchive(start: number): number[] {
  const indexes = Array.from({ length: start }, (_, i) => i + 1);
  return indexes.filter((index) => index < PURGED.from || index >= PURGED.toExclusive);
}

async function useDirectory<T>(
  path: string,
  use: (directory: DataDirectory) => Promise<T>,
): Promise<T> {
  const options = { path, nodeId: NODE_ID, rng: new SeededRng(1), schedule: neverSchedule };
  const directory = await openDataDirectory(options);
  try {
    return await use(directory);
  } finally {
    await directory.close();
  }
}

/** Loads what checkpoint there is and walks the rest of the log, as a start does. */
async function recover(directory: DataDirectory) {
  const replayed: Entry[] = [];
  let state: Uint8Array[] = [];
  const loaded = await directory.checkpoints.load({
    begin: () => {
      state = [];
    },
    piece: (bytes) => void state.push(Uint8Array.from(bytes)),
  });
  const from = loaded?.position ?? { index: 0, term: 0, checksum: 0 };
  if (loaded !== undefined) expect(Buffer.concat(state).equals(stateOf(from.index))).toBe(true);
  const onEntry = (entry: Entry): void => void replayed.push(entry);
  const options = { writeBufferBytes: WRITE_BUFFER_BYTES, cacheBytes: 0 };
  const log = await directory.openLog({ ...options, from, onEntry });
  return { from: from.index, replayed, log };
}

async function pickCheckpoint(path: string, position: number): Promise<string> {
  const names = await readdir(join(path, 'checkpoints'));
  return join(path, 'checkpoints', names.toSorted()[position] ?? '');
}

async function pickTable(path: string, choose: (count: number) => number): Promise<string> {
  const names = await readdir(join(path, 'log'));
  const tables = names.filter((name) => name.endsWith('.ldb')).toSorted();
  expect(tables.length).toBeGreaterThanOrEqual(3);
  return join(path, 'log', tables[choose(tables.length)] ?? '');
}

/** The table that holds the records after the purged ones, and so what is left around those. */
async function pickArchiveTable(path: string): Promise<string> {
  const { tables } = await readManifest(await pickManifest(path));
  const key = logKey(PURGED.toExclusive, 0);
  for (const { number, smallestKey, largestKey } of tables.values()) {
    const isBefore = Buffer.compare(userKey(largestKey), key) < 0;
    if (isBefore || Buffer.compare(userKey(smallestKey), key) > 0) continue;
    return join(path, 'log', `${String(number).padStart(6, '0')}.ldb`);
  }
  throw new Error(`no table holds record ${PURGED.toExclusive}`);
}

async function pickWriteAhead(path: string): Promise<string> {
  const names = await readdir(join(path, 'log'));
  const files = names.filter((name) => /^\d+\.log$/.test(name)).toSorted();
  return join(path, 'log', files.at(-1) ?? '');
}

async function pickManifest(path: string): Promise<string> {
  return join(path, 'log', (await readFile(join(path, 'log', 'CURRENT'), 'latin1')).trimEnd());
}

function renderMatrix(): string {
  const rows = [['file', 'state', ...DAMAGES.map(({ name }) => name)]];
  for (const target of TARGETS) {
    for (const image of imagesOf(target)) {
      const cells = DAMAGES.map(
        ({ name }) => outcomes.get(`${target.name}/${name}/${image.name}`) ?? 'not run',
      );
      rows.push([target.name, image.name, ...cells]);
    }
  }
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  const [header, ...body] = rows.map(line);
  return [INTRODUCTION, [header, rule, ...body, ''].join('\n')].join('\n\n');
}

const INTRODUCTION = `# Damage matrix

Written by \`packages/storage/src/damage-matrix.test.ts\` (\`vitest -u\`); do not edit.

Each cell damages one file of a data directory of ${ENTRY_COUNT} acknowledged entries and a saved vote, then opens
it twice. «closed» was closed in order, «killed» is what a killed process leaves, «checkpoints» was closed
with checkpoints at entries ${CHECKPOINTS.join(' and ')}, «archive» too, with a log that starts after entry ${ARCHIVED_TO}, records
${PURGED.from} to ${PURGED.toExclusive - 1} purged and the tables rewritten since. \`opens, complete\`: every entry is there byte for byte and the
vote is the saved one; \`warns\`: and a warning names the checkpoint that was passed over. A code: refused, in
one line that names the file and the remedy, both times; \`when read\`: not at the start but before a record
of a table that lies before the checkpoint is read, and then nothing is written any more. Nothing else
happens.`;
