// A push's outcome as it is remembered for a repeat of the request. Most pushes store everything: then a
// base offset for each group says it all, and ids follow from the first one.
//
//   u8 form (with 128: the id of the first message follows), varint items, then
//   WHOLE  for each group with something to store: varint base offset
//   ITEMS  for each item that is no repeat: u8 status, then
//            queued     varint offset, varint position of its id behind the first
//            duplicate  varint offset, id
//            error      code, text, varint position of its id behind the first

import { idPlus } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { ID_WORDS, PUSH_GROUP, PUSH_ITEM } from '../../commands.ts';
import type { PushCommand } from '../../commands.ts';
import { ERRORS } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import { PUSH_STATUS } from '../../outcomes.ts';
import type { PushOutcome } from '../../outcomes.ts';
import { readId, writeId } from '../fields.ts';

const FORM = { WHOLE: 0, ITEMS: 1 } as const;

/** Added to the form where a repeat would bring other ids than the first attempt. */
const HAS_ID = 128;

type Errors = Map<number, { readonly code: ErrorCode; readonly message: string }>;

/**
 * Writes the outcome of `command`.
 * @param isSameCommand whether a repeat is the same command, so that its ids need not be written.
 */
export function writePushOutcome(
  writer: ByteWriter,
  outcome: PushOutcome,
  { command, isSameCommand }: { readonly command: PushCommand; readonly isSameCommand: boolean },
): void {
  const isWhole = isEverythingStored(outcome, command);
  writer.u8((isWhole ? FORM.WHOLE : FORM.ITEMS) | (isSameCommand ? 0 : HAS_ID));
  writer.varint(command.itemCount);
  if (!isSameCommand) writeId(writer, command.idBase);
  if (isWhole) writeWhole(writer, outcome, command);
  else writeItems(writer, outcome, command);
}

/** Reads what was written for a command with the same items; undefined when that cannot be. */
export function readPushOutcome(reader: ByteReader, command: PushCommand): PushOutcome | undefined {
  const { itemCount } = command;
  const outcome = {
    kind: 'push',
    statuses: new Uint8Array(itemCount),
    offsets: new Float64Array(itemCount),
    messageIds: new Uint32Array(itemCount * ID_WORDS),
    errors: new Map() as Errors,
  } as const;
  const form = reader.u8();
  if (reader.varint() !== itemCount) return undefined;
  const idBase = (form & HAS_ID) === 0 ? command.idBase : readId(reader);
  if ((form & ~HAS_ID) === FORM.WHOLE) readWhole(reader, outcome, { ...command, idBase });
  else readItems(reader, outcome, { ...command, idBase });
  answerRepeats(outcome, command);
  return { ...outcome, errors: outcome.errors.size === 0 ? undefined : outcome.errors };
}

function isEverythingStored({ statuses }: PushOutcome, command: PushCommand): boolean {
  for (let position = 0; position < statuses.length; position += 1) {
    if (statuses[position] !== PUSH_STATUS.QUEUED && isFirst(command, position)) return false;
  }
  return true;
}

function isFirst({ itemColumns }: PushCommand, position: number): boolean {
  return itemColumns[position * PUSH_ITEM.WIDTH + PUSH_ITEM.FIRST_POSITION] === position;
}

function forEachGroup(command: PushCommand, visit: (positions: Uint32Array) => void): void {
  const { groupColumns, order } = command;
  for (let group = 0; group < groupColumns.length; group += PUSH_GROUP.WIDTH) {
    const start = groupColumns[group + PUSH_GROUP.ORDER_START]!;
    visit(order.subarray(start, start + groupColumns[group + PUSH_GROUP.ORDER_COUNT]!));
  }
}

/** A group's messages are one append: the first offset says them all. */
function writeWhole(writer: ByteWriter, outcome: PushOutcome, command: PushCommand): void {
  const { groupColumns, order } = command;
  for (let group = 0; group < groupColumns.length; group += PUSH_GROUP.WIDTH) {
    const start = groupColumns[group + PUSH_GROUP.ORDER_START]!;
    const end = start + groupColumns[group + PUSH_GROUP.ORDER_COUNT]!;
    let at = start;
    while (at < end && !isFirst(command, order[at]!)) at += 1;
    if (at < end) writer.varint(outcome.offsets[order[at]!]!);
  }
}

function writeItems(writer: ByteWriter, outcome: PushOutcome, command: PushCommand): void {
  const { statuses, offsets, messageIds, errors } = outcome;
  for (let position = 0; position < command.itemCount; position += 1) {
    if (!isFirst(command, position)) continue;
    const status = statuses[position]!;
    const at = position * ID_WORDS;
    writer.u8(status);
    if (status === PUSH_STATUS.ERROR) {
      const error = errors?.get(position);
      writer.string(error?.code ?? 'internal');
      writer.string(error?.message ?? '');
      writer.varint(messageIds[at + 3]! - command.idBase[3]);
      continue;
    }
    writer.varint(offsets[position]!);
    if (status === PUSH_STATUS.QUEUED) writer.varint(messageIds[at + 3]! - command.idBase[3]);
    else for (let word = 0; word < ID_WORDS; word += 1) writer.u32(messageIds[at + word]!);
  }
}

function readWhole(reader: ByteReader, outcome: PushOutcome, command: PushCommand): void {
  let stored = 0;
  forEachGroup(command, (positions) => {
    const firsts = positions.filter((position) => isFirst(command, position));
    const baseOffset = firsts.length === 0 ? 0 : reader.varint();
    firsts.forEach((position, i) => {
      outcome.offsets[position] = baseOffset + i;
      outcome.messageIds.set(idPlus(command.idBase, stored), position * ID_WORDS);
      stored += 1;
    });
  });
}

function readItems(
  reader: ByteReader,
  outcome: PushOutcome & { readonly errors: Errors },
  command: PushCommand,
): void {
  for (let position = 0; position < command.itemCount; position += 1) {
    if (!isFirst(command, position)) continue;
    const status = reader.u8();
    const at = position * ID_WORDS;
    outcome.statuses[position] = status;
    if (status === PUSH_STATUS.ERROR) {
      const code = reader.string();
      const message = reader.string();
      outcome.errors.set(position, { code: isErrorCode(code) ? code : 'internal', message });
      outcome.messageIds.set(idPlus(command.idBase, reader.varint()), at);
      continue;
    }
    outcome.offsets[position] = reader.varint();
    if (status === PUSH_STATUS.QUEUED) {
      outcome.messageIds.set(idPlus(command.idBase, reader.varint()), at);
    } else outcome.messageIds.set(readWords(reader), at);
  }
}

function readWords(reader: ByteReader): readonly number[] {
  return [reader.u32(), reader.u32(), reader.u32(), reader.u32()];
}

/** Items that repeat an earlier one of the request have its answer. */
function answerRepeats(
  outcome: PushOutcome & { readonly errors: Errors },
  command: PushCommand,
): void {
  const { statuses, offsets, messageIds, errors } = outcome;
  for (let position = 0; position < command.itemCount; position += 1) {
    const first = command.itemColumns[position * PUSH_ITEM.WIDTH + PUSH_ITEM.FIRST_POSITION]!;
    if (first === position) continue;
    const error = errors.get(first);
    if (error !== undefined) errors.set(position, error);
    statuses[position] = error === undefined ? PUSH_STATUS.DUPLICATE : PUSH_STATUS.ERROR;
    offsets[position] = offsets[first]!;
    messageIds.copyWithin(position * ID_WORDS, first * ID_WORDS, (first + 1) * ID_WORDS);
  }
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
