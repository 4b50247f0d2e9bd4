// The answer of the ack routes (data-plane reference §3.1): 200 with one element an item.

import { ackErrorText } from '../ack-error-text.ts';
import { ACK_ERROR } from '../outcomes.ts';
import type { AckOutcome } from '../outcomes.ts';
import type { AckEcho } from '../requests/ack.ts';
import { fragment, JsonWriter } from './json-writer.ts';

const INDEX = fragment('{"index":');
const TRANSACTION_ID = fragment(',"transactionId":');
const SUCCESS = fragment(',"success":true,"error":null,"leaseReleased":');
const FAILURE = fragment(',"success":false,"error":');
const LEASE_RELEASED = fragment(',"leaseReleased":');
const DLQ = fragment(',"dlq":');
const NOOP = fragment(',"noop":');
const TRUE = fragment('true');
const FALSE = fragment('false');
const OPEN_ARRAY = fragment('[');
const CLOSE_ARRAY = fragment(']');
const CLOSE_OBJECT = fragment('}');
const COMMA = fragment(',');
const NO_TRANSACTION_ID = fragment('""');

/** JSON text by {@link ACK_ERROR}. */
const ERROR_TEXTS: readonly Uint8Array[] = Object.values(ACK_ERROR).map((error) =>
  fragment(JSON.stringify(error === ACK_ERROR.NONE ? null : ackErrorText(error))),
);

const ELEMENT_SIZE_HINT = 200;

/** Answer to an ack without items. */
export const EMPTY_ACK_ANSWER = fragment('[]');

/** Returns the body of the answer. `echo` comes from the request that `outcome` belongs to. */
export function renderAck(outcome: AckOutcome, echo: AckEcho): Uint8Array {
  const count = outcome.errors.length;
  const writer = new JsonWriter(2 + count * ELEMENT_SIZE_HINT);
  writer.raw(OPEN_ARRAY);
  for (let position = 0; position < count; position++) {
    if (position > 0) writer.raw(COMMA);
    writer.raw(INDEX);
    writer.integer(position);
    writer.raw(TRANSACTION_ID);
    const start = echo.spans[position * 2]!;
    const size = echo.spans[position * 2 + 1]!;
    if (size === 0) writer.raw(NO_TRANSACTION_ID);
    else writer.span(echo.body, start, start + size);
    const error = outcome.errors[position]!;
    if (error === ACK_ERROR.NONE) writer.raw(SUCCESS);
    else {
      writer.raw(FAILURE);
      writer.raw(ERROR_TEXTS[error]!);
      writer.raw(LEASE_RELEASED);
    }
    writer.raw(outcome.leaseReleased[position] === 1 ? TRUE : FALSE);
    writer.raw(DLQ);
    writer.raw(outcome.deadLettered[position] === 1 ? TRUE : FALSE);
    writer.raw(NOOP);
    writer.raw(outcome.noops[position] === 1 ? TRUE : FALSE);
    writer.raw(CLOSE_OBJECT);
  }
  writer.raw(CLOSE_ARRAY);
  return writer.finish();
}
