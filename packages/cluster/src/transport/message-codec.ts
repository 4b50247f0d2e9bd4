// Raft messages as bytes: a head of varints per message, entries' head and payload behind it as data,
// verbatim. Sender, addressee and incarnation are not written: they are facts of the authenticated
// connection. Byte tables: docs/format/peer-protocol.md.

import { assert, ByteWriter, CodecError, unreachable } from '@queen-ts/base';
import type { ByteReader } from '@queen-ts/base';
import { channelOf } from '@queen-ts/raft';
import type {
  AppendMessage,
  Entry,
  EntryType,
  Message,
  MessageHeader,
  NodeId,
} from '@queen-ts/raft';
import { FRAME_KIND } from './frame.ts';
import type { OutgoingMessage } from './frame-writer.ts';
import { IncomingData } from './incoming-data.ts';
import { readMembership, writeMembership } from './member-codec.ts';
import { FORMAT_LIMITS } from './transport-limits.ts';

const TAG = {
  voteRequest: 1,
  voteReply: 2,
  append: 3,
  appendReply: 4,
  heartbeat: 5,
  heartbeatReply: 6,
  snapshot: 7,
  timeoutNow: 8,
  identityConflict: 9,
} as const satisfies Record<Message['kind'], number>;

const ENTRY_TYPES: readonly EntryType[] = ['command', 'noop', 'membership'];

const FLAG_PRE_VOTE = 1;
const FLAG_TRANSFER = 2;
const FLAG_GRANTED = 2;
const FLAG_REJECTED = 1;

/** Room for any head but that of a long append. */
const HEAD_CAPACITY = 64;

/** What a connection knows about every message on it. */
export interface MessageParties {
  readonly from: NodeId;
  readonly to: NodeId;
  /** Of the sender's disk. */
  readonly incarnation: number;
}

/** A message whose buffers are still to be filled. */
export interface DecodedMessage {
  readonly message: Message;
  /** Complete once nothing is missing; until then nobody may see the message. */
  readonly data: IncomingData;
}

/** Encodes a message; the parts are the entries' own buffers. */
export function encodeMessage(message: Message): OutgoingMessage {
  const writer = new ByteWriter({ capacity: HEAD_CAPACITY });
  writer.u8(TAG[message.kind]);
  writer.varint(message.term);
  writeFields(writer, message);
  const parts = message.kind === 'append' ? entryParts(message.entries) : [];
  const dataSize = parts.reduce((size, part) => size + part.length, 0);
  assert(dataSize <= FORMAT_LIMITS.messageBytesMax, () => `message of ${dataSize} bytes of data`);
  const isControl = channelOf(message) === 'control';
  const kind = isControl ? FRAME_KIND.controlMessage : FRAME_KIND.bulkMessage;
  return { kind, head: writer.written(), parts, dataSize };
}

/**
 * Reads the head of a message. The reader may hold data behind it. Throws CodecError on anything
 * that no core would send: the frame was intact, so the peer is not what it claims to be.
 */
export function decodeMessage(reader: ByteReader, parties: MessageParties): DecodedMessage {
  const data = new IncomingData();
  const tag = reader.u8();
  const term = reader.varint();
  const message = readFields(reader, tag, { ...parties, term }, data);
  return { message, data };
}

/**
 * Splits an append that is more than one message may carry into consecutive ones, which mean the
 * same. An entry that does not fit alone is a bug: no log would have taken it.
 */
export function splitAppend(message: AppendMessage): AppendMessage[] {
  const pieces: AppendMessage[] = [];
  let { prevIndex, prevTerm } = message;
  let entries: Entry[] = [];
  let dataSize = 0;
  const finishPiece = (): void => {
    pieces.push({ ...message, prevIndex, prevTerm, entries });
    prevIndex = entries.at(-1)?.index ?? prevIndex;
    prevTerm = entries.at(-1)?.term ?? prevTerm;
    entries = [];
    dataSize = 0;
  };
  for (const entry of message.entries) {
    const size = entry.head.length + entry.payload.length;
    const isFull =
      entries.length === FORMAT_LIMITS.appendEntriesMax ||
      dataSize + size > FORMAT_LIMITS.messageBytesMax;
    if (isFull && entries.length > 0) finishPiece();
    entries.push(entry);
    dataSize += size;
  }
  finishPiece();
  return pieces;
}

function writeFields(writer: ByteWriter, message: Message): void {
  switch (message.kind) {
    case 'voteRequest':
      writer.u8(flag(message.preVote, FLAG_PRE_VOTE) | flag(message.transfer, FLAG_TRANSFER));
      writer.varint(message.lastIndex);
      return writer.varint(message.lastTerm);
    case 'voteReply':
      return writer.u8(flag(message.preVote, FLAG_PRE_VOTE) | flag(message.granted, FLAG_GRANTED));
    case 'append':
      return writeAppend(writer, message);
    case 'appendReply':
      writer.u8(flag(message.rejected, FLAG_REJECTED));
      writer.varint(message.index);
      writer.varint(message.hintIndex);
      return writer.varint(message.hintTerm);
    case 'heartbeat':
      return writer.varint(message.readRound);
    case 'heartbeatReply':
      writer.varint(message.readRound);
      return writer.varint(message.commitIndex);
    case 'snapshot':
      writer.varint(message.snapshot.index);
      writer.varint(message.snapshot.term);
      return writeMembership(writer, message.snapshot.membership);
    case 'timeoutNow':
      return;
    case 'identityConflict':
      return writer.varint(message.refusedIncarnation);
    default:
      return unreachable(message);
  }
}

