// The byte form of one effect: a tag byte (`EFFECT`), then its fields in the order of its interface.
// Integers are varints; times are zigzag varints relative to the entry's `nowUs`; ids are four u32;
// texts are a varint size and UTF-8. docs/format/entry.md has the table.

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import type { Id128 } from '../commands.ts';
import { readCursorPut, writeCursorPut } from './cursor-codec.ts';
import { EFFECT, GROUP_MODE } from './effects.ts';
import type {
  AppendEffect,
  DeadLetterPutEffect,
  Effect,
  GroupMode,
  GroupPutEffect,
  LogStartEffect,
  MaintenanceEffect,
  PartitionPutEffect,
  QueuePutEffect,
} from './effects.ts';
import { readId, readTime, writeId, writeTime } from './fields.ts';
import { readQueueOptions, writeQueueOptions } from './options-codec.ts';

const MAINTENANCE_FLAG = { PUSH: 1, POP: 2 } as const;
const GROUP_FLAG = { REGISTERED: 1, CONFLATION: 2 } as const;

/** Writes one effect. Times are relative to `nowUs`. */
export function writeEffect(writer: ByteWriter, effect: Effect, nowUs: number): void {
  writer.u8(effect.kind);
  switch (effect.kind) {
    case EFFECT.GENESIS:
      writeId(writer, effect.clusterId);
      return writeId(writer, effect.hashKey);
    case EFFECT.QUEUE_PUT:
      return writeQueuePut(writer, effect, nowUs);
    case EFFECT.QUEUE_DELETE:
      return writer.varint(effect.queue);
    case EFFECT.PARTITION_PUT:
      return writePartitionPut(writer, effect);
    case EFFECT.PARTITION_DELETE:
      return writer.varint(effect.partition);
    case EFFECT.APPEND:
      return writeAppend(writer, effect, nowUs);
    case EFFECT.LOG_START:
      return writeLogStart(writer, effect, nowUs);
    case EFFECT.GROUP_PUT:
      return writeGroupPut(writer, effect, nowUs);
    case EFFECT.GROUP_DELETE:
      return writer.varint(effect.group);
    case EFFECT.CURSOR_PUT:
      return writeCursorPut(writer, effect, nowUs);
    case EFFECT.CURSOR_DELETE:
      writer.varint(effect.partition);
      return writer.varint(effect.group);
    case EFFECT.DEAD_LETTER_PUT:
      return writeDeadLetterPut(writer, effect, nowUs);
    case EFFECT.DEAD_LETTER_DELETE:
      return writer.varint(effect.deadLetter);
    case EFFECT.MAINTENANCE:
      return writeMaintenance(writer, effect);
    default:
      throw new CodecError('effect of an unknown kind');
  }
}

/** Reads one effect; names stay views of the buffer. Throws CodecError on anything else. */
export function readEffect(reader: ByteReader, nowUs: number): Effect {
  const kind = reader.u8();
  switch (kind) {
    case EFFECT.GENESIS:
      return { kind, clusterId: readId(reader), hashKey: readId(reader) };
    case EFFECT.QUEUE_PUT:
      return readQueuePut(reader, nowUs);
    case EFFECT.QUEUE_DELETE:
      return { kind, queue: reader.varint() };
    case EFFECT.PARTITION_PUT:
      return { kind, queue: reader.varint(), name: reader.raw(reader.varint()) };
    case EFFECT.PARTITION_DELETE:
      return { kind, partition: reader.varint() };
    case EFFECT.APPEND:
      return readAppend(reader, nowUs);
    case EFFECT.LOG_START:
      return readLogStart(reader, nowUs);
    case EFFECT.GROUP_PUT:
      return readGroupPut(reader, nowUs);
    case EFFECT.GROUP_DELETE:
      return { kind, group: reader.varint() };
    case EFFECT.CURSOR_PUT:
      return readCursorPut(reader, nowUs);
    case EFFECT.CURSOR_DELETE:
      return { kind, partition: reader.varint(), group: reader.varint() };
    case EFFECT.DEAD_LETTER_PUT:
      return readDeadLetterPut(reader, nowUs);
    case EFFECT.DEAD_LETTER_DELETE:
      return { kind, deadLetter: reader.varint() };
    case EFFECT.MAINTENANCE:
      return readMaintenance(reader);
    default:
      throw new CodecError(`unknown effect ${kind}`);
  }
}

function writeQueuePut(writer: ByteWriter, effect: QueuePutEffect, nowUs: number): void {
  writer.varint(effect.queue);
  writer.string(effect.name);
  writeId(writer, effect.id);
  writeTime(writer, effect.createdUs, nowUs);
  writeQueueOptions(writer, effect.options);
}

function readQueuePut(reader: ByteReader, nowUs: number): QueuePutEffect {
  const queue = reader.varint();
  const name = reader.string();
  const id: Id128 = readId(reader);
  const createdUs = readTime(reader, nowUs);
  return { kind: EFFECT.QUEUE_PUT, queue, name, id, createdUs, options: readQueueOptions(reader) };
}

