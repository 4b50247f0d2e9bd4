// The answer of the pop routes (data-plane reference §2.2). Payloads are spliced as they were pushed.

import { encodeUtf8, formatUuid } from '@queen-ts/base';
import type { PayloadReader } from '../block.ts';
import { BLOCK_FRAME, BlockReader } from '../block-reader.ts';
import type { BlockFrames } from '../block-reader.ts';
import { MINTED_TXN } from '../commands.ts';
import type { Id128 } from '../commands.ts';
import type { Claim, PopOutcome } from '../outcomes.ts';
import { partitionIdText } from '../partition-id.ts';
import { isSealed, openFrames } from '../sealing.ts';
import type { PayloadOpener } from '../sealing.ts';
import { fragment, JsonWriter } from './json-writer.ts';

const ID = fragment('{"id":"');
const TRANSACTION_ID = fragment('","transactionId":"');
const TRACE_ID_NULL = fragment('","traceId":null,"data":');
const TRACE_ID = fragment('","traceId":"');
const DATA = fragment('","data":');
const NULL = fragment('null');
const PRODUCER_SUB = fragment(',"producerSub":');
const CREATED_AT = fragment(',"createdAt":"');
const COMMA = fragment(',');
const CLOSE_OBJECT = fragment('}');

/** Size of one message's fixed parts without names and payload. */
const MESSAGE_SIZE_HINT = 420;

/** One span with what is needed to render it. */
interface OpenSpan {
  readonly claim: Claim;
  readonly first: number;
  readonly count: number;
  readonly baseOffset: number;
  readonly block: BlockReader;
  readonly frames: BlockFrames;
}

/** What rendering a pop needs besides its outcome. */
export interface PopSource {
  readonly payloads: PayloadReader;
  readonly opener: PayloadOpener;
  /** The queue of the path; `""` on the discovery route. */
  readonly queue: string;
}

/**
 * Returns the body of a 200, or undefined for a 204 without a body: nothing was delivered and
 * conflation has nothing to say. Yields after each sealed payload that it opens, never otherwise.
 * Throws CodecError when a stored block is damaged, and what {@link PayloadOpener.open} throws.
 */
export function* renderPop(
  outcome: PopOutcome,
  { payloads, opener, queue }: PopSource,
): Generator<undefined, Uint8Array | undefined> {
  const { claims, conflation, conflationConflict } = outcome;
  if (claims.length === 0 && !conflation && !conflationConflict) return undefined;
  const lease = claims.length === 0 || outcome.autoAck ? '' : formatUuid(outcome.leaseId);
  const spans = yield* openSpans(claims, payloads, opener);
  const group = JSON.stringify(outcome.group);
  const head = encodeUtf8(headOf(claims[0], { queue, lease, group }));
  const writer = new JsonWriter(sizeHint(spans, head.length, group.length));
  writer.raw(head);
  let tail = head;
  let tailClaim: Claim | undefined;
  for (const [position, span] of spans.entries()) {
    if (position > 0) writer.raw(COMMA);
    if (span.claim !== tailClaim) {
      tailClaim = span.claim;
      tail = encodeUtf8(messageTail(span.claim, { lease, group }));
    }
    writeSpan(writer, span, tail);
  }
  const flags =
    (conflation ? ',"conflation":true' : '') +
    (conflationConflict ? ',"conflationConflict":true' : '');
  writer.raw(encodeUtf8(`],"partitionsClaimed":${claims.length}${flags}}`));
  return writer.finish();
}

/** Returns the body of a 400 for pop parameters that contradict each other. */
export function renderPopRefusal(message: string): Uint8Array {
  return encodeUtf8(JSON.stringify({ success: false, error: message, messages: [] }));
}

/** The parts that repeat, `group` already as JSON. */
interface Shared {
  readonly lease: string;
  readonly group: string;
}