function readFields(
  reader: ByteReader,
  tag: number,
  header: MessageHeader,
  data: IncomingData,
): Message {
  switch (tag) {
    case TAG.voteRequest: {
      const flags = readFlags(reader, FLAG_PRE_VOTE | FLAG_TRANSFER);
      return {
        ...header,
        kind: 'voteRequest',
        preVote: (flags & FLAG_PRE_VOTE) !== 0,
        transfer: (flags & FLAG_TRANSFER) !== 0,
        lastIndex: reader.varint(),
        lastTerm: reader.varint(),
      };
    }
    case TAG.voteReply: {
      const flags = readFlags(reader, FLAG_PRE_VOTE | FLAG_GRANTED);
      return {
        ...header,
        kind: 'voteReply',
        preVote: (flags & FLAG_PRE_VOTE) !== 0,
        granted: (flags & FLAG_GRANTED) !== 0,
      };
    }
    case TAG.append:
      return readAppend(reader, header, data);
    case TAG.appendReply:
      return {
        ...header,
        kind: 'appendReply',
        rejected: readFlags(reader, FLAG_REJECTED) !== 0,
        index: reader.varint(),
        hintIndex: reader.varint(),
        hintTerm: reader.varint(),
      };
    case TAG.heartbeat:
      return { ...header, kind: 'heartbeat', readRound: reader.varint() };
    case TAG.heartbeatReply:
      return {
        ...header,
        kind: 'heartbeatReply',
        readRound: reader.varint(),
        commitIndex: reader.varint(),
      };
    case TAG.snapshot: {
      const index = readPositive(reader, 'snapshot index');
      const term = readPositive(reader, 'snapshot term');
      const membership = readMembership(reader);
      return { ...header, kind: 'snapshot', snapshot: { index, term, membership } };
    }
    case TAG.timeoutNow:
      return { ...header, kind: 'timeoutNow' };
    case TAG.identityConflict:
      return { ...header, kind: 'identityConflict', refusedIncarnation: reader.varint() };
    default:
      throw new CodecError(`message tag ${tag}`);
  }
}

function writeAppend(writer: ByteWriter, message: AppendMessage): void {
  const { entries } = message;
  assert(entries.length <= FORMAT_LIMITS.appendEntriesMax, () => `${entries.length} entries`);
  writer.varint(message.prevIndex);
  writer.varint(message.prevTerm);
  writer.varint(message.commitIndex);
  writer.varint(entries.length);
  let { prevIndex, prevTerm } = message;
  for (const entry of entries) {
    assert(entry.index === prevIndex + 1, () => `entry ${entry.index} follows ${prevIndex}`);
    writer.u8(ENTRY_TYPES.indexOf(entry.type));
    writer.varint(entry.term - prevTerm);
    writer.varint(entry.head.length);
    writer.varint(entry.payload.length);
    prevIndex = entry.index;
    prevTerm = entry.term;
  }
}

function readAppend(reader: ByteReader, header: MessageHeader, data: IncomingData): Message {
  const prevIndex = reader.varint();
  const prevTerm = reader.varint();
  const commitIndex = reader.varint();
  const count = reader.varint();
  if ((prevIndex === 0) !== (prevTerm === 0)) throw new CodecError('term before the first entry');
  const isInBounds =
    count <= FORMAT_LIMITS.appendEntriesMax && Number.isSafeInteger(prevIndex + count);
  if (!isInBounds) throw new CodecError(`append of ${count} entries after ${prevIndex}`);
  const entries: Entry[] = [];
  let term = prevTerm;
  for (let i = 0; i < count; i++) {
    const type = ENTRY_TYPES[reader.u8()];
    term += reader.varint();
    if (type === undefined || term === 0 || term > header.term) {
      throw new CodecError(`entry of term ${term} in an append of term ${header.term}`);
    }
    entries.push(readEntry(reader, { term, index: prevIndex + 1 + i, type }, data));
  }
  return { ...header, kind: 'append', prevIndex, prevTerm, entries, commitIndex };
}

function readEntry(
  reader: ByteReader,
  place: Pick<Entry, 'term' | 'index' | 'type'>,
  data: IncomingData,
): Entry {
  const headSize = reader.varint();
  const payloadSize = reader.varint();
  // Head and payload of an entry live and die together, so they share a buffer.
  const bytes = data.expect(headSize + payloadSize);
  return { ...place, head: bytes.subarray(0, headSize), payload: bytes.subarray(headSize) };
}

function entryParts(entries: readonly Entry[]): Uint8Array[] {
  return entries.flatMap(({ head, payload }) => [head, payload]);
}

function flag(isSet: boolean, value: number): number {
  return isSet ? value : 0;
}

function readFlags(reader: ByteReader, known: number): number {
  const flags = reader.u8();
  if ((flags & ~known) !== 0) throw new CodecError(`flags ${flags}`);
  return flags;
}

function readPositive(reader: ByteReader, what: string): number {
  const value = reader.varint();
  if (value === 0) throw new CodecError(`${what} 0`);
  return value;
}
