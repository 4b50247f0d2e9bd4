// Push: each (queue, partition) group of the request becomes one append of what is not a duplicate.
// Groups are independent; a refused one leaves the others alone.

import { decodeUtf8 } from '@queen-ts/base';
import {
  blockSize,
  BLOCK_FRAME_SIZE,
  BLOCK_HEADER_SIZE,
  BLOCK_KEY_SIZE,
  BLOCK_TRACE_ID_SIZE,
  EFFECT,
  ID_WORDS,
  MINTED_TXN,
  PUSH_GROUP,
  PUSH_ITEM,
  PUSH_STATUS,
  SEALING,
  writeBlock,
} from '@queen-ts/protocol';
import type {
  BlockSource,
  ErrorCode,
  Id128,
  PushCommand,
  PushOutcome,
  Refused,
} from '@queen-ts/protocol';
import { refusePaused } from '../admin/maintenance.ts';
import type { QueueState } from '../queue-state.ts';
import type { PlanContext } from './context.ts';
import { findOriginal } from './originals.ts';
import { ensureQueue } from './queues.ts';
import { missingKey, refuseUnsealed, sealingOf } from './sealing.ts';

/** Why an item was not stored. */
interface ItemError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** One push while it is planned. */
interface Push {
  readonly command: PushCommand;
  readonly statuses: Uint8Array;
  readonly offsets: Float64Array;
  readonly messageIds: Uint32Array;
  errors: Map<number, ItemError> | undefined;
  /** Messages stored so far: the next one gets this as the low part of its id. */
  stored: number;
  hasRepeats: boolean;
}

/** Plans a push. */
export function planPush(context: PlanContext, command: PushCommand): PushOutcome | Refused {
  const refusal = refusePaused(context) ?? refuseUnsealed(context, command);
  if (refusal !== undefined) return refusal;
  const push = newPush(command);
  const groupsEnd = command.groupColumns.length;
  for (let group = 0; group < groupsEnd; group += PUSH_GROUP.WIDTH) planGroup(context, push, group);
  if (push.hasRepeats) answerRepeats(push);
  const { statuses, offsets, messageIds, errors } = push;
  return { kind: 'push', statuses, offsets, messageIds, errors };
}

/**
 * What keeps a push from being stored as a whole, repeats inside it aside: the first duplicate, or the
 * first item that would be refused. Changes nothing.
 */
export function checkPush(
  context: PlanContext,
  command: PushCommand,
): { readonly reason: 'duplicate' | ErrorCode; readonly message: string } | undefined {
  const push = newPush(command);
  let refusal: ItemError | undefined = undefined;
  const { groupColumns } = command;
  for (let group = 0; group < groupColumns.length; group += PUSH_GROUP.WIDTH) {
    const { known, sealing, survivors, count } = examineGroup(context, push, group);
    if (count === 0) continue;
    refusal ??= refusalOf(context, command, { queue: known, sealing, survivors, count });
  }
  const position = push.statuses.indexOf(PUSH_STATUS.DUPLICATE);
  if (position >= 0) return { reason: 'duplicate', message: duplicateText(push, position) };
  return refusal === undefined ? undefined : { reason: refusal.code, message: refusal.message };
}

function newPush(command: PushCommand): Push {
  const { itemCount } = command;
  return {
    command,
    statuses: new Uint8Array(itemCount),
    offsets: new Float64Array(itemCount),
    messageIds: new Uint32Array(itemCount * ID_WORDS),
    errors: undefined,
    stored: 0,
    hasRepeats: false,
  };
}

/** One group of a push before anything is stored. */
interface ExaminedGroup {
  readonly queueName: string;
  readonly known: QueueState | undefined;
  /** `SEALING` of its payloads. */
  readonly sealing: number;
  /** Row of the partition, 0 if it is not there yet. */
  readonly row: number;
  /** Positions of the items to store; the first `count` count. Lent until the next group. */
  readonly survivors: Uint32Array;
  readonly count: number;
}

function examineGroup(context: PlanContext, push: Push, group: number): ExaminedGroup {
  const { state } = context;
  const { groupColumns, queues, text } = push.command;
  const queuePosition = groupColumns[group + PUSH_GROUP.QUEUE]!;
  const queueName = queues[queuePosition]!;
  const sealing = sealingOf(push.command, queuePosition);
  const nameStart = groupColumns[group + PUSH_GROUP.NAME_START]!;
  const nameLength = groupColumns[group + PUSH_GROUP.NAME_LENGTH]!;
  const known = state.queuesByName.get(queueName);
  const row =
    known === undefined
      ? 0
      : state.partitions.names.find(known.number, text, nameStart, nameLength);
  const survivors = context.items(groupColumns[group + PUSH_GROUP.ORDER_COUNT]!);
  const count = selectSurvivors(context, push, { group, queue: known, row, survivors });
  return { queueName, known, sealing, row, survivors, count };
}

