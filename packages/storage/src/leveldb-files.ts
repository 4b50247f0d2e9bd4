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

import { corruption } from './errors.ts';

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const FULL = 1;
const FIRST = 2;
const LAST = 4;

const CRC32C_TABLE = crc32cTable();

/** What {@link scanRecordFile} found. */
export interface RecordFileScan {
  /** Complete records. */
  readonly recordCount: number;
  /** Where the unfinished or damaged last record begins; `undefined` when the file ends cleanly. */
  readonly tornOffset: number | undefined;
}

/** The live files that a manifest names. */
export interface ManifestState {
  /** Number of the oldest write-ahead file that is still needed; 0 when none is named. */
  readonly logNumber: number;
  /** Size in bytes of each live table, by file number. */
  readonly tables: ReadonlyMap<number, number>;
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
  const tables = new Map<number, number>();
  let logNumber = 0;
  await scanRecordFile(path, (record) => {
    const edit = new EditReader(path, record);
    while (!edit.isAtEnd) logNumber = edit.applyField(tables) ?? logNumber;
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

/** Reads the fields of one manifest record. */
class EditReader {
  readonly #path: string;
  readonly #bytes: Uint8Array;
  #offset = 0;

  constructor(path: string, bytes: Uint8Array) {
    this.#path = path;
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  /** Applies one field to `tables`; returns the write-ahead file number if that is the field. */
  applyField(tables: Map<number, number>): number | undefined {
    const tag = this.#number();
    switch (tag) {
      case 1: // comparator name
        this.#skipString();
        return undefined;
      case 2: // oldest write-ahead file
        return this.#number();
      case 3: // next file number
      case 4: // last sequence
      case 9: // previous write-ahead file, no longer used
        this.#number();
        return undefined;
      case 5: // compaction pointer: level, key
        this.#number();
        this.#skipString();
        return undefined;
      case 6: // deleted table: level, number
        this.#number();
        tables.delete(this.#number());
        return undefined;
      case 7: // new table: level, number, size, smallest key, largest key
        this.#number();
        this.#addTable(tables);
        return undefined;
      default:
        throw corruption(this.#path, `unknown field ${tag}`);
    }
  }

  #addTable(tables: Map<number, number>): void {
    const fileNumber = this.#number();
    tables.set(fileNumber, this.#number());
    this.#skipString();
    this.#skipString();
  }

  #skipString(): void {
    const length = this.#number();
    this.#offset += length;
    if (this.#offset > this.#bytes.length) throw corruption(this.#path, 'a field is cut off');
  }

  #number(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = this.#bytes[this.#offset++];
      if (byte === undefined) throw corruption(this.#path, 'a field is cut off');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw corruption(this.#path, 'a number out of range');
  }
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

function maskedCrc32c(bytes: Uint8Array, from: number, toExclusive: number): number {
  let crc = 0xffffffff;
  for (let i = from; i < toExclusive; i++) {
    crc = (CRC32C_TABLE[(crc ^ (bytes[i] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  crc = ~crc;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

function crc32cTable(): Int32Array {
  const table = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    table[byte] = crc;
  }
  return table;
}
