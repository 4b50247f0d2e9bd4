// Reads append blocks (`block.ts`) through a PayloadReader: header and tables first, then only the
// frames that are wanted. Small blocks are read at once.

import { CodecError, decodeUtf8, idPlus, readIdBytes, writeIdWords } from '@queen-ts/base';
import {
  BLOCK_FLAG,
  BLOCK_FORMAT_VERSION,
  BLOCK_FRAME_SIZE,
  BLOCK_HEADER_SIZE,
  BLOCK_KEY_SIZE,
  BLOCK_TRACE_ID_SIZE,
} from './block.ts';
import type { PayloadReader } from './block.ts';
import { MINTED_TXN } from './commands.ts';
import type { Id128 } from './commands.ts';
import type { BlockSpan } from './outcomes.ts';

/** Where a block lies in the log. */
export type BlockAddress = Pick<BlockSpan, 'entryIndex' | 'blockStart' | 'blockSize'>;

/** Blocks up to this size are read in one piece: no larger than a chunk of the log store. */
const WHOLE_READ_SIZE_MAX = 64 * 1024;

const KNOWN_FLAGS = BLOCK_FLAG.ALL_MINTED | BLOCK_FLAG.HAS_TRACE_IDS | BLOCK_FLAG.ENCRYPTED;

/** Bytes that {@link BlockReader.frame} reads at once: as many as a chunk of the log store has. */
const READ_AHEAD_SIZE = 64 * 1024;

/** Columns of one frame in {@link BlockFrames.spans}. */
export const BLOCK_FRAME = {
  /** Start of the transaction id in `bytes`. */
  TXN_START: 0,
  /** Its length in bytes, or `MINTED_TXN`: the message id is the transaction id. */
  TXN_LENGTH: 1,
  /** Start of the payload in `bytes`. */
  PAYLOAD_START: 2,
  /** Its length in bytes. */
  PAYLOAD_LENGTH: 3,
  WIDTH: 4,
} as const;

/** Frames of consecutive messages. `bytes` is lent as PayloadReader says. */
export interface BlockFrames {
  readonly bytes: Uint8Array;
  /** `BLOCK_FRAME.WIDTH` words a message. */
  readonly spans: Uint32Array;
}

/** Returns a reader over bytes in memory; the entry index of an address is ignored. */
export function payloadOf(bytes: Uint8Array): PayloadReader {
  return { payload: ({ from, toExclusive }) => bytes.subarray(from, toExclusive) };
}

/**
 * One append block. The constructor throws CodecError when the bytes are not a block of that size;
 * on stored data that is corruption. Ordinals are positions in the block, in [0, count).
 */
export class BlockReader {
  /** Number of messages, >= 1. */
  readonly count: number;
  readonly partitionNumber: number;
  /** Offset of ordinal 0. */
  readonly baseOffset: number;
  /** Microseconds of wall time, shared by all messages. */
  readonly createdUs: number;
  /** `BLOCK_FLAG` bits. */
  readonly flags: number;
  /** The `sub` of the token that pushed the block, else null. */
  readonly producerSub: string | null;

  readonly #payloads: PayloadReader;
  readonly #address: BlockAddress;
  readonly #messageId: Id128;
  /** The block up to its frames at least, from its first byte. */
  readonly #tables: Uint8Array;
  readonly #view: DataView;
  readonly #keysStart: number;
  readonly #frameTableStart: number;
  readonly #traceIdsStart: number;
  readonly #framesStart: number;
  /** An ordinal whose frame was looked up before, and where it starts. */
  #knownOrdinal = 0;
  #knownStart: number;
  /** Frames that were read ahead, and where they start. */
  #ahead: Uint8Array = new Uint8Array(0);
  #aheadStart = 0;

