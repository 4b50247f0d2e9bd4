// Replay: a copy of the message goes to the tail of its destination and the dead letter is removed,
// in one entry. The copy's transaction id is `dlq:<id>`, so a repeated replay is a duplicate.

import { assert, encodeUtf8, formatUuid, hash128 } from '@queen-ts/base';
import { EFFECT, ID_WORDS, PUSH_STATUS, SEALING } from '@queen-ts/protocol';
import type { PushCommand } from '@queen-ts/protocol';
import type { PlanContext } from '../plan/context.ts';
import { planPush } from '../plan/push.ts';
import { encryptionRequired } from '../plan/sealing.ts';
import type { Refused, ReplayDeadLetterCommand, ReplayDeadLetterOutcome } from '@queen-ts/protocol';
import { deadLetterRow } from './dead-letter-id.ts';
import { readDeadLetter } from './dead-letter-record.ts';

/** Plans a replay. */
export function planReplayDeadLetter(
  context: PlanContext,
  command: ReplayDeadLetterCommand,
): ReplayDeadLetterOutcome | Refused {
  const { state } = context;
  const row = deadLetterRow(state, command.id);
  const partitionRow = row === 0 ? 0 : state.deadLetters.partitionRow.get(row);
  const source = row === 0 ? undefined : state.queueOf(partitionRow);
  if (source === undefined) return gone(command);
  const record = readDeadLetter(state, row);
  const queue = command.queue ?? source.name;
  const partition = command.partition ?? state.partitions.names.nameText(partitionRow);
  const number = state.deadLetters.number.get(row);
  const group = state.groups.get(state.deadLetters.group.get(row))?.name ?? '';
  // What a dead letter holds sealed is bound to where it came from: its copy must be sealed anew.
  if (record.isEncrypted && command.sealing !== SEALING.SEALED) return encryptionRequired(queue);
  const payload = command.payload ?? record.payload;
  const push = planPush(context, copyOf(context, command, { queue, partition, payload }));
  if (push.kind === 'refused') return push;
  const isMoved = push.statuses[0] === PUSH_STATUS.QUEUED;
  if (isMoved) context.emit({ kind: EFFECT.DEAD_LETTER_DELETE, deadLetter: number });
  return {
    kind: 'replayDeadLetter',
    id: command.id,
    result: isMoved ? 'moved' : 'duplicate',
    queue,
    partition,
    group,
    originalTransactionId: record.transactionId,
    push,
  };
}

/** A push of one message, as the edge would have prepared it. */
function copyOf(
  context: PlanContext,
  command: ReplayDeadLetterCommand,
  to: { readonly queue: string; readonly partition: string; readonly payload: Uint8Array },
): PushCommand {
  const { identity } = context.state;
  assert(identity !== undefined, 'a dead letter before the genesis');
  const id = encodeUtf8(`dlq:${formatUuid(command.id)}`);
  const name = encodeUtf8(to.partition);
  const text = new Uint8Array(id.length + name.length);
  text.set(id);
  text.set(name, id.length);
  const txnHashes = new Uint32Array(ID_WORDS);
  hash128(identity.hashKey, id, 0, id.length, txnHashes, 0);
  return {
    kind: 'push',
    itemCount: 1,
    queues: [to.queue],
    body: to.payload,
    text,
    // Columns in the order of PUSH_ITEM and PUSH_GROUP.
    itemColumns: Uint32Array.of(0, id.length, 0, to.payload.length, 0),
    txnHashes,
    groupColumns: Uint32Array.of(0, id.length, name.length, 0, 1),
    order: Uint32Array.of(0),
    idBase: command.messageId,
    producerSub: null,
    sealings: Uint8Array.of(command.sealing ?? SEALING.NONE),
  };
}

function gone({ id }: ReplayDeadLetterCommand): ReplayDeadLetterOutcome {
  return {
    kind: 'replayDeadLetter',
    id,
    result: 'gone',
    queue: '',
    partition: '',
    group: '',
    originalTransactionId: '',
    push: undefined,
  };
}
