// Verifies a LevelDB table (.ldb) without LevelDB. LevelDB itself does not check block checksums when
// it reads, and our build of it has assertions on: a damaged key ends the process with SIGABRT and no
// word to the operator. So every block is verified before LevelDB sees it.
//
//   file:    data blocks, filter block, metaindex block, index block, footer; nothing between them
//   block:   contents, type (0 = not compressed), masked CRC-32C of both (4, little-endian)
//   index and metaindex (which names the filter):
//            entries {shared, unshared, value length: varints; key rest; value = offset, size},
//            then restart offsets and their count (4 each, little-endian)
//   footer:  48 bytes: metaindex offset, size, index offset, size (varints), zeros, magic (8)

import { closeSync, openSync, readSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

import { corruption } from './errors.ts';
import { maskedCrc32c } from './crc32c.ts';
import { VarintReader } from './varint-reader.ts';

const FOOTER_BYTES = 48;
const TRAILER_BYTES = 5;
const MAGIC = Buffer.from('57fb808b247547db', 'hex');

/** Bytes of sequence number and type behind our key in an internal key. */
const KEY_SUFFIX_BYTES = 8;

/** Bytes read and verified in one go, before the last block: one slice of the event loop. */
const READ_BYTES = 1_048_576;

interface Block {
  readonly offset: number;
  /** Without the trailer. */
  readonly size: number;
}

/** A block of records. */
export interface DataBlock extends Block {
  /** No key in the block is greater; internal. */
  readonly lastKey: Uint8Array;
}

/** Which file to look at. */
export interface TablePlace {
  readonly path: string;
  readonly sizeBytes: number;
}

/** Verifies every byte of a table. Waits for `pace` between reads. Throws CORRUPTION. */
export async function verifyTable(
  { path, sizeBytes }: TablePlace,
  pace: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const handle = await open(path, 'r');
  try {
    const { data, others } = readLayout({ path, sizeBytes }, handle.fd);
    await verifyBlocks(path, handle, [...data, ...others], pace);
  } finally {
    await handle.close();
  }
}

/**
 * Verifies what LevelDB reads when it opens a table, a few KiB, and returns where the records are.
 * Throws CORRUPTION.
 */
export function verifyTableFrame(table: TablePlace): readonly DataBlock[] {
  return withFile(table.path, (fd) => {
    const { data, others } = readLayout(table, fd);
    for (const block of others) readBlock(table.path, fd, block);
    return data;
  });
}

/** Verifies one block of a table. Throws CORRUPTION. */
export function verifyDataBlock(path: string, block: DataBlock): void {
  withFile(path, (fd) => readBlock(path, fd, block));
}

/** Position of the only block that LevelDB reads to find `key`; none if all keys are smaller. */
export function findDataBlock(blocks: readonly DataBlock[], key: Uint8Array): number | undefined {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const block = blocks[middle];
    if (block !== undefined && Buffer.compare(userKey(block.lastKey), key) < 0) low = middle + 1;
    else high = middle;
  }
  return low < blocks.length ? low : undefined;
}

/** Our part of an internal key. */
export function userKey(internalKey: Uint8Array): Uint8Array {
  return internalKey.subarray(0, Math.max(0, internalKey.length - KEY_SUFFIX_BYTES));
}

/** Data blocks, and the filter and metaindex blocks; all of them tile the file up to the index. */
function readLayout(
  { path, sizeBytes }: TablePlace,
  fd: number,
): { readonly data: readonly DataBlock[]; readonly others: readonly Block[] } {
  if (sizeBytes < FOOTER_BYTES) throw corruption(path, 'too short for a table');
  const at = { offset: sizeBytes - FOOTER_BYTES, size: FOOTER_BYTES };
  const { metaindex, index } = parseFooter(path, read(path, fd, at));
  const indexEnd = index.offset + index.size + TRAILER_BYTES;
  const metaindexEnd = metaindex.offset + metaindex.size + TRAILER_BYTES;
  if (indexEnd !== sizeBytes - FOOTER_BYTES || metaindexEnd !== index.offset) {
    throw corruption(path, 'the footer is damaged');
  }
  const data = parseIndex(path, readBlock(path, fd, index));
  const others = [...parseIndex(path, readBlock(path, fd, metaindex)), metaindex];
  verifyTiling(path, [...data, ...others], index.offset);
  return { data, others };
}

