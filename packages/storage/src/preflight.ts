// Looks at the log directory before LevelDB does, read-only. LevelDB drops what it cannot read from a
// write-ahead file, then deletes that file, and deletes every table that its manifest does not name;
// a damaged table can make it abort the process. This is the last moment at which damage can be told
// apart from an unfinished write and the evidence is still there.

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { corruption, hasSystemCode } from './errors.ts';
import { parseLogKey } from './keys.ts';
import { readManifest, scanRecordFile, type TableFile } from './leveldb-files.ts';
import { type TablePlace, userKey, verifyTable, verifyTableFrame } from './leveldb-table.ts';
import type { UncheckedTable } from './table-guard.ts';

/** The records that are read while the log is opened: up to one index, and from another one on. */
export interface ReadRanges {
  readonly toIndex: number;
  readonly fromIndex: number;
}

/**
 * Throws CORRUPTION, naming the file, unless the LevelDB files at `path` are complete. Tables that hold
 * records of `ranges` are verified to the last byte; of the others only size, index and filter are, and
 * they are returned: their records must be verified before LevelDB reads them.
 */
export async function preflightLog(path: string, ranges: ReadRanges): Promise<UncheckedTable[]> {
  const names = await listDirectory(path);
  const manifestPath = join(path, await currentManifest(path, names));
  const { logNumber, tables } = await readManifest(manifestPath);
  const unchecked: UncheckedTable[] = [];
  for (const table of tables.values()) {
    const place = await findTable(path, table);
    const firstIndex = parseLogKey(userKey(table.smallestKey))?.index;
    const lastIndex = parseLogKey(userKey(table.largestKey))?.index;
    const isOld =
      firstIndex !== undefined &&
      lastIndex !== undefined &&
      firstIndex > ranges.toIndex &&
      lastIndex < ranges.fromIndex;
    if (isOld) {
      verifyTableFrame(place);
      unchecked.push({ ...place, firstIndex, lastIndex });
    } else {
      await verifyTable(place);
    }
  }
  const writeAhead = writeAheadNumbers(names).filter((number) => number >= logNumber);
  if (logNumber === 0) throw corruption(manifestPath, 'names no write-ahead file');
  if (writeAhead[0] !== logNumber) {
    throw corruption(join(path, writeAheadName(logNumber)), 'the write-ahead file is missing');
  }
  await checkWriteAhead(path, writeAhead);
  return unchecked;
}

async function listDirectory(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT'))
      throw corruption(path, 'the log directory is missing', error);
    if (hasSystemCode(error, 'ENOTDIR')) throw corruption(path, 'not a directory', error);
    throw error;
  }
}

async function currentManifest(path: string, names: readonly string[]): Promise<string> {
  const currentPath = join(path, 'CURRENT');
  if (!names.includes('CURRENT')) throw corruption(currentPath, 'the file is missing');
  const text = await readFile(currentPath, 'latin1');
  if (!/^MANIFEST-\d{6,}\n$/.test(text)) throw corruption(currentPath, 'names no manifest');
  const name = text.trimEnd();
  if (!names.includes(name)) throw corruption(join(path, name), 'the manifest is missing');
  return name;
}

async function findTable(path: string, { number, sizeBytes }: TableFile): Promise<TablePlace> {
  const tablePath = join(path, `${fileNumber(number)}.ldb`);
  const found = await stat(tablePath).catch((error: unknown) => {
    if (hasSystemCode(error, 'ENOENT')) throw corruption(tablePath, 'the table is missing', error);
    throw error;
  });
  if (found.size !== sizeBytes) {
    throw corruption(tablePath, `${found.size} bytes where ${sizeBytes} were written`);
  }
  return { path: tablePath, sizeBytes };
}

/** A write-ahead file may end in a torn write only if nothing was written to a later one. */
async function checkWriteAhead(path: string, numbers: readonly number[]): Promise<void> {
  let torn: { readonly name: string; readonly offset: number } | undefined;
  for (const number of numbers) {
    const name = join(path, writeAheadName(number));
    const { recordCount, tornOffset } = await scanRecordFile(name);
    if (torn !== undefined && recordCount > 0) {
      throw corruption(torn.name, `damaged at byte ${torn.offset}, and ${name} was written later`);
    }
    if (tornOffset !== undefined) torn ??= { name, offset: tornOffset };
  }
}

function writeAheadNumbers(names: readonly string[]): number[] {
  const numbers = names.flatMap((name) => {
    const match = /^(\d+)\.log$/.exec(name);
    return match?.[1] === undefined ? [] : [Number(match[1])];
  });
  return numbers.sort((a, b) => a - b);
}

function writeAheadName(number: number): string {
  return `${fileNumber(number)}.log`;
}

function fileNumber(number: number): string {
  return String(number).padStart(6, '0');
}
