// Stored messages as answers outside of pops show them.

import { assert, CodecError, decodeUtf8, encodeUtf8, formatUuid, parseUuid } from '@queen-ts/base';
import type { PayloadReader } from '../block.ts';
import { BLOCK_FRAME, BlockReader } from '../block-reader.ts';
import { MINTED_TXN } from '../commands.ts';
import type { BlockSpan } from '../outcomes.ts';
import { isSealed, SealBindings } from '../sealing.ts';
import type { PayloadOpener, SealPlace } from '../sealing.ts';

const NULL = 'null';

/** One message as it lies in its block. */
export interface StoredMessage {
  /** Text of the message id. */
  readonly id: string;
  readonly transactionId: string;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly createdUs: number;
  /** The payload as it is stored; lent. Sealed when `isEncrypted`. */
  readonly payload: Uint8Array;
  readonly isEncrypted: boolean;
  /** True when the client gave no transaction id: it is the message id. */
  readonly isMinted: boolean;
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
      isEncrypted: isSealed(block),
      isMinted: txnLength === MINTED_TXN,
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

/** A payload with what its sealing depends on. */
export type SealedPayload = Pick<
  StoredMessage,
  'id' | 'transactionId' | 'payload' | 'isEncrypted' | 'isMinted'
>;

/** The payload as it was pushed. Throws as {@link PayloadOpener.open} does. */
export function openPayload(
  message: SealedPayload,
  place: SealPlace,
  opener: PayloadOpener,
): Uint8Array {
  if (!message.isEncrypted) return message.payload;
  return opener.open(message.payload, bindingOf(message, place));
}

/** The payload as JSON: what was pushed, `null` when nothing was. */
export function payloadJson(payload: Uint8Array): Uint8Array | string {
  return payload.length === 0 ? NULL : payload;
}

function bindingOf({ id, transactionId, isMinted }: SealedPayload, place: SealPlace): Uint8Array {
  const bindings = new SealBindings(place.queue, place.partition);
  if (!isMinted) return bindings.given(encodeUtf8(transactionId));
  const words = parseUuid(id);
  assert(words !== undefined, () => `message id ${id}`);
  return bindings.minted(words);
}

function textOf(bytes: Uint8Array, from: number, toExclusive: number): string {
  const text = decodeUtf8(bytes, from, toExclusive);
  if (text === undefined) throw new CodecError('a stored transaction id is not UTF-8');
  return text;
}
