// The answer of `POST /api/v1/push` (data-plane reference §1.2): 201 with one element an item.

import { MINTED_TXN, PUSH_GROUP, PUSH_ITEM } from '../commands.ts';
import type { PushCommand } from '../commands.ts';
import { PUSH_STATUS } from '../outcomes.ts';
import type { PushOutcome } from '../outcomes.ts';
import { fragment, JsonWriter } from './json-writer.ts';

const INDEX = fragment('{"index":');
const MESSAGE_ID = fragment(',"message_id":"');
const TRANSACTION_ID = fragment('","transaction_id":"');
const QUEUE_NAME = fragment('","queueName":');
const STATUS_QUEUED = fragment(',"status":"queued","offset":');
const STATUS_DUPLICATE = fragment(',"status":"duplicate","offset":');
const STATUS_ERROR = fragment(',"status":"error","error":');
const CODE = fragment(',"code":');
const OPEN_ARRAY = fragment('[');
const CLOSE_ARRAY = fragment(']');
const CLOSE_OBJECT = fragment('}');
const COMMA = fragment(',');
const UNKNOWN_ERROR = { message: 'the item was not stored', code: 'internal' };

/** Typical size of one element without the names of queue and transaction. */
const ELEMENT_SIZE_HINT = 160;

/** Answer to a push without items. */
export const EMPTY_PUSH_ANSWER = fragment('[]');

/** Returns the body of the answer. `command` is the one that `outcome` belongs to. */
export function renderPush(outcome: PushOutcome, command: PushCommand): Uint8Array {
  const { itemColumns, itemCount, text } = command;
  const queueNames = command.queues.map((queue) => fragment(JSON.stringify(queue)));
  const queueOf = queueNames.length > 1 ? queueOfItems(command) : undefined;
  const writer = new JsonWriter(2 + itemCount * (ELEMENT_SIZE_HINT + 40) + text.length);
  writer.raw(OPEN_ARRAY);
  for (let position = 0; position < itemCount; position++) {
    if (position > 0) writer.raw(COMMA);
    writer.raw(INDEX);
    writer.integer(position);
    writer.raw(MESSAGE_ID);
    writer.uuid(outcome.messageIds, position * 4);
    writer.raw(TRANSACTION_ID);
    const row = position * PUSH_ITEM.WIDTH;
    const txnStart = itemColumns[row + PUSH_ITEM.TXN_START]!;
    const txnSize = itemColumns[row + PUSH_ITEM.TXN_LENGTH]!;
    if (txnSize === MINTED_TXN) writer.uuid(outcome.messageIds, position * 4);
    else writer.text(text, txnStart, txnStart + txnSize);
    writer.raw(QUEUE_NAME);
    writer.raw(queueNames[queueOf === undefined ? 0 : queueOf[position]!]!);
    writeStatus(writer, outcome, position);
    writer.raw(CLOSE_OBJECT);
  }
  writer.raw(CLOSE_ARRAY);
  return writer.finish();
}

function writeStatus(writer: JsonWriter, outcome: PushOutcome, position: number): void {
  const status = outcome.statuses[position];
  if (status === PUSH_STATUS.ERROR) {
    const error = outcome.errors?.get(position) ?? UNKNOWN_ERROR;
    writer.raw(STATUS_ERROR);
    writer.value(error.message);
    writer.raw(CODE);
    writer.value(error.code);
    return;
  }
  writer.raw(status === PUSH_STATUS.DUPLICATE ? STATUS_DUPLICATE : STATUS_QUEUED);
  writer.integer(outcome.offsets[position]!);
}

/** Position in `queues` of each item's queue. */
export function queueOfItems({ groupColumns, itemCount, order }: PushCommand): Uint32Array {
  const queueOf = new Uint32Array(itemCount);
  for (let row = 0; row < groupColumns.length; row += PUSH_GROUP.WIDTH) {
    const start = groupColumns[row + PUSH_GROUP.ORDER_START]!;
    const end = start + groupColumns[row + PUSH_GROUP.ORDER_COUNT]!;
    const queue = groupColumns[row + PUSH_GROUP.QUEUE]!;
    for (let i = start; i < end; i++) queueOf[order[i]!] = queue;
  }
  return queueOf;
}
