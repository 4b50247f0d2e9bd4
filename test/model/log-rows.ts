// The rows that the log's entries add up to, decoded from their effects: what any replica must hold.
// Plain maps, no rules: only «put replaces, delete removes».

import { decodeUtf8, formatUuid } from '@queen-ts/base';
import { BLOCK_FRAME, BlockReader, EFFECT, EntryHeadReader, MINTED_TXN } from '@queen-ts/protocol';
import type {
  AppendEffect,
  BlockSpan,
  CursorPutEffect,
  DeadLetterPutEffect,
  Effect,
  GroupPutEffect,
  PayloadReader,
  QueuePutEffect,
} from '@queen-ts/protocol';

/** One message as stored. */
export interface StoredMessage {
  readonly offset: number;
  readonly id: string;
  readonly txn: string | null;
  readonly payload: string;
}

/** One append block with its bytes decoded. */
export interface BlockRow {
  readonly baseOffset: number;
  readonly count: number;
  readonly createdUs: number;
  readonly blockSize: number;
  readonly producerSub: string | null;
  readonly messages: readonly StoredMessage[];
}

/** One partition. */
export interface PartitionRow {
  readonly number: number;
  readonly queue: number;
  readonly name: string;
  readonly blocks: BlockRow[];
  logStart: number;
}

/** One dead letter with its record decoded. */
export interface DeadLetterRow extends DeadLetterPutEffect {
  readonly message: StoredMessage;
  readonly error: string;
}

/** Reads consecutive messages of a block. */
export function readSpan(payloads: PayloadReader, span: BlockSpan): StoredMessage[] {
  const block = new BlockReader(payloads, span);
  const { bytes, spans } = block.frames(span.first, span.count);
  return Array.from({ length: span.count }, (_, i) => {
    const [txnStart, txnLength, start, length] = spans.subarray(i * BLOCK_FRAME.WIDTH);
    const isMinted = txnLength === MINTED_TXN;
    return {
      offset: span.baseOffset + span.first + i,
      id: formatUuid(block.messageId(span.first + i)),
      txn: isMinted ? null : textOf(bytes, txnStart!, txnLength!),
      payload: textOf(bytes, start!, length!),
    };
  });
}

function textOf(bytes: Uint8Array, start: number, length: number): string {
  const text = decodeUtf8(bytes, start, start + length);
  if (text === undefined) throw new Error(`stored bytes [${start}, +${length}) are not UTF-8`);
  return text;
}

/** The rows after the entries applied so far. */
export class LogRows {
  readonly queues = new Map<number, QueuePutEffect>();
  readonly groups = new Map<number, GroupPutEffect>();
  /** Names of all groups that ever were: dead letters outlive their group. */
  readonly groupNames = new Map<number, string>();
  readonly partitions = new Map<number, PartitionRow>();
  /** By `partition/group`. */
  readonly cursors = new Map<string, CursorPutEffect>();
  readonly deadLetters = new Map<number, DeadLetterRow>();
  paused = { push: false, pop: false };
  readonly #payloads: PayloadReader;
  #nextPartition = 0;

  constructor(payloads: PayloadReader) {
    this.#payloads = payloads;
  }

  /** Applies one entry; its payload is readable already. */
  apply(entry: { readonly index: number; readonly head: Uint8Array }): void {
    const reader = new EntryHeadReader(entry.head);
    this.#nextPartition = reader.firstPartition;
    for (let effect = reader.next(); effect !== undefined; effect = reader.next()) {
      this.#effect(entry.index, effect);
    }
  }

  #effect(index: number, effect: Effect): void {
    switch (effect.kind) {
      case EFFECT.GENESIS:
        return;
      case EFFECT.QUEUE_PUT:
        this.queues.set(effect.queue, effect);
        return;
      case EFFECT.QUEUE_DELETE:
        this.queues.delete(effect.queue);
        return;
      case EFFECT.PARTITION_PUT:
        this.#putPartition(effect.queue, effect.name);
        return;
      case EFFECT.PARTITION_DELETE:
        this.#deletePartition(effect.partition);
        return;
      case EFFECT.APPEND:
        this.#append(index, effect);
        return;
      case EFFECT.LOG_START:
        this.#partition(effect.partition).logStart = effect.offset;
        return;
      case EFFECT.GROUP_PUT:
        this.groups.set(effect.group, effect);
        this.groupNames.set(effect.group, effect.name);
        return;
      case EFFECT.GROUP_DELETE:
        this.#deleteGroup(effect.group);
        return;
      case EFFECT.CURSOR_PUT:
        this.cursors.set(`${effect.partition}/${effect.group}`, effect);
        return;
      case EFFECT.CURSOR_DELETE:
        this.cursors.delete(`${effect.partition}/${effect.group}`);
        return;
      case EFFECT.DEAD_LETTER_PUT:
        this.#putDeadLetter(index, effect);
        return;
      case EFFECT.MAINTENANCE:
        this.paused = { push: effect.pushPaused, pop: effect.popPaused };
        return;
      case EFFECT.DEAD_LETTER_DELETE:
        this.deadLetters.delete(effect.deadLetter);
        return;
    }
  }

  #partition(number: number): PartitionRow {
    const row = this.partitions.get(number);
    if (row === undefined)
      throw new Error(`an effect names partition ${number}, which is not there`);
    return row;
  }

  #putPartition(queue: number, name: Uint8Array): void {
    const number = this.#nextPartition;
    this.#nextPartition += 1;
    const row = { number, queue, name: textOf(name, 0, name.length), blocks: [], logStart: 0 };
    this.partitions.set(number, row);
  }

  #deletePartition(number: number): void {
    this.partitions.delete(number);
    for (const [key, { partition }] of this.cursors) {
      if (partition === number) this.cursors.delete(key);
    }
    for (const [key, { partition }] of this.deadLetters) {
      if (partition === number) this.deadLetters.delete(key);
    }
  }

  #deleteGroup(number: number): void {
    this.groups.delete(number);
    for (const [key, { group }] of this.cursors) {
      if (group === number) this.cursors.delete(key);
    }
  }

  #append(entryIndex: number, effect: AppendEffect): void {
    const { blockStart, blockSize, baseOffset, count, createdUs } = effect;
    const address = { entryIndex, blockStart, blockSize };
    const block = new BlockReader(this.#payloads, address);
    const stated = [block.baseOffset, block.count, block.createdUs, block.partitionNumber];
    if (stated.join() !== [baseOffset, count, createdUs, effect.partition].join()) {
      throw new Error(`a block says ${stated.join()}, its effect ${JSON.stringify(effect)}`);
    }
    const messages = readSpan(this.#payloads, { ...address, baseOffset, first: 0, count });
    const { producerSub } = block;
    const row = { baseOffset, count, createdUs, blockSize, producerSub, messages };
    this.#partition(effect.partition).blocks.push(row);
  }

  #putDeadLetter(entryIndex: number, effect: DeadLetterPutEffect): void {
    const { recordStart, blockSize, recordSize, offset } = effect;
    const address = { entryIndex, blockStart: recordStart, blockSize };
    const span = { ...address, baseOffset: offset, first: 0, count: 1 };
    const [message] = readSpan(this.#payloads, span);
    const range = {
      index: entryIndex,
      from: recordStart + blockSize,
      toExclusive: recordStart + recordSize,
    };
    const error = textOf(this.#payloads.payload(range), 0, recordSize - blockSize);
    this.deadLetters.set(effect.deadLetter, { ...effect, message: message!, error });
  }
}