/** The verified contents of a block. */
function readBlock(path: string, fd: number, block: Block): Buffer {
  const bytes = read(path, fd, { ...block, size: block.size + TRAILER_BYTES });
  verifyBlock(path, block, bytes);
  return bytes.subarray(0, block.size);
}

function read(path: string, fd: number, { offset, size }: Block): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  const bytesRead = readSync(fd, bytes, 0, size, offset);
  if (bytesRead !== size) throw corruption(path, `cut off at byte ${offset + bytesRead}`);
  return bytes;
}

function withFile<T>(path: string, use: (fd: number) => T): T {
  const fd = openSync(path, 'r');
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

async function verifyBlocks(
  path: string,
  handle: FileHandle,
  blocks: readonly Block[],
  pace: () => Promise<void>,
): Promise<void> {
  let position = 0;
  while (position < blocks.length) {
    const group = groupFrom(blocks, position);
    const start = group[0]?.offset ?? 0;
    const size = group.reduce((sum, block) => sum + block.size + TRAILER_BYTES, 0);
    const bytes = Buffer.allocUnsafe(size);
    const { bytesRead } = await handle.read(bytes, 0, size, start);
    if (bytesRead !== size) throw corruption(path, `cut off at byte ${start + bytesRead}`);
    for (const block of group) verifyBlock(path, block, bytes.subarray(block.offset - start));
    position += group.length;
    await pace();
  }
}

/** The blocks from `position` on that fill one read; at least one. */
function groupFrom(blocks: readonly Block[], position: number): readonly Block[] {
  const first = blocks[position]?.offset ?? 0;
  let end = position + 1;
  while ((blocks[end]?.offset ?? Infinity) < first + READ_BYTES) end++;
  return blocks.slice(position, end);
}

function verifyBlock(path: string, { offset, size }: Block, bytes: Buffer): void {
  const isSound = bytes.readUInt32LE(size + 1) === maskedCrc32c(bytes, 0, size + 1);
  if (!isSound) throw corruption(path, `the block at byte ${offset} has a checksum mismatch`);
  if (bytes[size] !== 0) throw corruption(path, `the block at byte ${offset} is compressed`);
}

function parseFooter(path: string, footer: Buffer): { metaindex: Block; index: Block } {
  if (!footer.subarray(FOOTER_BYTES - MAGIC.length).equals(MAGIC)) {
    throw corruption(path, 'the footer is damaged');
  }
  const reader = new VarintReader(path, footer.subarray(0, FOOTER_BYTES - MAGIC.length));
  const metaindex = { offset: reader.number(), size: reader.number() };
  return { metaindex, index: { offset: reader.number(), size: reader.number() } };
}

function parseIndex(path: string, contents: Buffer): DataBlock[] {
  if (contents.length < 4) throw corruption(path, 'the index is cut off');
  const restartCount = contents.readUInt32LE(contents.length - 4);
  const end = contents.length - 4 - 4 * restartCount;
  if (end < 0) throw corruption(path, 'the index is cut off');
  const reader = new VarintReader(path, contents.subarray(0, end));
  const blocks: DataBlock[] = [];
  let lastKey = new Uint8Array(0);
  while (!reader.isAtEnd) {
    const shared = reader.number();
    const unshared = reader.number();
    reader.number();
    if (shared > lastKey.length) throw corruption(path, 'the index is damaged');
    const key = new Uint8Array(shared + unshared);
    key.set(lastKey.subarray(0, shared));
    key.set(reader.bytes(unshared), shared);
    lastKey = key;
    blocks.push({ offset: reader.number(), size: reader.number(), lastKey });
  }
  return blocks;
}

/** Every byte before the index belongs to exactly one block, so none escapes verification. */
function verifyTiling(path: string, blocks: readonly Block[], indexOffset: number): void {
  let offset = 0;
  for (const block of blocks) {
    if (block.offset !== offset) throw corruption(path, `no block begins at byte ${offset}`);
    offset += block.size + TRAILER_BYTES;
  }
  if (offset !== indexOffset) throw corruption(path, `the blocks end at byte ${offset}`);
}
