// The byte form of outcomes, as entries carry them and every node remembers them, so that a repeated
// request gets the answer of the first attempt. A tag byte, then the fields. What the command says
// anyway is not written: an outcome is read together with the command that is repeated.

import { CodecError } from '@queen-ts/base';
import { ByteReader } from '@queen-ts/base';
import type { ByteWriter } from '@queen-ts/base';
import type { Command, PushCommand, TransactionCommand } from '../../commands.ts';
import type { AckOutcome, Outcome, OutcomeOf, PushOutcome } from '../../outcomes.ts';
import { readId, writeId } from '../fields.ts';
import { readQueueOptions, writeQueueOptions } from '../options-codec.ts';
import { readAckOutcome, writeAckOutcome } from './ack-outcome.ts';
import { readPopOutcome, writePopOutcome } from './pop-outcome.ts';
import { readPushOutcome, writePushOutcome } from './push-outcome.ts';

/** Tag byte of each outcome that can be remembered; on disk: add, never reuse. */
const TAG = {
  push: 1,
  ack: 2,
  pop: 3,
  transaction: 4,
  configure: 5,
  deleteQueue: 6,
  seek: 7,
  deleteGroup: 8,
  subscribe: 9,
  replayDeadLetter: 10,
  deletedDeadLetters: 11,
  maintenance: 12,
} as const;

/**
 * Writes the outcome of a command; false, and nothing written, when a repeat needs none: it would do no
 * harm (extensions), has its own memory (pops under a lease), or the command is not complete yet.
 * @param isSameCommand whether a repeat is the same command down to the minted ids, as a node sends it
 * again; a client's is only alike.
 */
export function writeOutcome(
  writer: ByteWriter,
  outcome: Outcome,
  { command, isSameCommand }: { readonly command: Command; readonly isSameCommand: boolean },
): boolean {
  switch (outcome.kind) {
    case 'push':
      if (command.kind !== 'push') return false;
      writer.u8(TAG.push);
      writePushOutcome(writer, outcome, { command, isSameCommand });
      return true;
    case 'ack':
      writer.u8(TAG.ack);
      writeAckOutcome(writer, outcome);
      return true;
    case 'pop':
      if (!outcome.autoAck || outcome.claims.length === 0) return false;
      writer.u8(TAG.pop);
      writePopOutcome(writer, outcome);
      return true;
    case 'transaction':
      if (command.kind !== 'transaction') return false;
      writer.u8(TAG.transaction);
      writeTransaction(writer, outcome, { command, isSameCommand });
      return true;
    case 'configure':
      writer.u8(TAG.configure);
      writeId(writer, outcome.queueId);
      writeQueueOptions(writer, outcome.options);
      return true;
    case 'deleteQueue':
      writer.u8(TAG.deleteQueue);
      writer.u8(outcome.existed ? 1 : 0);
      return true;
    case 'refused':
    case 'rolledBack':
    case 'extend':
    case 'release':
      return false;
    default:
      return writeControl(writer, outcome);
  }
}

/**
 * Reads what was written for `command`; undefined when it belongs to another kind of command, or to
 * one with other items. Throws CodecError when it is no outcome at all.
 */
export function readOutcome(bytes: Uint8Array, command: Command): Outcome | undefined {
  const reader = new ByteReader(bytes);
  const tag = reader.u8();
  try {
    const outcome = readFields(reader, tag, command);
    return outcome === undefined || reader.remaining > 0 ? undefined : outcome;
  } catch (error) {
    // The fields of a command with other items end early.
    if (error instanceof CodecError) return undefined;
    throw error;
  }
}

function readFields(reader: ByteReader, tag: number, command: Command): Outcome | undefined {
  switch (command.kind) {
    case 'push':
      return tag === TAG.push ? readPushOutcome(reader, command) : undefined;
    case 'ack':
      return tag === TAG.ack ? readAckOutcome(reader, command) : undefined;
    case 'pop':
      return tag === TAG.pop ? readPopOutcome(reader, command) : undefined;
    case 'transaction':
      return tag === TAG.transaction ? readTransaction(reader, command) : undefined;
    case 'configure': {
      if (tag !== TAG.configure) return undefined;
      const queueId = readId(reader);
      return {
        kind: 'configure',
        queue: command.queue,
        queueId,
        options: readQueueOptions(reader),
      };
    }
    case 'deleteQueue': {
      if (tag !== TAG.deleteQueue) return undefined;
      return { kind: 'deleteQueue', queue: command.queue, existed: reader.u8() === 1 };
    }
    default:
      return readControl(reader, tag, command);
  }
}

type ControlOutcome = OutcomeOf<
  'seek' | 'deleteGroup' | 'subscribe' | 'replayDeadLetter' | 'deletedDeadLetters' | 'maintenance'
>;