function planGroup(context: PlanContext, push: Push, group: number): void {
  const { state } = context;
  const { groupColumns, text } = push.command;
  const { queueName, known, sealing, survivors, count, ...examined } = examineGroup(
    context,
    push,
    group,
  );
  if (count === 0) return;
  const refusal = refusalOf(context, push.command, { queue: known, sealing, survivors, count });
  if (refusal !== undefined) {
    refuse(push, refusal, survivors.subarray(0, count));
    return;
  }
  const queue = known ?? ensureQueue(context, queueName);
  let { row } = examined;
  if (row === 0) {
    const nameStart = groupColumns[group + PUSH_GROUP.NAME_START]!;
    const nameLength = groupColumns[group + PUSH_GROUP.NAME_LENGTH]!;
    const bytes = text.subarray(nameStart, nameStart + nameLength);
    context.emit({ kind: EFFECT.PARTITION_PUT, queue: queue.number, name: bytes });
    row = state.partitions.names.find(queue.number, text, nameStart, nameLength);
  }
  const isSealed = sealing === SEALING.SEALED;
  append(context, push, { row, isSealed, survivors: survivors.subarray(0, count) });
}

/** Collects the items to store in `survivors` and answers the duplicates. */
function selectSurvivors(
  context: PlanContext,
  push: Push,
  target: {
    readonly group: number;
    readonly queue: QueueState | undefined;
    readonly row: number;
    readonly survivors: Uint32Array;
  },
): number {
  const { groupColumns, itemColumns, order, txnHashes } = push.command;
  const { group, queue, row, survivors } = target;
  const from = groupColumns[group + PUSH_GROUP.ORDER_START]!;
  const toExclusive = from + groupColumns[group + PUSH_GROUP.ORDER_COUNT]!;
  const isDeduplicating = queue !== undefined && row !== 0 && queue.dedupUs > 0;
  let count = 0;
  for (let i = from; i < toExclusive; i += 1) {
    const position = order[i]!;
    const item = position * PUSH_ITEM.WIDTH;
    if (itemColumns[item + PUSH_ITEM.FIRST_POSITION] !== position) {
      push.hasRepeats = true;
      continue;
    }
    if (isDeduplicating && itemColumns[item + PUSH_ITEM.TXN_LENGTH] !== MINTED_TXN) {
      const at = position * ID_WORDS;
      writeIdPlus(push.command.idBase, push.stored + count, push.messageIds, at);
      const query = { partitionRow: row, words: txnHashes, at };
      const messageId = { words: push.messageIds, at };
      const offset = findOriginal(context.state, queue, query, messageId);
      if (offset >= 0) {
        push.statuses[position] = PUSH_STATUS.DUPLICATE;
        push.offsets[position] = offset;
        continue;
      }
    }
    survivors[count] = position;
    count += 1;
  }
  return count;
}

function append(
  context: PlanContext,
  push: Push,
  {
    row,
    isSealed,
    survivors,
  }: {
    readonly row: number;
    readonly isSealed: boolean;
    readonly survivors: Uint32Array;
  },
): void {
  const count = survivors.length;
  const { state, payload } = context;
  const { command } = push;
  const partition = state.partitions.number.get(row);
  const baseOffset = state.partitions.tail.get(row);
  const createdUs = Math.max(state.nowUs, state.partitions.lastAppendUs.get(row) + 1);
  const blockStart = payload.length;
  const size = writeBlock(payload, {
    ...source(command, survivors, count),
    partitionNumber: partition,
    baseOffset,
    createdUs,
    messageId: idPlus(command.idBase, push.stored),
    isSealed,
    links: context.linksOf(row, { baseOffset, createdUs, entryIndex: state.entryIndex }),
  });
  context.emit({
    kind: EFFECT.APPEND,
    partition,
    baseOffset,
    count,
    createdUs,
    blockStart,
    blockSize: size,
  });
  for (let i = 0; i < count; i += 1) {
    const position = survivors[i]!;
    push.offsets[position] = baseOffset + i;
    writeIdPlus(command.idBase, push.stored + i, push.messageIds, position * ID_WORDS);
  }
  push.stored += count;
}

