// The answer of a read by offset (data-plane reference §11.1). Payloads are spliced as they were pushed.

import { formatTimestampUs } from '@queen-ts/base';
import type { PayloadReader } from '../block.ts';
import { BLOCK_FRAME, BlockReader } from '../block-reader.ts';
import type { BlockFrames } from '../block-reader.ts';
import { MINTED_TXN } from '../commands.ts';
import type { BlockSpan } from '../outcomes.ts';
import { isSealed, openFrames } from '../sealing.ts';
import type { PayloadOpener } from '../sealing.ts';
import { fragment, JsonWriter } from './json-writer.ts';
import { commaSeparated } from './piece.ts';
import type { Piece } from './piece.ts';

const OFFSET = fragment('{"offset":');
const NEXT_OFFSET = fragment(',{"offset":');
const TRANSACTION_ID = fragment(',"transactionId":"');
const PAYLOAD = fragment('","payload":');
const NULL = fragment('null');

/** Size of one record's fixed parts. */
const RECORD_SIZE_HINT = 140;

/** What one entry of a fetch came to. */
export interface FetchedRow {
  readonly queue: string;
  readonly partition: string;
  readonly spans: readonly BlockSpan[];
  readonly highWatermark: number;
  readonly logStartOffset: number;
  readonly error: string | undefined;
}

/** Where payloads come from. */
export interface PayloadSource {
  readonly payloads: PayloadReader;
  readonly opener: PayloadOpener;
}

/**
 * Renders a fetch. Throws CodecError when a stored block is damaged, and what {@link PayloadOpener.open}
 * throws.
 */
export function* renderFetch(rows: readonly FetchedRow[], source: PayloadSource): Generator<Piece> {
  yield '{"entries":[';
  yield* commaSeparated(rows, (row) => renderRow(row, source));
  yield ']}';
}

function* renderRow(row: FetchedRow, { payloads, opener }: PayloadSource): Generator<Piece> {
  const { queue, partition, highWatermark, logStartOffset, error } = row;
  yield `${JSON.stringify({ queue, partition }).slice(0, -1)},"records":[`;
  for (const [position, span] of row.spans.entries()) {
    const block = new BlockReader(payloads, span);
    let frames = block.frames(span.first, span.count);
    if (isSealed(block)) {
      const { first } = span;
      frames = yield* inPieces(openFrames({ block, first, frames }, row, opener));
    }
    yield renderSpan(span, { block, frames, isFirstSpan: position === 0 });
  }
  const tail = { highWatermark, logStartOffset, ...(error === undefined ? {} : { error }) };
  yield `],${JSON.stringify(tail).slice(1)}`;
}

/** Turns the steps of something into empty pieces, so that it can be paced like an answer. */
function* inPieces<T>(steps: Generator<undefined, T>): Generator<Piece, T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    yield '';
  }
}

function renderSpan(
  span: BlockSpan,
  {
    block,
    frames: { bytes, spans },
    isFirstSpan,
  }: {
    readonly block: BlockReader;
    readonly frames: BlockFrames;
    readonly isFirstSpan: boolean;
  },
): Uint8Array {
  const writer = new JsonWriter(bytes.length + span.count * RECORD_SIZE_HINT);
  const tail = fragment(`,"ts":"${formatTimestampUs(block.createdUs)}"}`);
  const id = new Uint32Array(4);
  for (let i = 0; i < span.count; i++) {
    const row = i * BLOCK_FRAME.WIDTH;
    const txnStart = spans[row + BLOCK_FRAME.TXN_START]!;
    const txnSize = spans[row + BLOCK_FRAME.TXN_LENGTH]!;
    const payloadStart = spans[row + BLOCK_FRAME.PAYLOAD_START]!;
    const payloadSize = spans[row + BLOCK_FRAME.PAYLOAD_LENGTH]!;
    writer.raw(isFirstSpan && i === 0 ? OFFSET : NEXT_OFFSET);
    writer.integer(span.baseOffset + span.first + i);
    writer.raw(TRANSACTION_ID);
    block.writeMessageId(span.first + i, id, 0);
    if (txnSize === MINTED_TXN) writer.uuid(id, 0);
    else writer.text(bytes, txnStart, txnStart + txnSize);
    writer.raw(PAYLOAD);
    if (payloadSize === 0) writer.raw(NULL);
    else writer.span(bytes, payloadStart, payloadStart + payloadSize);
    writer.raw(tail);
  }
  return writer.finish();
}