function writeControl(writer: ByteWriter, outcome: ControlOutcome): boolean {
  const isUnfinished = 'next' in outcome && outcome.next !== undefined;
  if (isUnfinished) return false;
  writer.u8(TAG[outcome.kind]);
  switch (outcome.kind) {
    case 'seek':
      writer.u8(outcome.found ? 1 : 0);
      writer.varint(outcome.partitionsUpdated);
      return true;
    case 'deleteGroup':
      writer.varint(outcome.cursorsDeleted);
      writer.u8(outcome.registrationDeleted ? 1 : 0);
      return true;
    case 'subscribe':
      writer.varint(outcome.queuesUpdated);
      return true;
    case 'deletedDeadLetters':
      writer.varint(outcome.deleted);
      return true;
    case 'maintenance':
      writer.u8((outcome.pushPaused ? 1 : 0) | (outcome.popPaused ? 2 : 0));
      return true;
    case 'replayDeadLetter':
      writeReplay(writer, outcome);
      return true;
    default:
      throw new CodecError('outcome of an unknown kind');
  }
}

function readControl(reader: ByteReader, tag: number, command: Command): Outcome | undefined {
  switch (command.kind) {
    case 'seek': {
      if (tag !== TAG.seek) return undefined;
      const found = reader.u8() === 1;
      return { kind: 'seek', found, partitionsUpdated: reader.varint(), next: undefined };
    }
    case 'deleteGroup': {
      if (tag !== TAG.deleteGroup) return undefined;
      const cursorsDeleted = reader.varint();
      const registrationDeleted = reader.u8() === 1;
      return { kind: 'deleteGroup', cursorsDeleted, registrationDeleted, next: undefined };
    }
    case 'subscribe':
      if (tag !== TAG.subscribe) return undefined;
      return { kind: 'subscribe', queuesUpdated: reader.varint() };
    case 'purgeDeadLetters':
    case 'deleteDeadLetters':
      if (tag !== TAG.deletedDeadLetters) return undefined;
      return { kind: 'deletedDeadLetters', deleted: reader.varint(), next: undefined };
    case 'maintenance': {
      if (tag !== TAG.maintenance) return undefined;
      const flags = reader.u8();
      const pushPaused = (flags & 1) !== 0;
      return { kind: 'maintenance', pushPaused, popPaused: (flags & 2) !== 0 };
    }
    case 'replayDeadLetter':
      return tag === TAG.replayDeadLetter ? readReplay(reader) : undefined;
    default:
      return undefined;
  }
}

function writeTransaction(
  writer: ByteWriter,
  outcome: OutcomeOf<'transaction'>,
  {
    command,
    isSameCommand,
  }: {
    readonly command: TransactionCommand;
    readonly isSameCommand: boolean;
  },
): void {
  writeId(writer, outcome.transactionId);
  writer.varint(outcome.acks.length);
  for (const ack of outcome.acks) writeAckOutcome(writer, ack);
  writer.u8(outcome.push === undefined ? 0 : 1);
  if (outcome.push === undefined) return;
  writePushOutcome(writer, outcome.push, { command: pushOf(command), isSameCommand });
}

function readTransaction(reader: ByteReader, command: TransactionCommand): Outcome | undefined {
  const transactionId = readId(reader);
  if (reader.varint() !== command.acks.length) return undefined;
  const acks: AckOutcome[] = command.acks.map((ack) => readAckOutcome(reader, ack));
  const hasPush = reader.u8() === 1;
  if (hasPush !== (command.push !== undefined)) return undefined;
  let push: PushOutcome | undefined = undefined;
  if (hasPush) {
    push = readPushOutcome(reader, pushOf(command));
    if (push === undefined) return undefined;
  }
  return { kind: 'transaction', transactionId, acks, push };
}

function pushOf({ push }: TransactionCommand): PushCommand {
  if (push === undefined) throw new CodecError('the outcome of a push without a push');
  return push;
}

/** Only a moved letter has effects, so only that is ever written. */
function writeReplay(writer: ByteWriter, outcome: OutcomeOf<'replayDeadLetter'>): void {
  const { push } = outcome;
  if (push === undefined) throw new CodecError('a replay without a push');
  writeId(writer, outcome.id);
  writer.string(outcome.queue);
  writer.string(outcome.partition);
  writer.string(outcome.group);
  writer.string(outcome.originalTransactionId);
  writer.varint(push.offsets[0]!);
  for (let word = 0; word < 4; word += 1) writer.u32(push.messageIds[word]!);
}

function readReplay(reader: ByteReader): Outcome {
  return {
    kind: 'replayDeadLetter',
    id: readId(reader),
    result: 'moved',
    queue: reader.string(),
    partition: reader.string(),
    group: reader.string(),
    originalTransactionId: reader.string(),
    push: {
      kind: 'push',
      statuses: Uint8Array.of(0),
      offsets: Float64Array.of(reader.varint()),
      messageIds: Uint32Array.from(readId(reader)),
      errors: undefined,
    },
  };
}