function headOf(
  first: Claim | undefined,
  { queue, lease, group }: Shared & { readonly queue: string },
): string {
  const partition = first === undefined ? '""' : JSON.stringify(first.partition);
  const partitionId = first === undefined ? '' : partitionIdText(first.partitionNumber);
  return (
    `{"success":true,"queue":${JSON.stringify(queue)},"partition":${partition},` +
    `"partitionId":"${partitionId}","leaseId":"${lease}","consumerGroup":${group},"messages":[`
  );
}

/** What follows `createdAt` in every message of a claim, up to the offset. */
function messageTail(claim: Claim, { lease, group }: Shared): string {
  return (
    `","partitionId":"${partitionIdText(claim.partitionNumber)}",` +
    `"partition":${JSON.stringify(claim.partition)},"leaseId":"${lease}",` +
    `"consumerGroup":${group},"deliveryAttempt":${claim.deliveryAttempt},"offset":`
  );
}

function* openSpans(
  claims: readonly Claim[],
  payloads: PayloadReader,
  opener: PayloadOpener,
): Generator<undefined, OpenSpan[]> {
  const open: OpenSpan[] = [];
  for (const claim of claims) {
    for (const span of claim.spans) {
      const block = new BlockReader(payloads, span);
      const { baseOffset, count, first } = span;
      let frames = block.frames(first, count);
      if (isSealed(block)) frames = yield* openFrames({ block, first, frames }, claim, opener);
      open.push({ claim, baseOffset, count, first, block, frames });
    }
  }
  return open;
}

function sizeHint(spans: readonly OpenSpan[], headSize: number, groupSize: number): number {
  let size = headSize + 100;
  for (const { claim, count, frames } of spans) {
    const fixed = MESSAGE_SIZE_HINT + groupSize + claim.partition.length;
    size += frames.bytes.length + count * fixed;
  }
  return size;
}

function writeSpan(writer: JsonWriter, span: OpenSpan, tail: Uint8Array): void {
  const { baseOffset, block, count, first, frames } = span;
  const producer = block.producerSub === null ? NULL : fragment(JSON.stringify(block.producerSub));
  const id = new Uint32Array(4);
  for (let i = 0; i < count; i++) {
    const ordinal = first + i;
    if (i > 0) writer.raw(COMMA);
    block.writeMessageId(ordinal, id, 0);
    writer.raw(ID);
    writer.uuid(id, 0);
    writer.raw(TRANSACTION_ID);
    writeFrame(writer, frames, i, { id, traceId: block.traceId(ordinal) });
    writer.raw(PRODUCER_SUB);
    writer.raw(producer);
    writer.raw(CREATED_AT);
    writer.timestampUs(block.createdUs);
    writer.raw(tail);
    writer.integer(baseOffset + ordinal);
    writer.raw(CLOSE_OBJECT);
  }
}

/** Writes transaction id, trace id and payload of the frame in row `i`. */
function writeFrame(
  writer: JsonWriter,
  { bytes, spans }: BlockFrames,
  i: number,
  ids: { readonly id: Uint32Array; readonly traceId: Id128 | undefined },
): void {
  const row = i * BLOCK_FRAME.WIDTH;
  const txnStart = spans[row + BLOCK_FRAME.TXN_START]!;
  const txnSize = spans[row + BLOCK_FRAME.TXN_LENGTH]!;
  if (txnSize === MINTED_TXN) writer.uuid(ids.id, 0);
  else writer.text(bytes, txnStart, txnStart + txnSize);
  if (ids.traceId === undefined) writer.raw(TRACE_ID_NULL);
  else {
    writer.raw(TRACE_ID);
    writer.uuid(ids.traceId, 0);
    writer.raw(DATA);
  }
  const payloadStart = spans[row + BLOCK_FRAME.PAYLOAD_START]!;
  const payloadSize = spans[row + BLOCK_FRAME.PAYLOAD_LENGTH]!;
  if (payloadSize === 0) writer.raw(NULL);
  else writer.span(bytes, payloadStart, payloadStart + payloadSize);
}