  constructor(payloads: PayloadReader, address: BlockAddress) {
    this.#payloads = payloads;
    this.#address = address;
    const { blockSize } = address;
    check(blockSize >= BLOCK_HEADER_SIZE, address, 'is smaller than a header');
    const isWhole = blockSize <= WHOLE_READ_SIZE_MAX;
    const head = this.#read(0, isWhole ? blockSize : BLOCK_HEADER_SIZE);
    const view = viewOf(head);
    check(
      head[0] === BLOCK_FORMAT_VERSION,
      address,
      () => `has format version ${head[0]}, this program reads ${BLOCK_FORMAT_VERSION} only`,
    );
    this.flags = head[1]!;
    check((this.flags & ~KNOWN_FLAGS) === 0, address, () => `has unknown flags ${this.flags}`);
    const subSize = view.getUint16(2, true);
    this.count = view.getUint32(4, true);
    check(this.count >= 1, address, 'holds no message');
    this.partitionNumber = view.getUint32(8, true);
    this.baseOffset = view.getFloat64(16, true);
    this.createdUs = view.getFloat64(24, true);
    check(
      Number.isSafeInteger(this.baseOffset) && Number.isSafeInteger(this.createdUs),
      address,
      'has an offset or a time that is no integer',
    );
    this.#messageId = readIdBytes(head, 32);
    const keysSize = this.flags & BLOCK_FLAG.ALL_MINTED ? 0 : this.count * BLOCK_KEY_SIZE;
    const traceIdsSize =
      this.flags & BLOCK_FLAG.HAS_TRACE_IDS ? this.count * BLOCK_TRACE_ID_SIZE : 0;
    this.#keysStart = BLOCK_HEADER_SIZE + view.getUint32(12, true);
    this.#frameTableStart = this.#keysStart + keysSize;
    this.#traceIdsStart = this.#frameTableStart + this.count * BLOCK_FRAME_SIZE;
    const subStart = this.#traceIdsStart + traceIdsSize;
    this.#framesStart = subStart + subSize;
    this.#knownStart = this.#framesStart;
    check(this.#framesStart <= blockSize, address, 'has tables larger than itself');
    this.#tables = isWhole ? head : this.#read(0, this.#framesStart);
    this.#view = isWhole ? view : viewOf(this.#tables);
    this.producerSub = this.#readSub(subStart);
  }

  /** Size in bytes of what the reader holds of the block. */
  get heldSize(): number {
    return this.#tables.length;
  }

  /** Id of a message. */
  messageId(ordinal: number): Id128 {
    return idPlus(this.#messageId, ordinal);
  }

  /** Stores the id of a message as four words at `out[at]`. */
  writeMessageId(ordinal: number, out: Uint32Array, at: number): void {
    writeIdWords(this.#messageId, out, at);
    out[at + 3]! += ordinal;
  }

  /** True when the message has a client's transaction id and not its message id for one. */
  hasTransactionId(ordinal: number): boolean {
    const row = this.#frameTableStart + ordinal * BLOCK_FRAME_SIZE;
    return this.#view.getUint32(row, true) !== MINTED_TXN;
  }

  /** True when the message has a client's transaction id whose keyed hash is at `words[at]`. */
  keyEquals(ordinal: number, words: Uint32Array, at: number): boolean {
    if (this.flags & BLOCK_FLAG.ALL_MINTED) return false;
    const view = this.#view;
    const from = this.#keysStart + ordinal * BLOCK_KEY_SIZE;
    return (
      view.getUint32(from, true) === words[at] &&
      view.getUint32(from + 4, true) === words[at + 1] &&
      view.getUint32(from + 8, true) === words[at + 2] &&
      view.getUint32(from + 12, true) === words[at + 3] &&
      this.hasTransactionId(ordinal)
    );
  }

  /** Stores the key of a message as four words at `out[at]`; zeros when it was minted. */
  writeKey(ordinal: number, out: Uint32Array, at: number): void {
    const isAllMinted = (this.flags & BLOCK_FLAG.ALL_MINTED) !== 0;
    const from = this.#keysStart + ordinal * BLOCK_KEY_SIZE;
    for (let word = 0; word < 4; word++) {
      out[at + word] = isAllMinted ? 0 : this.#view.getUint32(from + word * 4, true);
    }
  }

  /** Trace id of a message, or undefined when it has none. */
  traceId(ordinal: number): Id128 | undefined {
    if ((this.flags & BLOCK_FLAG.HAS_TRACE_IDS) === 0) return undefined;
    const id = readIdBytes(this.#tables, this.#traceIdsStart + ordinal * BLOCK_TRACE_ID_SIZE);
    return id.every((word) => word === 0) ? undefined : id;
  }

  /** Size of a message's frame in bytes: its transaction id and its payload. */
  frameSize(ordinal: number): number {
    const row = this.#frameTableStart + ordinal * BLOCK_FRAME_SIZE;
    const txnLength = this.#view.getUint32(row, true);
    return (txnLength === MINTED_TXN ? 0 : txnLength) + this.#view.getUint32(row + 4, true);
  }

  /**
   * Reads the frames of `count` messages from ordinal `first` on. Reading on from where the last call
   * began costs no more than what lies between. Throws CodecError on damage.
   */
  frames(first: number, count: number): BlockFrames {
    this.#checkOrdinals(first, count);
    const from = this.#frameStart(first);
    const { spans, size } = this.#spansOf(first, count);
    const end = from + size;
    check(end <= this.#address.blockSize, this.#address, 'has frames beyond its end');
    const isInTables = end <= this.#tables.length;
    const bytes = isInTables ? this.#tables.subarray(from, end) : this.#read(from, end);
    return { bytes, spans };
  }

  /** Columns of frames that lie one behind the other, and their size. */
  #spansOf(first: number, count: number): { readonly spans: Uint32Array; readonly size: number } {
    const spans = new Uint32Array(count * BLOCK_FRAME.WIDTH);
    let at = 0;
    for (let i = 0; i < count; i++) {
      const row = this.#frameTableStart + (first + i) * BLOCK_FRAME_SIZE;
      const txnLength = this.#view.getUint32(row, true);
      const txnSize = txnLength === MINTED_TXN ? 0 : txnLength;
      const payloadSize = this.#view.getUint32(row + 4, true);
      const span = i * BLOCK_FRAME.WIDTH;
      spans[span + BLOCK_FRAME.TXN_START] = at;
      spans[span + BLOCK_FRAME.TXN_LENGTH] = txnLength;
      spans[span + BLOCK_FRAME.PAYLOAD_START] = at + txnSize;
      spans[span + BLOCK_FRAME.PAYLOAD_LENGTH] = payloadSize;
      at += txnSize + payloadSize;
    }
    return { spans, size: at };
  }

  /**
   * The frame of one message. It is read along with some of those behind it, for whoever wants many of
   * them in ascending order. Throws CodecError on damage.
   */
  frame(ordinal: number): BlockFrames {
    this.#checkOrdinals(ordinal, 1);
    const start = this.#frameStart(ordinal);
    const end = start + this.frameSize(ordinal);
    if (end <= this.#tables.length || end > this.#address.blockSize) return this.frames(ordinal, 1);
    if (start < this.#aheadStart || end > this.#aheadStart + this.#ahead.length) {
      const wanted = Math.max(end, start + READ_AHEAD_SIZE);
      this.#ahead = this.#read(start, Math.min(wanted, this.#address.blockSize));
      this.#aheadStart = start;
    }
    const { spans } = this.#spansOf(ordinal, 1);
    const from = start - this.#aheadStart;
    return { bytes: this.#ahead.subarray(from, from + end - start), spans };
  }

  #checkOrdinals(first: number, count: number): void {
    check(
      first >= 0 && count >= 1 && first + count <= this.count,
      this.#address,
      () => `has no ordinals [${first}, ${first + count})`,
    );
  }

  /** Start of a frame: the sizes of the frames before it tell, from the nearest one that is known. */
  #frameStart(ordinal: number): number {
    if (ordinal * 2 < this.#knownOrdinal) {
      this.#knownOrdinal = 0;
      this.#knownStart = this.#framesStart;
    }
    let start = this.#knownStart;
    for (let i = this.#knownOrdinal; i < ordinal; i++) start += this.frameSize(i);
    for (let i = this.#knownOrdinal; i > ordinal; i--) start -= this.frameSize(i - 1);
    this.#knownOrdinal = ordinal;
    this.#knownStart = start;
    return start;
  }

  #readSub(start: number): string | null {
    if (start === this.#framesStart) return null;
    const sub = decodeUtf8(this.#tables, start, this.#framesStart);
    if (sub === undefined) throw new CodecError('producerSub of a block is not UTF-8');
    return sub;
  }

  #read(from: number, toExclusive: number): Uint8Array {
    const { entryIndex, blockStart } = this.#address;
    const bytes = this.#payloads.payload({
      index: entryIndex,
      from: blockStart + from,
      toExclusive: blockStart + toExclusive,
    });
    check(
      bytes.length === toExclusive - from,
      this.#address,
      () => `was read as ${bytes.length} bytes`,
    );
    return bytes;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function check(condition: boolean, address: BlockAddress, what: string | (() => string)): void {
  if (condition) return;
  const { entryIndex, blockStart, blockSize } = address;
  const text = typeof what === 'string' ? what : what();
  throw new CodecError(`block at ${entryIndex}:${blockStart} of ${blockSize} bytes ${text}`);
}
