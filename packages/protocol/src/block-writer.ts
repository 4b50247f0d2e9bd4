// Writes append blocks (`block.ts`) from the columns of a push command. The size is known before the
// first byte is written, and each message costs two copies: its transaction id and its payload.

import { assert, copyBytes, encodeUtf8, readIdWords, writeIdBytes } from '@queen-ts/base';
import type { ByteWriter } from '@queen-ts/base';
import {
  BLOCK_FLAG,
  BLOCK_FORMAT_VERSION,
  BLOCK_FRAME_SIZE,
  BLOCK_HEADER_SIZE,
  BLOCK_KEY_SIZE,
  BLOCK_TRACE_ID_SIZE,
} from './block.ts';
import { ID_WORDS, MINTED_TXN, PUSH_ITEM } from './commands.ts';
import type { Id128, PushCommand } from './commands.ts';
import { PRODUCER_SUB_BYTES_MAX } from './limits.ts';

/** The messages of one block and what the planner decided for them. */
export interface BlockSource {
  readonly command: PushCommand;
  /** Item positions of the command; those at [from, toExclusive) are stored, in offset order. */
  readonly positions: Uint32Array;
  readonly from: number;
  readonly toExclusive: number;
  readonly partitionNumber: number;
  readonly baseOffset: number;
  /** Microseconds of wall time. */
  readonly createdUs: number;
  /** Id of the first message; the others count up from it. */
  readonly messageId: Id128;
  /** Its links (`block-links.ts`), encoded; default none. Copied. */
  readonly links?: Uint8Array;
  /** Whether the payloads are sealed. */
  readonly isSealed?: boolean;
}

interface BlockLayout {
  readonly count: number;
  readonly flags: number;
  readonly sub: Uint8Array;
  readonly links: Uint8Array;
  readonly size: number;
}

const NO_BYTES = new Uint8Array(0);

/** Returns the size in bytes that {@link writeBlock} will need. */
export function blockSize(source: BlockSource): number {
  return layOut(source).size;
}

/** Appends the block to `writer` and returns its size in bytes. */
export function writeBlock(writer: ByteWriter, source: BlockSource): number {
  const layout = layOut(source);
  const start = writer.reserve(layout.size);
  writeHeader(writer, start, source, layout);
  let at = start + BLOCK_HEADER_SIZE;
  copyBytes(layout.links, 0, layout.links.length, writer.bytes, at);
  at += layout.links.length;
  if ((layout.flags & BLOCK_FLAG.ALL_MINTED) === 0) at = writeKeys(writer.view, at, source);
  at = writeFrameTable(writer.view, at, source);
  if ((layout.flags & BLOCK_FLAG.HAS_TRACE_IDS) !== 0) at = writeTraceIds(writer.bytes, at, source);
  copyBytes(layout.sub, 0, layout.sub.length, writer.bytes, at);
  const end = writeFrames(writer.bytes, at + layout.sub.length, source);
  assert(
    end === start + layout.size,
    () =>
      `block of partition ${source.partitionNumber} ends at ${end}, not after ${layout.size} bytes`,
  );
  return layout.size;
}

function layOut(source: BlockSource): BlockLayout {
  const { itemColumns, producerSub } = source.command;
  const count = source.toExclusive - source.from;
  assert(count >= 1, () => `block of ${count} messages`);
  let frames = 0;
  let mintedCount = 0;
  for (let i = source.from; i < source.toExclusive; i++) {
    const row = source.positions[i]! * PUSH_ITEM.WIDTH;
    const txnSize = itemColumns[row + PUSH_ITEM.TXN_LENGTH]!;
    if (txnSize === MINTED_TXN) mintedCount += 1;
    else frames += txnSize;
    frames += itemColumns[row + PUSH_ITEM.PAYLOAD_LENGTH]!;
  }
  const isAllMinted = mintedCount === count;
  const sub = producerSub === null ? NO_BYTES : encodeUtf8(producerSub);
  assert(sub.length <= PRODUCER_SUB_BYTES_MAX, () => `producerSub of ${sub.length} bytes`);
  const hasTraceIds = isTraced(source);
  const { links = NO_BYTES } = source;
  const keySize = isAllMinted ? 0 : BLOCK_KEY_SIZE;
  const perMessage = BLOCK_FRAME_SIZE + keySize + (hasTraceIds ? BLOCK_TRACE_ID_SIZE : 0);
  return {
    count,
    flags:
      (isAllMinted ? BLOCK_FLAG.ALL_MINTED : 0) |
      (hasTraceIds ? BLOCK_FLAG.HAS_TRACE_IDS : 0) |
      (source.isSealed === true ? BLOCK_FLAG.ENCRYPTED : 0),
    sub,
    links,
    size: BLOCK_HEADER_SIZE + links.length + count * perMessage + sub.length + frames,
  };
}

