// Partitions in the order of their wire numbers, each followed by its cursors and its blocks. Numbers
// and times are distances to what came before, so that a usual partition takes about 30 bytes.

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { readTime, writeTime } from '@queen-ts/protocol';
import type { FrozenPartitions } from '../partitions.ts';
import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import type { FrozenBlocks } from '../tables/block-index.ts';
import { RECORD } from './format.ts';

/** Blocks in one record. */
const BLOCKS_PER_RECORD = 1024;

/** The partition before: distances start there. */
export interface PartitionBefore {
  number: number;
  createdUs: number;
}

/** Writes the row of a partition. */
export function writePartition(
  writer: ByteWriter,
  partitions: FrozenPartitions,
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
  before.number = number;
  before.createdUs = createdUs;
}

/**
 * Writes blocks of a partition from `record` on, at most {@link BLOCKS_PER_RECORD}, and returns the
 * first that is left, or 0. Base offsets follow from the log start: blocks have no gaps.
 */
export function writeBlocks(
  writer: ByteWriter,
  blocks: FrozenBlocks,
  at: { readonly row: number; readonly record: number; readonly nowUs: number },
): number {
  const records: number[] = [];
  let record = at.record;
  for (; record !== 0 && records.length < BLOCKS_PER_RECORD; record = blocks.next(at.row, record)) {
    records.push(record);
  }
  writer.u8(RECORD.BLOCKS);
  writer.varint(records.length);
  let beforeUs = at.nowUs;
  let beforeIndex = 0;
  for (const each of records) {
    const createdUs = blocks.createdUs.get(each);
    const entryIndex = blocks.entryIndex.get(each);
    writer.varint(blocks.count.get(each));
    writer.varint(entryIndex - beforeIndex);
    writer.varint(blocks.blockStart.get(each));
    writer.varint(blocks.blockSize.get(each));
    writeTime(writer, createdUs, beforeUs);
    beforeUs = createdUs;
    beforeIndex = entryIndex;
  }
  return record;
}

/** Reads partitions and blocks into a state. */
export class PartitionReader {
  readonly #state: State;
  readonly #before: PartitionBefore;
  /** The partition that cursors and blocks belong to, its queue, and where its next block begins. */
  #row = 0;
  #queue: QueueState | undefined;
  #blocksEnd = 0;

  /** The state has its time already. */
  constructor(state: State) {
    this.#state = state;
    this.#before = { number: 0, createdUs: state.nowUs };
  }

  /** Row of the partition read last, 0 before the first. */
  get row(): number {
    return this.#row;
  }

  /** Reads the fields of a partition after the kind byte; `bytes` is what the reader reads. */
  partition(reader: ByteReader, bytes: Uint8Array): void {
    this.finish();
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
    this.#queue = queue;
    this.#blocksEnd = logStart;
  }

  /** Reads the fields of some blocks after the kind byte; returns how many. */
  blocks(reader: ByteReader): number {
    const { blocks, nowUs } = this.#state;
    const queue = this.#queue;
    if (queue === undefined) throw new CodecError('blocks of no partition');
    const count = reader.varint();
    let createdUs = nowUs;
    let entryIndex = 0;
    for (let i = 0; i < count; i += 1) {
      const messages = reader.varint();
      entryIndex += reader.varint();
      const blockStart = reader.varint();
      const blockSize = reader.varint();
      createdUs = readTime(reader, createdUs);
      blocks.append(this.#row, {
        baseOffset: this.#blocksEnd,
        count: messages,
        entryIndex,
        blockStart,
        blockSize,
        createdUs,
      });
      this.#blocksEnd += messages;
    }
    queue.retainedBlocks += count;
    return count;
  }

  /** Checks that the last partition's blocks reach its tail. */
  finish(): void {
    if (this.#row === 0) return;
    const tail = this.#state.partitions.tail.get(this.#row);
    if (this.#blocksEnd === tail) return;
    throw new CodecError(`blocks to ${this.#blocksEnd} of partition ${this.#before.number}`);
  }
}
