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

import { open, type FileHandle } from 'node:fs/promises';

import { corruption } from './errors.ts';
import { maskedCrc32c } from './crc32c.ts';
import { VarintReader } from './varint-reader.ts';

const FOOTER_BYTES = 48;
const TRAILER_BYTES = 5;
const MAGIC = Buffer.from('57fb808b247547db', 'hex');

/** Bytes read and verified in one go, before the last block: one slice of the event loop. */
const READ_BYTES = 1_048_576;

interface Block {
  readonly offset: number;
  /** Without the trailer. */
  readonly size: number;
}

/** Verifies every byte of the table of `sizeBytes` at `path`. Throws CORRUPTION. */
export async function verifyTable(path: string, sizeBytes: number): Promise<void> {
  const handle = await open(path, 'r');
  try {
    if (sizeBytes < FOOTER_BYTES) throw corruption(path, 'too short for a table');
    const footer = await read(path, handle, {
      offset: sizeBytes - FOOTER_BYTES,
      size: FOOTER_BYTES,
    });
    const { metaindex, index } = parseFooter(path, footer);
    const indexEnd = index.offset + index.size + TRAILER_BYTES;
    const metaindexEnd = metaindex.offset + metaindex.size + TRAILER_BYTES;
    if (indexEnd !== sizeBytes - FOOTER_BYTES || metaindexEnd !== index.offset) {
      throw corruption(path, 'the footer is damaged');
    }
    const blocks = [
      ...(await readIndex(path, handle, index)),
      ...(await readIndex(path, handle, metaindex)),
      metaindex,
    ];
    verifyTiling(path, blocks, index.offset);
    await verifyBlocks(path, handle, blocks);
  } finally {
    await handle.close();
  }
}

/** The blocks that the index block `block` points to. */
async function readIndex(path: string, handle: FileHandle, block: Block): Promise<Block[]> {
  const bytes = await read(path, handle, { ...block, size: block.size + TRAILER_BYTES });
  verifyBlock(path, block, bytes);
  return parseIndex(path, bytes.subarray(0, block.size));
}

async function verifyBlocks(path: string, handle: FileHandle, blocks: readonly Block[]) {
  let position = 0;
  while (position < blocks.length) {
    const group = groupFrom(blocks, position);
    const start = group[0]?.offset ?? 0;
    const size = group.reduce((sum, block) => sum + block.size + TRAILER_BYTES, 0);
    const bytes = await read(path, handle, { offset: start, size });
    for (const block of group) verifyBlock(path, block, bytes.subarray(block.offset - start));
    position += group.length;
  }
}

/** The blocks from `position` on that fill one read; at least one. */
function groupFrom(blocks: readonly Block[], position: number): readonly Block[] {
  const first = blocks[position]?.offset ?? 0;
  let end = position + 1;
  while ((blocks[end]?.offset ?? Infinity) < first + READ_BYTES) end++;
  return blocks.slice(position, end);
}

async function read(path: string, handle: FileHandle, { offset, size }: Block): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size);
  const { bytesRead } = await handle.read(bytes, 0, size, offset);
  if (bytesRead !== size) throw corruption(path, `cut off at byte ${offset + bytesRead}`);
  return bytes;
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

function parseIndex(path: string, contents: Buffer): Block[] {
  if (contents.length < 4) throw corruption(path, 'the index is cut off');
  const restartCount = contents.readUInt32LE(contents.length - 4);
  const end = contents.length - 4 - 4 * restartCount;
  if (end < 0) throw corruption(path, 'the index is cut off');
  const reader = new VarintReader(path, contents.subarray(0, end));
  const blocks: Block[] = [];
  while (!reader.isAtEnd) {
    reader.number();
    const unshared = reader.number();
    reader.number();
    reader.skip(unshared);
    blocks.push({ offset: reader.number(), size: reader.number() });
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