function writePartitionPut(writer: ByteWriter, effect: PartitionPutEffect): void {
  writer.varint(effect.queue);
  writer.varint(effect.name.length);
  writer.raw(effect.name);
}

function writeAppend(writer: ByteWriter, effect: AppendEffect, nowUs: number): void {
  writer.varint(effect.partition);
  writer.varint(effect.baseOffset);
  writer.varint(effect.count);
  writeTime(writer, effect.createdUs, nowUs);
  writer.varint(effect.blockStart);
  writer.varint(effect.blockSize);
}

function readAppend(reader: ByteReader, nowUs: number): AppendEffect {
  return {
    kind: EFFECT.APPEND,
    partition: reader.varint(),
    baseOffset: reader.varint(),
    count: reader.varint(),
    createdUs: readTime(reader, nowUs),
    blockStart: reader.varint(),
    blockSize: reader.varint(),
  };
}

function writeLogStart(writer: ByteWriter, effect: LogStartEffect, nowUs: number): void {
  writer.varint(effect.partition);
  writer.varint(effect.offset);
  writer.varint(effect.retainedBlocks);
  writer.varint(effect.retainedBytes);
  if (effect.retainedBlocks > 0) writeTime(writer, effect.oldestUs, nowUs);
}

function readLogStart(reader: ByteReader, nowUs: number): LogStartEffect {
  const partition = reader.varint();
  const offset = reader.varint();
  const retainedBlocks = reader.varint();
  const retainedBytes = reader.varint();
  const oldestUs = retainedBlocks > 0 ? readTime(reader, nowUs) : 0;
  return { kind: EFFECT.LOG_START, partition, offset, retainedBlocks, retainedBytes, oldestUs };
}

function writeGroupPut(writer: ByteWriter, effect: GroupPutEffect, nowUs: number): void {
  writer.varint(effect.group);
  writer.varint(effect.queue);
  writer.string(effect.name);
  writer.u8(
    (effect.registered ? GROUP_FLAG.REGISTERED : 0) |
      (effect.conflation ? GROUP_FLAG.CONFLATION : 0),
  );
  writeTime(writer, effect.registeredUs, nowUs);
  writer.u8(effect.mode);
  if (effect.mode !== GROUP_MODE.ALL) writeTime(writer, effect.fromUs, nowUs);
}

function readGroupPut(reader: ByteReader, nowUs: number): GroupPutEffect {
  const group = reader.varint();
  const queue = reader.varint();
  const name = reader.string();
  const flags = reader.u8();
  if (flags > 3) throw new CodecError(`group flags ${flags}`);
  const registeredUs = readTime(reader, nowUs);
  const mode = reader.u8();
  if (!isGroupMode(mode)) throw new CodecError(`group mode ${mode}`);
  return {
    kind: EFFECT.GROUP_PUT,
    group,
    queue,
    name,
    registered: (flags & GROUP_FLAG.REGISTERED) !== 0,
    registeredUs,
    mode,
    fromUs: mode === GROUP_MODE.ALL ? 0 : readTime(reader, nowUs),
    conflation: (flags & GROUP_FLAG.CONFLATION) !== 0,
  };
}

function isGroupMode(mode: number): mode is GroupMode {
  return mode <= GROUP_MODE.FROM;
}

function writeDeadLetterPut(writer: ByteWriter, effect: DeadLetterPutEffect, nowUs: number): void {
  writer.varint(effect.deadLetter);
  writer.varint(effect.partition);
  writer.varint(effect.group);
  writer.varint(effect.offset);
  writer.varint(effect.retryCount);
  writeTime(writer, effect.failedUs, nowUs);
  writer.varint(effect.recordStart);
  writer.varint(effect.blockSize);
  writer.varint(effect.recordSize);
}

function readDeadLetterPut(reader: ByteReader, nowUs: number): DeadLetterPutEffect {
  return {
    kind: EFFECT.DEAD_LETTER_PUT,
    deadLetter: reader.varint(),
    partition: reader.varint(),
    group: reader.varint(),
    offset: reader.varint(),
    retryCount: reader.varint(),
    failedUs: readTime(reader, nowUs),
    recordStart: reader.varint(),
    blockSize: reader.varint(),
    recordSize: reader.varint(),
  };
}

function writeMaintenance(writer: ByteWriter, effect: MaintenanceEffect): void {
  writer.u8(
    (effect.pushPaused ? MAINTENANCE_FLAG.PUSH : 0) | (effect.popPaused ? MAINTENANCE_FLAG.POP : 0),
  );
}

function readMaintenance(reader: ByteReader): MaintenanceEffect {
  const flags = reader.u8();
  if (flags > 3) throw new CodecError(`maintenance flags ${flags}`);
  return {
    kind: EFFECT.MAINTENANCE,
    pushPaused: (flags & MAINTENANCE_FLAG.PUSH) !== 0,
    popPaused: (flags & MAINTENANCE_FLAG.POP) !== 0,
  };
}