function isTooLarge(
  context: PlanContext,
  command: PushCommand,
  survivors: Uint32Array,
  count: number,
): boolean {
  const { entryBytesMax } = context.limits;
  // Nearly every push is far below the limit by this bound alone.
  const traceIdSize = command.traceIds === undefined ? 0 : BLOCK_TRACE_ID_SIZE;
  const perMessage = BLOCK_FRAME_SIZE + BLOCK_KEY_SIZE + traceIdSize;
  const subSizeMax = (command.producerSub?.length ?? 0) * 3;
  const bound =
    BLOCK_HEADER_SIZE + count * perMessage + command.body.length + command.text.length + subSizeMax;
  return bound > entryBytesMax && blockSize(source(command, survivors, count)) > entryBytesMax;
}

/** Why the messages of a group cannot be stored, if so. */
function refusalOf(
  context: PlanContext,
  command: PushCommand,
  group: {
    readonly queue: QueueState | undefined;
    readonly sealing: number;
    readonly survivors: Uint32Array;
    readonly count: number;
  },
): ItemError | undefined {
  const keyless = missingKey(group.queue, group.sealing);
  if (keyless !== undefined) return keyless;
  if (!isTooLarge(context, command, group.survivors, group.count)) return undefined;
  const { entryBytesMax } = context.limits;
  const message = `the messages of one partition may take ${entryBytesMax} bytes together`;
  return { code: 'too_large', message };
}

function refuse(push: Push, refusal: ItemError, survivors: Uint32Array): void {
  push.errors ??= new Map();
  for (const position of survivors) {
    push.statuses[position] = PUSH_STATUS.ERROR;
    push.errors.set(position, refusal);
    writeIdPlus(push.command.idBase, push.stored, push.messageIds, position * ID_WORDS);
  }
}

/** Items that repeat an earlier one of the request get its answer. */
function answerRepeats(push: Push): void {
  const { itemColumns, itemCount } = push.command;
  const { statuses, offsets, messageIds, errors } = push;
  for (let position = 0; position < itemCount; position += 1) {
    const first = itemColumns[position * PUSH_ITEM.WIDTH + PUSH_ITEM.FIRST_POSITION]!;
    if (first === position) continue;
    const error = errors?.get(first);
    if (error !== undefined) errors?.set(position, error);
    statuses[position] = error === undefined ? PUSH_STATUS.DUPLICATE : PUSH_STATUS.ERROR;
    offsets[position] = offsets[first]!;
    const from = first * ID_WORDS;
    messageIds.copyWithin(position * ID_WORDS, from, from + ID_WORDS);
  }
}

function source(command: PushCommand, survivors: Uint32Array, count: number): BlockSource {
  return {
    command,
    positions: survivors,
    from: 0,
    toExclusive: count,
    partitionNumber: 0,
    baseOffset: 0,
    createdUs: 0,
    messageId: command.idBase,
  };
}

function idPlus(id: Id128, count: number): Id128 {
  return [id[0], id[1], id[2], id[3] + count];
}

function writeIdPlus(id: Id128, count: number, out: Uint32Array, at: number): void {
  out[at] = id[0];
  out[at + 1] = id[1];
  out[at + 2] = id[2];
  out[at + 3] = id[3] + count;
}

/** Names the duplicate: where it was pushed before. */
function duplicateText({ command, offsets }: Push, position: number): string {
  const { groupColumns, itemColumns, order, queues, text } = command;
  const textAt = (start: number, length: number): string =>
    decodeUtf8(text, start, start + length) ?? '';
  const item = position * PUSH_ITEM.WIDTH;
  const id = textAt(
    itemColumns[item + PUSH_ITEM.TXN_START]!,
    itemColumns[item + PUSH_ITEM.TXN_LENGTH]!,
  );
  const at = order.indexOf(position);
  for (let group = 0; group < groupColumns.length; group += PUSH_GROUP.WIDTH) {
    const from = groupColumns[group + PUSH_GROUP.ORDER_START]!;
    if (at < from || at >= from + groupColumns[group + PUSH_GROUP.ORDER_COUNT]!) continue;
    const queue = queues[groupColumns[group + PUSH_GROUP.QUEUE]!]!;
    const nameStart = groupColumns[group + PUSH_GROUP.NAME_START]!;
    const partition = textAt(nameStart, groupColumns[group + PUSH_GROUP.NAME_LENGTH]!);
    return `duplicate transactionId "${id}": ${queue}/${partition} has it at offset ${offsets[position]}`;
  }
  return `duplicate transactionId "${id}"`;
}
