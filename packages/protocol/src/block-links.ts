// The links of an append block: where older blocks of its partition lie, so that the log is its own
// index (ADR 0010). They are a section of the block right behind its fixed header (`block.ts`):
//
//   u8       number of listed blocks (bits 0..5), and BLOCK_LINKS_PAGE
//   ..       only of a page: varint depth, u8 1 (older) + 2 (jump), then the two pages that are there:
//            varints distance of the index to this block's, start, size, count, distance of the base
//            offset, distance of the time; of the jump also distance of the depth
//   ..       the blocks before this one, newest first, without a gap: for each varints: distance of
//            its entry's index to that of the block after it, start, size, count, distance of its
//            time to that of the block after it. Base offsets follow from the counts
//
// A block links to blocks of its own partition that were retained when it was planned. What retention
// took since is told by its base offset alone: it is never followed.

import { assert, ByteReader, CodecError } from '@queen-ts/base';
import { BLOCK_FORMAT_VERSION, BLOCK_HEADER_SIZE } from './block.ts';
import type { PayloadReader } from './block.ts';

/** Blocks that one block lists at most, and blocks from one page to the next. */
export const BLOCK_LINKS_MAX = 32;

/** Size that no section of links exceeds: five and six varints of eight bytes at most for each link. */
export const BLOCK_LINKS_SIZE_MAX = 32 + BLOCK_LINKS_MAX * 40 + 2 * 48;

/** Bytes read of a block at first: nearly every section of links fits. */
const FIRST_READ_SIZE = 512;

const COUNT_MASK = 0x3f;
const BLOCK_LINKS_PAGE = 0x40;
const PAGE_LINK = { OLDER: 1, JUMP: 2 } as const;

/** One append of a partition: where it lies in the log, and what it holds. */
export interface BlockRecord {
  /** Offset of the first message, < 2^48. */
  readonly baseOffset: number;
  /** Messages, >= 1. */
  readonly count: number;
  /** Index of the log entry that holds the block, < 2^48. */
  readonly entryIndex: number;
  /** Span of the block in the entry's payload, in bytes. */
  readonly blockStart: number;
  readonly blockSize: number;
  /** Wall time of the append in microseconds; grows inside a partition. */
  readonly createdUs: number;
}

/** What a page links to: every {@link BLOCK_LINKS_MAX}th block of a partition is one. */
export interface PageLinks {
  /** Pages before it in its chain. */
  readonly depth: number;
  /** The page before; undefined with the first one of a chain. */
  readonly older: BlockRecord | undefined;
  /** A page further back, at {@link jumpDepth}; undefined when it is `older`. */
  readonly jump: BlockRecord | undefined;
  readonly jumpDepth: number;
}

/** The links of one block. */
export interface BlockLinks {
  /** The blocks before it, newest first, at most {@link BLOCK_LINKS_MAX}. */
  readonly records: readonly BlockRecord[];
  /** Undefined when the block is no page. */
  readonly page: PageLinks | undefined;
}

/** The block that links are written for. */
export type LinkedBlock = Pick<BlockRecord, 'baseOffset' | 'entryIndex' | 'createdUs'>;

/** Links of a block without predecessors. */
const NO_LINKS: BlockLinks = { records: [], page: undefined };

/**
 * Writes the section of links of `block` to the start of `target`, which has
 * {@link BLOCK_LINKS_SIZE_MAX} bytes at least, and returns its size. Every append does this: the bytes
 * are put in place without the checks of a writer.
 */
export function writeBlockLinks(target: Uint8Array, block: LinkedBlock, links: BlockLinks): number {
  const { records, page } = links;
  target[0] = records.length | (page === undefined ? 0 : BLOCK_LINKS_PAGE);
  let at = page === undefined ? 1 : writePage(target, 1, block, page);
  let { entryIndex, createdUs } = block;
  for (let i = 0; i < records.length; i += 1) {
    const record = records[i]!;
    at = putVarint(target, at, entryIndex - record.entryIndex);
    at = putVarint(target, at, record.blockStart);
    at = putVarint(target, at, record.blockSize);
    at = putVarint(target, at, record.count);
    at = putVarint(target, at, createdUs - record.createdUs);
    ({ entryIndex, createdUs } = record);
  }
  return at;
}

