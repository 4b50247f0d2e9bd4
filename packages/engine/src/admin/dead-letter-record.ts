// The stored record of a dead letter.

import {
  assert,
  CodecError,
  decodeUtf8,
  encodeUtf8,
  formatUuid,
  hash128,
  idsEqual,
  parseUuid,
} from '@queen-ts/base';
import { BLOCK_FLAG, BLOCK_FRAME, BlockReader, ID_WORDS, MINTED_TXN } from '@queen-ts/protocol';
import type { Id128 } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** What finding and checking a record costs besides its size. */
const RECORD_COST_BYTES = 1024;

/** One dead letter as it was filed. `payload` is lent, and sealed when `isEncrypted`. */
export interface DeadLetterRecord {
  readonly messageId: Id128;
  readonly transactionId: string;
  readonly payload: Uint8Array;
  readonly isEncrypted: boolean;
  /** True when the client gave no transaction id: it is the message id. */
  readonly isMinted: boolean;
  readonly error: string;
}

/** Reads the record of a row. */
export function readDeadLetter(state: State, row: number): DeadLetterRecord {
  const { deadLetters, payload } = state;
  const block = openRecord(state, row);
  const { bytes, spans } = block.frames(0, 1);
  const messageId = block.messageId(0);
  const payloadStart = spans[BLOCK_FRAME.PAYLOAD_START]!;
  const recordStart = deadLetters.recordStart.get(row);
  const error = payload.payload({
    index: deadLetters.entryIndex.get(row),
    from: recordStart + deadLetters.blockSize.get(row),
    toExclusive: recordStart + deadLetters.recordSize.get(row),
  });
  return {
    messageId,
    transactionId: transactionIdOf(bytes, spans, messageId),
    payload: bytes.subarray(payloadStart, payloadStart + spans[BLOCK_FRAME.PAYLOAD_LENGTH]!),
    isEncrypted: (block.flags & BLOCK_FLAG.ENCRYPTED) !== 0,
    isMinted: spans[BLOCK_FRAME.TXN_LENGTH] === MINTED_TXN,
    error: text(error, 0, error.length),
  };
}

/** A transaction id to look for among dead letters. */
export interface SoughtId {
  /** Its hash under the cluster's key. */
  readonly words: Uint32Array;
  /** The message id that it is the text of, if it is one. */
  readonly messageId: Id128 | undefined;
}

/** Prepares a search for a transaction id. */
export function soughtId(hashKey: Uint32Array, transactionId: string): SoughtId {
  const bytes = encodeUtf8(transactionId);
  const words = new Uint32Array(ID_WORDS);
  hash128(hashKey, bytes, 0, bytes.length, words, 0);
  const uuid = parseUuid(transactionId);
  const isCanonical = uuid !== undefined && formatUuid(uuid) === transactionId;
  return { words, messageId: isCanonical ? uuid : undefined };
}

/**
 * Whether a row's message has the transaction id. Reads no payload, except of a record so small that
 * it is read in one piece; what was read is charged.
 */
export function hasTransactionId(state: State, row: number, sought: SoughtId): boolean {
  const block = openRecord(state, row);
  state.openBlocks.charge(block.heldSize + RECORD_COST_BYTES);
  if (block.hasTransactionId(0)) return block.keyEquals(0, sought.words, 0);
  return sought.messageId !== undefined && idsEqual(block.messageId(0), sought.messageId);
}

function openRecord(state: State, row: number): BlockReader {
  const { deadLetters, payload } = state;
  const entryIndex = deadLetters.entryIndex.get(row);
  const blockStart = deadLetters.recordStart.get(row);
  const blockSize = deadLetters.blockSize.get(row);
  const block = new BlockReader(payload, { entryIndex, blockStart, blockSize });
  assert(block.count === 1, () => `dead letter ${row} is a block of ${block.count} messages`);
  return block;
}

function transactionIdOf(bytes: Uint8Array, spans: Uint32Array, messageId: Id128): string {
  const length = spans[BLOCK_FRAME.TXN_LENGTH]!;
  if (length === MINTED_TXN) return formatUuid(messageId);
  const start = spans[BLOCK_FRAME.TXN_START]!;
  return text(bytes, start, start + length);
}

function text(bytes: Uint8Array, from: number, toExclusive: number): string {
  const decoded = decodeUtf8(bytes, from, toExclusive);
  if (decoded === undefined) throw new CodecError('a dead letter is not UTF-8');
  return decoded;
}
