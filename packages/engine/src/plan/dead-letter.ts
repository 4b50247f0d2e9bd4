// Files a dead letter: the message is copied into this entry's payload as a block of one message, so
// that retention of the original cannot take it, with the error text behind it.

import { assert, encodeUtf8, writeIdBytes } from '@queen-ts/base';
import type { ByteWriter } from '@queen-ts/base';
import {
  BLOCK_FLAG,
  BLOCK_FORMAT_VERSION,
  BLOCK_FRAME,
  BLOCK_FRAME_SIZE,
  BLOCK_HEADER_SIZE,
  BLOCK_KEY_SIZE,
  BLOCK_TRACE_ID_SIZE,
  EFFECT,
} from '@queen-ts/protocol';
import type { BlockReader, Id128 } from '@queen-ts/protocol';
import type { State } from '../state.ts';
import { openBlock } from './blocks.ts';
import type { PlanContext } from './context.ts';
import { storedBlock } from './spans.ts';

const ID_SIZE = 16;

/** Most bytes of UTF-8 that one unit of a string takes. */
const UTF8_BYTES_PER_UNIT = 3;

/** What a letter counts for at least: the work beside its bytes. */
const COST_BYTES_MIN = 4096;

/** Longest error text that is kept, in bytes of UTF-8. */
const ERROR_BYTES_MAX = 8192;

/** What is filed. */
export interface DeadLetter {
  readonly partition: number;
  readonly group: number;
  readonly offset: number;
  readonly retryCount: number;
  readonly error: string;
}

/**
 * Writes the record and applies the effect. Returns what it counts for, in bytes. The message must be
 * retained.
 */
export function fileDeadLetter(context: PlanContext, letter: DeadLetter): number {
  const { state, payload } = context;
  const block = blockOf(state, letter);
  const recordStart = payload.length;
  const blockSize = copyMessage(payload, block, letter.offset - block.baseOffset);
  payload.raw(cut(encodeUtf8(letter.error)));
  const recordSize = payload.length - recordStart;
  const costBytes = Math.max(recordSize, COST_BYTES_MIN);
  state.openBlocks.charge(costBytes);
  context.emit({
    kind: EFFECT.DEAD_LETTER_PUT,
    deadLetter: state.nextDeadLetter,
    partition: letter.partition,
    group: letter.group,
    offset: letter.offset,
    retryCount: letter.retryCount,
    failedUs: state.nowUs,
    recordStart,
    blockSize,
    recordSize,
  });
  return costBytes;
}

/** Most that filing a letter can count for, in bytes. */
export function deadLetterCostMax(
  state: State,
  letter: Pick<DeadLetter, 'partition' | 'offset' | 'error'>,
): number {
  const block = blockOf(state, letter);
  const subSize = (block.producerSub?.length ?? 0) * UTF8_BYTES_PER_UNIT;
  const errorSize = Math.min(ERROR_BYTES_MAX, letter.error.length * UTF8_BYTES_PER_UNIT);
  const ownSize = BLOCK_HEADER_SIZE + BLOCK_KEY_SIZE + BLOCK_FRAME_SIZE + BLOCK_TRACE_ID_SIZE;
  const frameSize = block.frameSize(letter.offset - block.baseOffset);
  return Math.max(COST_BYTES_MIN, ownSize + subSize + frameSize + errorSize);
}

/** The block that holds a message. */
function blockOf(
  state: State,
  { partition, offset }: Pick<DeadLetter, 'partition' | 'offset'>,
): BlockReader {
  const row = state.partitions.numbers.get(partition);
  return openBlock(state, storedBlock(state.blocks.firstAtOrAfter(row, offset), offset));
}

/** Appends one message of a block as a block of its own and returns its size in bytes. */
function copyMessage(writer: ByteWriter, block: BlockReader, ordinal: number): number {
  const { bytes, spans } = block.frame(ordinal);
  const sub = block.producerSub === null ? new Uint8Array(0) : encodeUtf8(block.producerSub);
  const traceId = block.traceId(ordinal);
  const hasKey = block.hasTransactionId(ordinal);
  const start = writer.length;
  writer.u8(BLOCK_FORMAT_VERSION);
  writer.u8(
    (block.flags & BLOCK_FLAG.ENCRYPTED) |
      (hasKey ? 0 : BLOCK_FLAG.ALL_MINTED) |
      (traceId === undefined ? 0 : BLOCK_FLAG.HAS_TRACE_IDS),
  );
  writer.u16(sub.length);
  writer.u32(1);
  writer.u32(block.partitionNumber);
  writer.u32(0);
  writer.uint53(block.baseOffset + ordinal);
  writer.uint53(block.createdUs);
  writeId(writer, block.messageId(ordinal));
  if (hasKey) {
    const key = new Uint32Array(4);
    block.writeKey(ordinal, key, 0);
    for (const word of key) writer.u32(word);
  }
  writer.u32(spans[BLOCK_FRAME.TXN_LENGTH]!);
  writer.u32(spans[BLOCK_FRAME.PAYLOAD_LENGTH]!);
  if (traceId !== undefined) writeId(writer, traceId);
  writer.raw(sub);
  writer.raw(bytes);
  const size = writer.length - start;
  assert(
    size >= BLOCK_HEADER_SIZE + BLOCK_FRAME_SIZE + (hasKey ? BLOCK_KEY_SIZE : 0),
    () => `record of ${size} bytes`,
  );
  return size;
}

function writeId(writer: ByteWriter, id: Id128): void {
  // Reserving may replace the buffer, so it comes first.
  const at = writer.reserve(ID_SIZE);
  writeIdBytes(id, writer.bytes, at);
}

/** At most the kept size, cut between characters. */
function cut(text: Uint8Array): Uint8Array {
  if (text.length <= ERROR_BYTES_MAX) return text;
  let end = ERROR_BYTES_MAX;
  while (end > 0 && (text[end]! & 0xc0) === 0x80) end -= 1;
  return text.subarray(0, end);
}