function writePage(target: Uint8Array, from: number, block: LinkedBlock, page: PageLinks): number {
  const { depth, older, jump, jumpDepth } = page;
  let at = putVarint(target, from, depth);
  target[at] =
    (older === undefined ? 0 : PAGE_LINK.OLDER) | (jump === undefined ? 0 : PAGE_LINK.JUMP);
  at += 1;
  if (older !== undefined) at = writePageLink(target, at, block, older);
  if (jump === undefined) return at;
  at = writePageLink(target, at, block, jump);
  return putVarint(target, at, depth - jumpDepth);
}

function writePageLink(
  target: Uint8Array,
  from: number,
  block: LinkedBlock,
  page: BlockRecord,
): number {
  let at = putVarint(target, from, block.entryIndex - page.entryIndex);
  at = putVarint(target, at, page.blockStart);
  at = putVarint(target, at, page.blockSize);
  at = putVarint(target, at, page.count);
  at = putVarint(target, at, block.baseOffset - page.baseOffset);
  return putVarint(target, at, block.createdUs - page.createdUs);
}

/** The varint of `ByteWriter`, of an integer in [0, 2^53). Returns the position behind it. */
function putVarint(target: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  assert(rest >= 0, () => `a link of ${value}`);
  for (; rest >= 0x8000_0000; rest = Math.floor(rest / 128)) {
    target[at] = (rest % 128) | 0x80;
    at += 1;
  }
  for (; rest >= 0x80; rest >>>= 7) {
    target[at] = (rest & 0x7f) | 0x80;
    at += 1;
  }
  target[at] = rest;
  return at + 1;
}

/**
 * Reads the links of a stored block: its header and no more of it. Throws CodecError when what lies
 * there is not the block that `record` describes, which is corruption.
 */
export function readBlockLinks(
  payloads: PayloadReader,
  partition: number,
  record: BlockRecord,
): BlockLinks {
  const reader = openLinks(payloads, partition, record);
  if (reader === undefined) return NO_LINKS;
  const kind = readKind(reader);
  const page = kind.isPage ? readPage(reader, record) : undefined;
  const links = { page, records: readRecords(reader, record, kind.count) };
  reader.expectEnd();
  if (!isOrdered(record, links)) throw linkError(partition, record, 'leads to impossible links');
  return links;
}

/** The same without the list: undefined when the block is no page. */
export function readPageLinks(
  payloads: PayloadReader,
  partition: number,
  record: BlockRecord,
): PageLinks | undefined {
  const reader = openLinks(payloads, partition, record);
  if (reader === undefined || !readKind(reader).isPage) return undefined;
  const page = readPage(reader, record);
  if (isOrdered(record, { records: [], page })) return page;
  throw linkError(partition, record, 'leads to impossible links');
}

/** Checks that a link leads to its block; a reader of its section of links, undefined without one. */
function openLinks(
  payloads: PayloadReader,
  partition: number,
  record: BlockRecord,
): ByteReader | undefined {
  const head = readHead(payloads, record, Math.min(record.blockSize, FIRST_READ_SIZE));
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const isExpected =
    head[0] === BLOCK_FORMAT_VERSION &&
    view.getUint32(4, true) === record.count &&
    view.getUint32(8, true) === partition &&
    view.getFloat64(16, true) === record.baseOffset &&
    view.getFloat64(24, true) === record.createdUs;
  if (!isExpected) throw linkError(partition, record, 'leads to another block');
  const size = view.getUint32(12, true);
  if (size === 0) return undefined;
  const end = BLOCK_HEADER_SIZE + size;
  if (end > record.blockSize) throw linkError(partition, record, 'leads to links beyond its end');
  const bytes = end <= head.length ? head : readHead(payloads, record, end);
  return new ByteReader(bytes, BLOCK_HEADER_SIZE, end);
}

