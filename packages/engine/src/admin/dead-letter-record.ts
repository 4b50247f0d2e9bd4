// The stored record of a dead letter.

import { assert, CodecError, decodeUtf8, formatUuid } from '@queen-ts/base';
import { BLOCK_FLAG, BLOCK_FRAME, BlockReader, MINTED_TXN } from '@queen-ts/protocol';
import type { Id128 } from '@queen-ts/protocol';
import type { State } from '../state.ts';

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
  const entryIndex = deadLetters.entryIndex.get(row);
  const blockStart = deadLetters.recordStart.get(row);
  const blockSize = deadLetters.blockSize.get(row);
  const block = new BlockReader(payload, { entryIndex, blockStart, blockSize });
  assert(block.count === 1, () => `dead letter ${row} is a block of ${block.count} messages`);
  const { bytes, spans } = block.frames(0, 1);
  const messageId = block.messageId(0);
  const payloadStart = spans[BLOCK_FRAME.PAYLOAD_START]!;
  const error = payload.payload({
    index: entryIndex,
    from: blockStart + blockSize,
    toExclusive: blockStart + deadLetters.recordSize.get(row),
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
