// One message by its address: where it lies, and what became of it (reference §10).

import { encodeUtf8, hash128, parseUuid } from '@queen-ts/base';
import { BLOCK_FLAG, ID_WORDS, QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { BlockReader, BlockSpan } from '@queen-ts/protocol';
import { openBlock } from '../plan/blocks.ts';
import type { State } from '../state.ts';

/** Blocks that a search reads at most. */
const BLOCKS_SEARCHED_MAX = 4096;

/** A minted id tells its time; the clocks of nodes may differ by this much, in microseconds. */
const CLOCK_SKEW_US = 60_000_000;

/** What became of a message, over all groups; the first that applies. */
export type MessageStatus = 'dead_letter' | 'completed' | 'processing' | 'pending';

/** Where one group stands in the message's partition. */
export interface MessageGroup {
  readonly name: string;
  /** Last acked offset, -1 for none. */
  readonly committed: number;
  readonly isConsumed: boolean;
  /** End of a live lease in the partition, else undefined. */
  readonly leaseExpiresUs: number | undefined;
}

/** One message. */
export interface MessageView {
  readonly queue: string;
  readonly partition: string;
  readonly offset: number;
  /** Its address, one message long. */
  readonly span: BlockSpan;
  readonly status: MessageStatus;
  readonly groups: readonly MessageGroup[];
}

/** Finds the first message of a partition with the transaction id; undefined if none is retained. */
export function findMessage(
  state: State,
  address: { readonly partition: number; readonly transactionId: string; readonly nowUs: number },
): MessageView | undefined {
  const row = state.partitions.numbers.get(address.partition);
  const queue = row === 0 ? undefined : state.queueOf(row);
  if (queue === undefined || state.identity === undefined) return undefined;
  const id = encodeUtf8(address.transactionId);
  const words = new Uint32Array(ID_WORDS);
  hash128(state.identity.hashKey, id, 0, id.length, words, 0);
  const uuid = parseUuid(address.transactionId);
  const search = { row, words, uuid: uuid === undefined ? undefined : Uint32Array.from(uuid) };
  const offset = rememberedOffset(state, search) ?? searchedOffset(state, search);
  if (offset === undefined) return undefined;
  const groups = groupsOf(state, row, offset, address.nowUs);
  return {
    queue: queue.name,
    partition: state.partitions.names.nameText(row),
    offset,
    span: spanOf(state, row, offset),
    status: statusOf(state, row, offset, groups),
    groups,
  };
}

interface Search {
  readonly row: number;
  readonly words: Uint32Array;
  /** The id as a UUID if it is one: it may be a minted id. */
  readonly uuid: Uint32Array | undefined;
}

function rememberedOffset(state: State, search: Search): number | undefined {
  const { partitions, dedup, blocks } = state;
  const count = dedup.find(partitions.number.get(search.row), search.words, 0, 0);
  for (let i = 0; i < count; i += 1) {
    const offset = dedup.candidate(i);
    if (offset < partitions.logStart.get(search.row)) continue;
    const block = openBlock(state, blocks.firstAtOrAfter(search.row, offset));
    if (block.keyEquals(offset - block.baseOffset, search.words, 0)) return offset;
  }
  return undefined;
}

/** Walks the log: from where a minted id was stored, else from the start, up to a bound. */
function searchedOffset(state: State, search: Search): number | undefined {
  const { blocks } = state;
  const { row, uuid } = search;
  let record = uuid === undefined ? 0 : blocks.firstCreatedAtOrAfter(row, earliestUs(uuid));
  if (record === 0) record = blocks.head(row);
  for (let i = 0; i < BLOCKS_SEARCHED_MAX && record !== 0; i += 1) {
    const block = openBlock(state, record);
    const ordinal = ordinalOf(block, search);
    if (ordinal >= 0) return block.baseOffset + ordinal;
    record = blocks.next(row, record);
  }
  return undefined;
}

function earliestUs(uuid: Uint32Array): number {
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

function spanOf(state: State, row: number, offset: number): BlockSpan {
  const { blocks } = state;
  const record = blocks.firstAtOrAfter(row, offset);
  const baseOffset = blocks.baseOffset(record);
  return {
    entryIndex: blocks.entryIndex(record),
    blockStart: blocks.blockStart(record),
    blockSize: blocks.blockSize(record),
    baseOffset,
    first: offset - baseOffset,
    count: 1,
  };
}

function groupsOf(state: State, row: number, offset: number, nowUs: number): MessageGroup[] {
  const { cursors } = state;
  const groups: MessageGroup[] = [];
  for (const group of state.queueOf(row)?.groups ?? []) {
    const cursor = cursors.find(row, group.number);
    if (cursor === 0) continue;
    const next = cursors.next.get(cursor);
    const isLeased = cursors.isLeased(cursor, nowUs);
    groups.push({
      name: group.name,
      committed: next - 1,
      isConsumed: next > offset,
      leaseExpiresUs: isLeased ? cursors.leaseExpiresUs.get(cursor) : undefined,
    });
  }
  return groups;
}

/** Named groups decide where there are any, else queue mode; a lease counts for the partition. */
function statusOf(
  state: State,
  row: number,
  offset: number,
  groups: readonly MessageGroup[],
): MessageStatus {
  const { deadLetters } = state;
  for (let letter = deadLetters.newestOf(row); letter !== 0; letter = deadLetters.olderOf(letter)) {
    if (deadLetters.offset.get(letter) === offset) return 'dead_letter';
  }
  const named = groups.filter((group) => group.name !== QUEUE_MODE_GROUP);
  const deciding = named.length > 0 ? named : groups;
  if (deciding.length > 0 && deciding.every((group) => group.isConsumed)) return 'completed';
  return groups.some((group) => group.leaseExpiresUs !== undefined) ? 'processing' : 'pending';
}