function readKind(reader: ByteReader): { readonly count: number; readonly isPage: boolean } {
  const kind = reader.u8();
  const count = kind & COUNT_MASK;
  if (count > BLOCK_LINKS_MAX || (kind & ~(COUNT_MASK | BLOCK_LINKS_PAGE)) !== 0) {
    throw new CodecError(`links of kind ${kind}`);
  }
  return { count, isPage: (kind & BLOCK_LINKS_PAGE) !== 0 };
}

function readRecords(reader: ByteReader, block: LinkedBlock, count: number): BlockRecord[] {
  const records: BlockRecord[] = [];
  let after = block;
  for (let i = 0; i < count; i += 1) {
    const entryIndex = after.entryIndex - reader.varint();
    const blockStart = reader.varint();
    const blockSize = reader.varint();
    const messages = reader.varint();
    const createdUs = after.createdUs - reader.varint();
    const baseOffset = after.baseOffset - messages;
    const place = { entryIndex, blockStart, blockSize, createdUs };
    const record = { baseOffset, count: messages, ...place };
    records.push(record);
    after = record;
  }
  return records;
}

function readPage(reader: ByteReader, block: LinkedBlock): PageLinks {
  const depth = reader.varint();
  const flags = reader.u8();
  if (flags > (PAGE_LINK.OLDER | PAGE_LINK.JUMP)) throw new CodecError(`page links ${flags}`);
  const older = (flags & PAGE_LINK.OLDER) === 0 ? undefined : readPageLink(reader, block);
  const jump = (flags & PAGE_LINK.JUMP) === 0 ? undefined : readPageLink(reader, block);
  const jumpDepth = jump === undefined ? Math.max(0, depth - 1) : depth - reader.varint();
  return { depth, older, jump, jumpDepth };
}

function readPageLink(reader: ByteReader, block: LinkedBlock): BlockRecord {
  return {
    entryIndex: block.entryIndex - reader.varint(),
    blockStart: reader.varint(),
    blockSize: reader.varint(),
    count: reader.varint(),
    baseOffset: block.baseOffset - reader.varint(),
    createdUs: block.createdUs - reader.varint(),
  };
}

/** Whether the links lead to older blocks, in order: then following them comes to an end. */
function isOrdered(block: BlockRecord, { records, page }: BlockLinks): boolean {
  let after: BlockRecord = block;
  for (const record of records) {
    if (!isBefore(record, after)) return false;
    after = record;
  }
  if (page === undefined) return true;
  const { older, jump, depth, jumpDepth } = page;
  if (older !== undefined && !isBefore(older, block)) return false;
  if (jump === undefined) return true;
  return older !== undefined && isBefore(jump, older) && jumpDepth >= 0 && jumpDepth < depth;
}

function isBefore(older: BlockRecord, newer: BlockRecord): boolean {
  return (
    older.baseOffset >= 0 &&
    older.count >= 1 &&
    older.baseOffset + older.count <= newer.baseOffset &&
    older.entryIndex >= 0 &&
    older.entryIndex <= newer.entryIndex &&
    older.createdUs < newer.createdUs &&
    older.blockSize >= BLOCK_HEADER_SIZE
  );
}

function readHead(payloads: PayloadReader, record: BlockRecord, size: number): Uint8Array {
  const from = record.blockStart;
  const bytes = payloads.payload({ index: record.entryIndex, from, toExclusive: from + size });
  if (bytes.length !== size || size < BLOCK_HEADER_SIZE) {
    throw new CodecError(`a link leads to ${bytes.length} bytes at ${record.entryIndex}:${from}`);
  }
  return bytes;
}

function linkError(partition: number, record: BlockRecord, what: string): CodecError {
  const { entryIndex, blockStart, baseOffset } = record;
  return new CodecError(
    `a link to offset ${baseOffset} of partition ${partition} at ${entryIndex}:${blockStart} ${what}`,
  );
}