/** Whether any of the messages has a trace id. */
function isTraced({ command, positions, from, toExclusive }: BlockSource): boolean {
  const { traceIds } = command;
  if (traceIds === undefined) return false;
  for (let i = from; i < toExclusive; i++) {
    const at = positions[i]! * ID_WORDS;
    if ((traceIds[at]! | traceIds[at + 1]! | traceIds[at + 2]! | traceIds[at + 3]!) !== 0)
      return true;
  }
  return false;
}

function writeHeader(
  writer: ByteWriter,
  start: number,
  source: BlockSource,
  layout: BlockLayout,
): void {
  const { bytes, view } = writer;
  bytes[start] = BLOCK_FORMAT_VERSION;
  bytes[start + 1] = layout.flags;
  view.setUint16(start + 2, layout.sub.length, true);
  view.setUint32(start + 4, layout.count, true);
  view.setUint32(start + 8, source.partitionNumber, true);
  view.setUint32(start + 12, layout.links.length, true);
  view.setFloat64(start + 16, source.baseOffset, true);
  view.setFloat64(start + 24, source.createdUs, true);
  writeIdBytes(source.messageId, bytes, start + 32);
}

function writeKeys(view: DataView, start: number, source: BlockSource): number {
  const { txnHashes } = source.command;
  let at = start;
  for (let i = source.from; i < source.toExclusive; i++) {
    const from = source.positions[i]! * ID_WORDS;
    view.setUint32(at, txnHashes[from]!, true);
    view.setUint32(at + 4, txnHashes[from + 1]!, true);
    view.setUint32(at + 8, txnHashes[from + 2]!, true);
    view.setUint32(at + 12, txnHashes[from + 3]!, true);
    at += BLOCK_KEY_SIZE;
  }
  return at;
}

function writeFrameTable(view: DataView, start: number, source: BlockSource): number {
  const { itemColumns } = source.command;
  let at = start;
  for (let i = source.from; i < source.toExclusive; i++) {
    const row = source.positions[i]! * PUSH_ITEM.WIDTH;
    view.setUint32(at, itemColumns[row + PUSH_ITEM.TXN_LENGTH]!, true);
    view.setUint32(at + 4, itemColumns[row + PUSH_ITEM.PAYLOAD_LENGTH]!, true);
    at += BLOCK_FRAME_SIZE;
  }
  return at;
}

function writeTraceIds(target: Uint8Array, start: number, source: BlockSource): number {
  const traceIds = source.command.traceIds!;
  let at = start;
  for (let i = source.from; i < source.toExclusive; i++) {
    writeIdBytes(readIdWords(traceIds, source.positions[i]! * ID_WORDS), target, at);
    at += BLOCK_TRACE_ID_SIZE;
  }
  return at;
}

function writeFrames(target: Uint8Array, start: number, source: BlockSource): number {
  const { body, itemColumns, text } = source.command;
  let at = start;
  for (let i = source.from; i < source.toExclusive; i++) {
    const row = source.positions[i]! * PUSH_ITEM.WIDTH;
    const txnSize = itemColumns[row + PUSH_ITEM.TXN_LENGTH]!;
    if (txnSize !== MINTED_TXN) {
      const txnStart = itemColumns[row + PUSH_ITEM.TXN_START]!;
      copyBytes(text, txnStart, txnStart + txnSize, target, at);
      at += txnSize;
    }
    const payloadStart = itemColumns[row + PUSH_ITEM.PAYLOAD_START]!;
    const payloadSize = itemColumns[row + PUSH_ITEM.PAYLOAD_LENGTH]!;
    copyBytes(body, payloadStart, payloadStart + payloadSize, target, at);
    at += payloadSize;
  }
  return at;
}
