// One message by its address: where it lies, and what became of it (reference §10.2).

import { encodeUtf8, hash128, parseUuid } from '@queen-ts/base';
import { BLOCK_FLAG, ID_WORDS, QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { BlockReader, BlockSpan, QueueOptions } from '@queen-ts/protocol';
import { readDeadLetter } from '../admin/dead-letter-record.ts';
import { openBlock } from '../plan/blocks.ts';
import { spanOf, storedBlock } from '../plan/spans.ts';
import type { State } from '../state.ts';
import type { Readers } from './message-list.ts';
import { deadLetterAt, groupsAt, partitionStatus, statusAt } from './message-status.ts';
import type { MessageGroup, MessageStatus } from './message-status.ts';
import { BLOCK_READ_UNITS } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** Blocks that a search reads at most. */
const BLOCKS_SEARCHED_MAX = 4096;

/** A minted id tells its time; the clocks of nodes may differ by this much, in microseconds. */
const CLOCK_SKEW_US = 60_000_000;

/** One message. */
export interface MessageView {
  readonly queue: string;
  readonly options: QueueOptions;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly offset: number;
  /** Its address, one message long. */
  readonly span: BlockSpan;
  readonly status: MessageStatus;
  readonly groups: readonly MessageGroup[];
  readonly readers: Readers;
  /** Of its newest dead letter; undefined when it has none. */
  readonly failure: { readonly error: string; readonly retryCount: number } | undefined;
}

/** The address of a message as clients know it. */
export interface MessageAddress {
  /** Wire number of the partition. */
  readonly partition: number;
  readonly transactionId: string;
}

/**
 * Finds the first retained message of a partition with a transaction id. Reads the headers of 4,096
 * blocks at most; what it has not found by then is the first one whose id is remembered, if any.
 */
export function* readMessage(
  view: EngineView,
  address: MessageAddress,
): Read<MessageView | undefined> {
  const { state } = view;
  if (state.identity === undefined) return undefined;
  const id = encodeUtf8(address.transactionId);
  const words = new Uint32Array(ID_WORDS);
  hash128(state.identity.hashKey, id, 0, id.length, words, 0);
  const uuid = parseUuid(address.transactionId);
  const search: Search = {
    partition: address.partition,
    words,
    uuid: uuid === undefined ? undefined : Uint32Array.from(uuid),
  };
  const remembered = rememberedOffset(state, search);
  // The same id may also be stored before it was remembered: outside of the dedup window.
  const offset = (yield* searchedOffset(view, search, remembered ?? Infinity)) ?? remembered;
  if (offset === undefined) return undefined;
  const partition = yield* partitionStatus(view, address.partition);
  const row = state.partitions.numbers.get(address.partition);
  const queue = row === 0 ? undefined : state.queueOf(row);
  const record = row === 0 ? undefined : state.blocks.firstAtOrAfter(row, offset);
  if (queue === undefined || record === undefined || record.baseOffset > offset) {
    return undefined;
  }
  const groups = groupsAt(view, row, offset);
  return {
    queue: queue.name,
    options: queue.options,
    partition: state.partitions.names.nameText(row),
    partitionNumber: address.partition,
    offset,
    span: spanOf(record, offset - record.baseOffset, 1),
    status: statusAt(partition, offset),
    groups,
    readers: {
      hasQueueMode: groups.some((group) => group.name === QUEUE_MODE_GROUP),
      namedGroups: groups.filter((group) => group.name !== QUEUE_MODE_GROUP).length,
    },
    failure: failureOf(state, row, offset),
  };
}

interface Search {
  readonly partition: number;
  readonly words: Uint32Array;
  /** The id as a UUID if it is one: it may be a minted id. */
  readonly uuid: Uint32Array | undefined;
}

function rememberedOffset(state: State, search: Search): number | undefined {
  const { partitions, dedup, blocks } = state;
  const row = partitions.numbers.get(search.partition);
  if (row === 0 || state.queueOf(row) === undefined) return undefined;
  const count = dedup.find(search.partition, search.words, 0, 0);
  for (let i = 0; i < count; i += 1) {
    const offset = dedup.candidate(i);
    if (offset < partitions.logStart.get(row)) continue;
    const block = openBlock(state, storedBlock(blocks.firstAtOrAfter(row, offset), offset));
    if (block.keyEquals(offset - block.baseOffset, search.words, 0)) return offset;
  }
  return undefined;
}

/**
 * Walks the log: from where a minted id was stored, else from the start, to the block that holds
 * `offsetMax`, up to a bound.
 */
function* searchedOffset(
  view: EngineView,
  search: Search,
  offsetMax: number,
): Read<number | undefined> {
  const { blocks, partitions } = view.state;
  const { partition, uuid } = search;
  let fromUs = uuid === undefined ? 0 : earliestUs(uuid);
  let nextOffset = 0;
  for (let i = 0; i < BLOCKS_SEARCHED_MAX; i += 1) {
    const row = partitions.numbers.get(partition);
    if (row === 0 || view.state.queueOf(row) === undefined) return undefined;
    const record =
      (fromUs > 0 ? blocks.firstCreatedAtOrAfter(row, fromUs) : undefined) ??
      blocks.firstAtOrAfter(row, nextOffset);
    if (record === undefined || record.baseOffset > offsetMax) return undefined;
    const block = openBlock(view.state, record);
    const ordinal = ordinalOf(block, search);
    if (ordinal >= 0) return block.baseOffset + ordinal;
    fromUs = 0;
    nextOffset = block.baseOffset + block.count;
    if (view.spend(BLOCK_READ_UNITS + block.count)) yield;
  }
  return undefined;
}

/** Minted ids are UUIDs of version 7; others tell no time. */
function earliestUs(uuid: Uint32Array): number {
  if (((uuid[1]! >>> 12) & 0xf) !== 7) return 0;
  const ms = uuid[0]! * 0x1_0000 + (uuid[1]! >>> 16);
  return Math.max(0, ms * 1000 - CLOCK_SKEW_US);
}

function ordinalOf(block: BlockReader, search: Search): number {
  const mintedAt = search.uuid === undefined ? -1 : mintedOrdinal(block, search.uuid);
  if (mintedAt >= 0 || (block.flags & BLOCK_FLAG.ALL_MINTED) !== 0) return mintedAt;
  for (let ordinal = 0; ordinal < block.count; ordinal += 1) {
    if (block.keyEquals(ordinal, search.words, 0)) return ordinal;
  }
  return -1;
}

function mintedOrdinal(block: BlockReader, uuid: Uint32Array): number {
  const [a, b, c, d] = block.messageId(0);
  const ordinal = uuid[3]! - d;
  const isInside = a === uuid[0] && b === uuid[1] && c === uuid[2];
  if (!isInside || ordinal < 0 || ordinal >= block.count) return -1;
  return block.hasTransactionId(ordinal) ? -1 : ordinal;
}

function failureOf(state: State, row: number, offset: number): MessageView['failure'] {
  const letter = deadLetterAt(state, row, offset);
  if (letter === 0) return undefined;
  const { error } = readDeadLetter(state, letter);
  return { error, retryCount: state.deadLetters.retryCount.get(letter) };
}
