// Partitions in the order of their wire numbers, each followed by its cursors. Numbers
// and times are distances to what came before, so that a usual partition takes about 45 bytes.

import { assert, CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { readTime, writeTime } from '@queen-ts/protocol';
import type { FrozenPartitions } from '../partitions.ts';
import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import type { BlockTail, FrozenTails } from '../tables/block-tails.ts';
import { RECORD } from './format.ts';

/** The partition before: distances start there. */
export interface PartitionBefore {
  number: number;
  createdUs: number;
}

/** What a partition is written from. */
export interface FrozenRows {
  readonly partitions: FrozenPartitions;
  readonly blocks: FrozenTails;
}

/** Writes the row of a partition and of its blocks. */
export function writePartition(
  writer: ByteWriter,
  { partitions, blocks }: FrozenRows,
  row: number,
  before: PartitionBefore,
): void {
  const number = partitions.number.get(row);
  const createdUs = partitions.createdUs.get(row);
  const lastAppendUs = partitions.lastAppendUs.get(row);
  const logStart = partitions.logStart.get(row);
  const nameLength = partitions.names.nameLength(row);
  writer.u8(RECORD.PARTITION);
  writer.varint(number - before.number);
  writer.varint(partitions.queue.get(row));
  writer.varint(nameLength);
  const nameAt = writer.reserve(nameLength);
  partitions.names.copyName(row, writer.bytes, nameAt);
  writer.varint(partitions.ordinal.get(row));
  writer.varint(logStart);
  writer.varint(partitions.tail.get(row) - logStart);
  writer.varint(partitions.retainedBytes.get(row));
  writeTime(writer, createdUs, before.createdUs);
  writer.u8(lastAppendUs === 0 ? 0 : 1);
  if (lastAppendUs !== 0) writeTime(writer, lastAppendUs, createdUs);
  writeTime(writer, partitions.activeUs.get(row), createdUs);
  const tail = partitions.tail.get(row);
  if (tail > logStart) writeTail(writer, tailOf(blocks, row), { tail, createdUs });
  before.number = number;
  before.createdUs = createdUs;
}

function tailOf(blocks: FrozenTails, row: number): BlockTail {
  const tail = blocks.get(row);
  assert(tail !== undefined, () => `partition row ${row} has messages without a block`);
  return tail;
}

/** Writes where the newest block of a partition with messages lies, and its newest page. */
function writeTail(
  writer: ByteWriter,
  blocks: BlockTail,
  at: { readonly tail: number; readonly createdUs: number },
): void {
  const { newest, number, retained, oldestUs, page } = blocks;
  writer.varint(retained);
  writer.varint(number);
  writeTime(writer, oldestUs, at.createdUs);
  writer.varint(newest.entryIndex);
  writer.varint(newest.blockStart);
  writer.varint(newest.blockSize);
  writer.varint(newest.count);
  writer.u8(page === undefined ? 0 : 1);
  if (page === undefined) return;
  writer.varint(newest.entryIndex - page.entryIndex);
  writer.varint(page.blockStart);
  writer.varint(page.blockSize);
  writer.varint(page.count);
  writer.varint(at.tail - page.baseOffset);
  writeTime(writer, page.createdUs, at.createdUs);
}

function readTail(
  reader: ByteReader,
  at: { readonly tail: number; readonly createdUs: number },
): BlockTail {
  const retained = reader.varint();
  const number = reader.varint();
  const oldestUs = readTime(reader, at.createdUs);
  const entryIndex = reader.varint();
  const newest = {
    entryIndex,
    blockStart: reader.varint(),
    blockSize: reader.varint(),
    count: reader.varint(),
  };
  if (reader.u8() === 0) return { newest, number, retained, oldestUs, page: undefined };
  const page = {
    entryIndex: entryIndex - reader.varint(),
    blockStart: reader.varint(),
    blockSize: reader.varint(),
    count: reader.varint(),
    baseOffset: at.tail - reader.varint(),
    createdUs: readTime(reader, at.createdUs),
  };
  return { newest, number, retained, oldestUs, page };
}

/** Reads partitions into a state. */
export class PartitionReader {
  readonly #state: State;
  readonly #before: PartitionBefore;
  /** The partition that cursors belong to. */
  #row = 0;
  #blockCount = 0;

  /** The state has its time already. */
  constructor(state: State) {
    this.#state = state;
    this.#before = { number: 0, createdUs: state.nowUs };
  }

  /** Blocks of the partitions read so far. */
  get blockCount(): number {
    return this.#blockCount;
  }

  /** Row of the partition read last, 0 before the first. */
  get row(): number {
    return this.#row;
  }

  /** Reads the fields of a partition after the kind byte; `bytes` is what the reader reads. */
  partition(reader: ByteReader, bytes: Uint8Array): void {
    const { partitions, queues, nextPartition } = this.#state;
    const number = this.#before.number + reader.varint();
    const queueNumber = reader.varint();
    const queue = queues.get(queueNumber);
    const isSound = number > this.#before.number && number < nextPartition;
    if (queue === undefined || !isSound) {
      throw new CodecError(`partition ${number} of queue ${queueNumber}`);
    }
    const nameLength = reader.varint();
    const nameStart = reader.skip(nameLength);
    const ordinal = reader.varint();
    const logStart = reader.varint();
    const retained = reader.varint();
    const retainedBytes = reader.varint();
    const createdUs = readTime(reader, this.#before.createdUs);
    const lastAppendUs = reader.u8() === 0 ? 0 : readTime(reader, createdUs);
    const row = partitions.restore({
      number,
      queue: queueNumber,
      bytes,
      nameStart,
      nameLength,
      ordinal,
      createdUs,
    });
    partitions.logStart.set(row, logStart);
    partitions.tail.set(row, logStart + retained);
    partitions.retainedBytes.set(row, retainedBytes);
    partitions.lastAppendUs.set(row, lastAppendUs);
    partitions.activeUs.set(row, readTime(reader, createdUs));
    queue.partitions.restore(ordinal, row);
    queue.newestAppendUs = Math.max(queue.newestAppendUs, lastAppendUs);
    queue.retainedMessages += retained;
    queue.retainedBytes += retainedBytes;
    this.#before.number = number;
    this.#before.createdUs = createdUs;
    this.#row = row;
    if (retained > 0) this.#blocks(reader, queue, retained);
  }
  /** Where the blocks of the partition are; its row is set already. */
  #blocks(reader: ByteReader, queue: QueueState, messages: number): void {
    const { blocks, partitions } = this.#state;
    const row = this.#row;
    const at = { tail: partitions.tail.get(row), createdUs: partitions.createdUs.get(row) };
    const tail = readTail(reader, at);
    const { newest, page, oldestUs, retained } = tail;
    const isSound =
      newest.count >= 1 &&
      retained >= 1 &&
      newest.count + retained - 1 <= messages &&
      oldestUs <= partitions.lastAppendUs.get(row) &&
      (page === undefined || page.baseOffset >= partitions.logStart.get(row));
    if (!isSound) throw new CodecError(`${retained} blocks of partition ${this.#before.number}`);
    blocks.tails.restore(row, tail);
    queue.retainedBlocks += retained;
    this.#blockCount += retained;
  }
}
