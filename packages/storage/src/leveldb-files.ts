// Reads LevelDB's own files without LevelDB and without changing them: the record files (write-ahead
// and manifest) and what a manifest says. Only preflight.ts uses it.
//
//   record file: blocks of 32,768 bytes; in a block, fragments of
//   offset  size  field (little-endian)
//   0       4     masked CRC-32C of type and data
//   4       2     length of data
//   6       1     type: 1 full, 2 first, 3 middle, 4 last
//   7       …     data
//   A fragment never crosses a block; fewer than 7 bytes at a block's end are zeros.
//   manifest record: tagged fields, numbers as base-128 varints, strings with a length before them.

import { open } from 'node:fs/promises';

import { maskedCrc32c } from './crc32c.ts';
import { corruption } from './errors.ts';
import { VarintReader } from './varint-reader.ts';

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const FULL = 1;
const FIRST = 2;
const LAST = 4;

/** What {@link scanRecordFile} found. */
export interface RecordFileScan {
  /** Complete records. */
  readonly recordCount: number;
  /** Where the unfinished or damaged last record begins; `undefined` when the file ends cleanly. */
  readonly tornOffset: number | undefined;
}

/** A live table. Keys are LevelDB's internal ones: ours and eight bytes. */
export interface TableFile {
  readonly number: number;
  readonly sizeBytes: number;
  readonly smallestKey: Uint8Array;
  readonly largestKey: Uint8Array;
}

/** The live files that a manifest names. */
export interface ManifestState {
  /** Number of the oldest write-ahead file that is still needed; 0 when none is named. */
  readonly logNumber: number;
  /** Each live table by file number. */
  readonly tables: ReadonlyMap<number, TableFile>;
}

/**
 * Verifies a record file. Every record but the last was synced before the next one began, so damage
 * that any later record follows throws CORRUPTION; damage in the last record is a torn write.
 */
export async function scanRecordFile(
  path: string,
  onRecord: (record: Uint8Array) => void = () => undefined,
): Promise<RecordFileScan> {
  const scan = new RecordScan(path, onRecord);
  const handle = await open(path, 'r');
  try {
    const block = Buffer.alloc(BLOCK_BYTES);
    for (let base = 0; ; base += BLOCK_BYTES) {
      const { bytesRead } = await handle.read(block, 0, BLOCK_BYTES, base);
      if (bytesRead > 0) scan.acceptBlock(block.subarray(0, bytesRead), base);
      if (bytesRead < BLOCK_BYTES) return scan.finish(base + bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** Reads a manifest. Throws CORRUPTION when a record of it makes no sense. */
export async function readManifest(path: string): Promise<ManifestState> {
  const tables = new Map<number, TableFile>();
  let logNumber = 0;
  await scanRecordFile(path, (record) => {
    const reader = new VarintReader(path, record);
    while (!reader.isAtEnd) logNumber = applyField(path, reader, tables) ?? logNumber;
  });
  return { logNumber, tables };
}

class RecordScan {
  readonly #path: string;
  readonly #onRecord: (record: Uint8Array) => void;
  #fragments: Uint8Array[] = [];
  /** Where the record that is being put together begins. */
  #recordOffset = 0;
  #recordCount = 0;
  #tornOffset: number | undefined;

  constructor(path: string, onRecord: (record: Uint8Array) => void) {
    this.#path = path;
    this.#onRecord = onRecord;
  }

  acceptBlock(block: Buffer, base: number): void {
    let offset = 0;
    while (block.length - offset >= HEADER_BYTES) {
      const end = fragmentEnd(block, offset);
      if (end === undefined) {
        this.#noteDamage(base + offset);
        if (hasRecordStart(block, offset + 1)) this.#throwDamage();
        return;
      }
      this.#acceptFragment(block, offset, end, base);
      offset = end;
    }
    const isCutInHeader = block.length < BLOCK_BYTES && offset < block.length;
    if (isCutInHeader) this.#noteDamage(base + offset);
  }

  finish(sizeBytes: number): RecordFileScan {
    if (this.#fragments.length > 0) this.#noteDamage(Math.min(this.#recordOffset, sizeBytes));
    return { recordCount: this.#recordCount, tornOffset: this.#tornOffset };
  }

  #acceptFragment(block: Buffer, offset: number, end: number, base: number): void {
    const type = block[offset + 6];
    const data = block.subarray(offset + HEADER_BYTES, end);
    if (type === FULL || type === FIRST) {
      if (this.#fragments.length > 0) this.#noteDamage(this.#recordOffset);
      if (this.#tornOffset !== undefined) this.#throwDamage();
      this.#recordOffset = base + offset;
    } else if (this.#fragments.length === 0) {
      // The rest of a record whose beginning is damaged.
      this.#noteDamage(base + offset);
      return;
    }
    this.#fragments.push(Uint8Array.from(data));
    if (type !== FULL && type !== LAST) return;
    this.#onRecord(Buffer.concat(this.#fragments));
    this.#fragments = [];
    this.#recordCount++;
  }

  #noteDamage(offset: number): void {
    this.#tornOffset ??= offset;
    this.#fragments = [];
  }

  #throwDamage(): never {
    const what = `damaged at byte ${this.#tornOffset}, and records written later follow`;
    throw corruption(this.#path, what);
  }
}

/** Applies one field of a manifest record; returns the write-ahead file number if that is the field. */
function applyField(
  path: string,
  reader: VarintReader,
  tables: Map<number, TableFile>,
): number | undefined {
  const tag = reader.number();
  switch (tag) {
    case 1: // comparator name
      reader.skipString();
      return undefined;
    case 2: // oldest write-ahead file
      return reader.number();
    case 3: // next file number
    case 4: // last sequence
    case 9: // previous write-ahead file, no longer used
      reader.number();
      return undefined;
    case 5: // compaction pointer: level, key
      reader.number();
      reader.skipString();
      return undefined;
    case 6: // deleted table: level, number
      reader.number();
      tables.delete(reader.number());
      return undefined;
    case 7: // new table: level, number, size, smallest key, largest key
      reader.number();
      addTable(reader, tables);
      return undefined;
    default:
      throw corruption(path, `unknown field ${tag}`);
  }
}

function addTable(reader: VarintReader, tables: Map<number, TableFile>): void {
  const number = reader.number();
  const sizeBytes = reader.number();
  // Copies: a view would keep the whole record of the manifest.
  const smallestKey = reader.string().slice();
  const largestKey = reader.string().slice();
  tables.set(number, { number, sizeBytes, smallestKey, largestKey });
}

/** End of the valid fragment at `offset`; `undefined` when there is none. */
function fragmentEnd(block: Buffer, offset: number): number | undefined {
  const type = block[offset + 6] ?? 0;
  const end = offset + HEADER_BYTES + block.readUInt16LE(offset + 4);
  if (type < FULL || type > LAST || end > block.length) return undefined;
  const isSound = block.readUInt32LE(offset) === maskedCrc32c(block, offset + 6, end);
  return isSound ? end : undefined;
}

/** Whether a valid fragment that begins a record lies anywhere at or after `from`. */
function hasRecordStart(block: Buffer, from: number): boolean {
  for (let offset = from; block.length - offset >= HEADER_BYTES; offset++) {
    const type = block[offset + 6];
    const isStart = type === FULL || type === FIRST;
    if (isStart && fragmentEnd(block, offset) !== undefined) return true;
  }
  return false;
}
