// Stored messages as answers outside of pops show them.

import { CodecError, decodeUtf8, formatUuid } from '@queen-ts/base';
import { BLOCK_FLAG } from '../block.ts';
import type { PayloadReader } from '../block.ts';
import { BLOCK_FRAME, BlockReader } from '../block-reader.ts';
import { MINTED_TXN } from '../commands.ts';
import type { BlockSpan } from '../outcomes.ts';

const NULL = 'null';

/** One message as it lies in its block. */
export interface StoredMessage {
  /** Text of the message id. */
  readonly id: string;
  readonly transactionId: string;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly createdUs: number;
  /** The payload as it was pushed; lent. An envelope when the message is encrypted. */
  readonly payload: Uint8Array;
  readonly isEncrypted: boolean;
}

/** Reads single messages; neighbours in one block cost one opening of it. */
export class StoredMessages {
  readonly #payloads: PayloadReader;
  #address = '';
  #block: BlockReader | undefined;

  constructor(payloads: PayloadReader) {
    this.#payloads = payloads;
  }

  /** Reads the first message of a span. Throws CodecError when the block is damaged. */
  read(span: BlockSpan): StoredMessage {
    const block = this.#open(span);
    const { bytes, spans } = block.frames(span.first, 1);
    const txnStart = spans[BLOCK_FRAME.TXN_START]!;
    const txnLength = spans[BLOCK_FRAME.TXN_LENGTH]!;
    const payloadStart = spans[BLOCK_FRAME.PAYLOAD_START]!;
    const id = formatUuid(block.messageId(span.first));
    const traceId = block.traceId(span.first);
    return {
      id,
      transactionId: txnLength === MINTED_TXN ? id : textOf(bytes, txnStart, txnStart + txnLength),
      traceId: traceId === undefined ? null : formatUuid(traceId),
      producerSub: block.producerSub,
      createdUs: block.createdUs,
      payload: bytes.subarray(payloadStart, payloadStart + spans[BLOCK_FRAME.PAYLOAD_LENGTH]!),
      isEncrypted: (block.flags & BLOCK_FLAG.ENCRYPTED) !== 0,
    };
  }

  #open(span: BlockSpan): BlockReader {
    const address = `${span.entryIndex}:${span.blockStart}`;
    if (this.#block === undefined || address !== this.#address) {
      this.#block = new BlockReader(this.#payloads, span);
      this.#address = address;
    }
    return this.#block;
  }
}

/** The payload as JSON: what was pushed, `null` when nothing or nothing readable is stored. */
export function payloadJson(
  message: Pick<StoredMessage, 'payload' | 'isEncrypted'>,
): Uint8Array | string {
  return message.payload.length === 0 || message.isEncrypted ? NULL : message.payload;
}

function textOf(bytes: Uint8Array, from: number, toExclusive: number): string {
  const text = decodeUtf8(bytes, from, toExclusive);
  if (text === undefined) throw new CodecError('a stored transaction id is not UTF-8');
  return text;
}
