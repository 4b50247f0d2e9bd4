// The answer of `POST /api/v1/transaction` (data-plane reference §5.3).

import { formatUuid } from '@queen-ts/base';
import { ackErrorText } from '../ack-error-text.ts';
import { ID_WORDS, MINTED_TXN, PUSH_ITEM } from '../commands.ts';
import type { PushCommand } from '../commands.ts';
import { ACK_ERROR, PUSH_STATUS } from '../outcomes.ts';
import type { AckOutcome, PushOutcome, RolledBack, TransactionOutcome } from '../outcomes.ts';
import { PUSH_PART } from '../requests/transaction.ts';
import type { TransactionRequest } from '../requests/transaction.ts';
import { fragment, JsonWriter } from './json-writer.ts';
import { queueOfItems } from './push.ts';

const TRANSACTION_ID = fragment('{"transactionId":"');
const RESULTS = fragment('","success":true,"results":[');
const INDEX = fragment('{"index":');
const PUSH = fragment(',"type":"push","success":true,"transactionId":"');
const MESSAGE_ID = fragment('","messageId":"');
const QUEUE_NAME = fragment('","queueName":');
const DUPLICATE = fragment(',"duplicate":true');
const ACK = fragment(',"type":"ack","success":');
const ACK_ID = fragment(',"transactionId":');
const NO_ACK_ID = fragment('""');
const ERROR = fragment(',"error":');
const DLQ = fragment(',"dlq":');
const TRUE = fragment('true');
const FALSE = fragment('false');
const COMMA = fragment(',');
const CLOSE_OBJECT = fragment('}');
const END = fragment(']}');

const ELEMENT_SIZE_HINT = 240;

/** Returns the body of the answer to a committed transaction. */
export function renderTransaction(
  outcome: TransactionOutcome,
  { command, echo }: TransactionRequest,
): Uint8Array {
  const { sources, positions } = echo;
  const writer = new JsonWriter(96 + sources.length * ELEMENT_SIZE_HINT);
  const queueOf = command.push === undefined ? undefined : queueOfItems(command.push);
  writer.raw(TRANSACTION_ID);
  writer.uuid(outcome.transactionId, 0);
  writer.raw(RESULTS);
  for (let index = 0; index < sources.length; index += 1) {
    if (index > 0) writer.raw(COMMA);
    writer.raw(INDEX);
    writer.integer(index);
    const source = sources[index]!;
    const position = positions[index]!;
    if (source === PUSH_PART) {
      writePush(
        writer,
        { command: command.push!, outcome: outcome.push!, queueOf: queueOf! },
        position,
      );
    } else {
      const spans = { body: echo.body, spans: echo.spans[source]! };
      writeAck(writer, { ...spans, outcome: outcome.acks[source]! }, position);
    }
    writer.raw(CLOSE_OBJECT);
  }
  writer.raw(END);
  return writer.finish();
}

/** Returns the body of the answer to a transaction that changed nothing. */
export function renderRolledBack(outcome: RolledBack): Uint8Array {
  const { transactionId, reason, message } = outcome;
  return fragment(
    JSON.stringify({
      transactionId: formatUuid(transactionId),
      success: false,
      reason,
      error: message,
      results: [],
    }),
  );
}

function writePush(
  writer: JsonWriter,
  push: {
    readonly command: PushCommand;
    readonly outcome: PushOutcome;
    readonly queueOf: Uint32Array;
  },
  position: number,
): void {
  const { command, outcome } = push;
  const row = position * PUSH_ITEM.WIDTH;
  const txnStart = command.itemColumns[row + PUSH_ITEM.TXN_START]!;
  const txnSize = command.itemColumns[row + PUSH_ITEM.TXN_LENGTH]!;
  writer.raw(PUSH);
  if (txnSize === MINTED_TXN) writer.uuid(outcome.messageIds, position * ID_WORDS);
  else writer.text(command.text, txnStart, txnStart + txnSize);
  writer.raw(MESSAGE_ID);
  writer.uuid(outcome.messageIds, position * ID_WORDS);
  writer.raw(QUEUE_NAME);
  writer.value(command.queues[push.queueOf[position]!]);
  if (outcome.statuses[position] === PUSH_STATUS.DUPLICATE) writer.raw(DUPLICATE);
}

function writeAck(
  writer: JsonWriter,
  ack: { readonly body: Uint8Array; readonly spans: Uint32Array; readonly outcome: AckOutcome },
  position: number,
): void {
  const { body, spans, outcome } = ack;
  const error = outcome.errors[position]!;
  const start = spans[position * 2]!;
  const size = spans[position * 2 + 1]!;
  writer.raw(ACK);
  writer.raw(error === ACK_ERROR.NONE ? TRUE : FALSE);
  writer.raw(ACK_ID);
  if (size === 0) writer.raw(NO_ACK_ID);
  else writer.span(body, start, start + size);
  writer.raw(ERROR);
  writer.value(error === ACK_ERROR.NONE ? null : ackErrorText(error));
  writer.raw(DLQ);
  writer.raw(outcome.deadLettered[position] === 1 ? TRUE : FALSE);
}
