// The listing of messages and the view of one (data-plane reference §10).

import { encodeUtf8, formatTimestampMs, formatTimestampUs, hash128 } from '@queen-ts/base';
import type { HashKey } from '@queen-ts/base';
import type { BlockSpan } from '../outcomes.ts';
import { partitionIdText } from '../partition-id.ts';
import type { QueueOptions } from '../queue-options.ts';
import { showQueueOptions } from './configure.ts';
import { commaSeparated } from './piece.ts';
import type { Piece } from './piece.ts';
import type { PayloadSource } from './fetch.ts';
import { openPayload, payloadJson, StoredMessages } from './stored-message.ts';
import type { StoredMessage } from './stored-message.ts';

/** One row of the listing. */
export interface MessageRow {
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  readonly priority: number;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly offset: number;
  /** Its address, one message long. */
  readonly span: BlockSpan;
  readonly status: string;
  readonly totalGroups: number;
  readonly consumedBy: number;
  readonly leaseExpiresUs: number | undefined;
}

/** Which kinds of groups read a queue. */
export interface Readers {
  readonly hasQueueMode: boolean;
  readonly namedGroups: number;
}

/** What rendering messages needs. */
export interface MessageSource extends PayloadSource {
  readonly hashKey: HashKey;
  /** Size of payloads in one answer; later ones are shown as not available, like those of other keys. */
  readonly payloadBytesMax: number;
}

/** Renders a page. `limit` and `offset` are shown as they are. */
export function* renderMessages(
  page: Readers & {
    readonly messages: readonly MessageRow[];
    readonly limit: number;
    readonly offset: number;
  },
  source: MessageSource,
): Generator<Piece> {
  const stored = new StoredMessages(source.payloads);
  let bytesLeft = source.payloadBytesMax;
  const renderRow = (row: MessageRow): Iterable<Piece> => {
    const message = stored.read(row.span);
    const isReadable = !message.isEncrypted || source.opener.holdsKeyOf(message.payload);
    const isAvailable = isReadable && message.payload.length <= bytesLeft;
    if (isAvailable) bytesLeft -= message.payload.length;
    const payload = isAvailable ? openPayload(message, row, source.opener) : undefined;
    return renderMessageRow(row, { message, payload, hashKey: source.hashKey });
  };
  yield '{"messages":[';
  yield* commaSeparated(page.messages, renderRow);
  const { limit, offset, messages } = page;
  const tail = { total: messages.length, pagination: { limit, offset }, mode: modeOf(page) };
  yield `],${JSON.stringify(tail).slice(1)}`;
}

function* renderMessageRow(
  row: MessageRow,
  shown: {
    readonly message: StoredMessage;
    /** Undefined when it is not available. */
    readonly payload: Uint8Array | undefined;
    readonly hashKey: HashKey;
  },
): Generator<Piece> {
  const { message, payload, hashKey } = shown;
  const { id, transactionId, traceId, producerSub, isEncrypted } = message;
  const head = { id, transactionId, txnHash: hashText(hashKey, transactionId) };
  const tail = {
    traceId,
    producerSub,
    createdAt: formatTimestampUs(message.createdUs),
    offset: row.offset,
    queue: row.queue,
    partition: row.partition,
    partitionId: partitionIdText(row.partitionNumber),
    status: row.status,
    queueStatus: row.status,
    busStatus: { consumedBy: row.consumedBy, totalGroups: row.totalGroups },
    queuePath: queuePath(row),
    namespace: row.namespace,
    task: row.task,
    queuePriority: row.priority,
    payloadAvailable: payload !== undefined,
    leaseExpiresAt: instantMs(row.leaseExpiresUs),
    segment: { seq: row.span.entryIndex, frameIdx: row.span.first },
    isEncrypted,
  };
  yield* withPayload(head, payload === undefined ? 'null' : payloadJson(payload), tail);
}

/** One message with what became of it. */
export interface MessageDetail {
  readonly queue: string;
  readonly options: QueueOptions;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly span: BlockSpan;
  readonly status: string;
  readonly groups: readonly {
    readonly name: string;
    readonly committed: number;
    readonly isConsumed: boolean;
    readonly leaseExpiresUs: number | undefined;
  }[];
  readonly failure: { readonly error: string; readonly retryCount: number } | undefined;
}

/** Renders one message. Throws as {@link PayloadOpener.open} does. */
export function* renderMessage(
  detail: MessageDetail,
  readers: Readers,
  { payloads, opener }: PayloadSource,
): Generator<Piece> {
  const message = new StoredMessages(payloads).read(detail.span);
  const payload = payloadJson(openPayload(message, detail, opener));
  const { id, transactionId, traceId, producerSub, isEncrypted } = message;
  const { options, failure } = detail;
  yield* withPayload({ id, transactionId }, payload, {
    traceId,
    producerSub,
    createdAt: formatTimestampUs(message.createdUs),
    partitionId: partitionIdText(detail.partitionNumber),
    partition: detail.partition,
    queue: detail.queue,
    queuePath: queuePath(detail),
    namespace: options.namespace,
    task: options.task,
    status: detail.status,
    errorMessage: failure?.error ?? null,
    retryCount: failure?.retryCount ?? 0,
    isEncrypted,
    queueConfig: showQueueOptions(options),
    mode: modeOf(readers),
    consumerGroups: detail.groups.map(({ name, committed, isConsumed, leaseExpiresUs }) => ({
      name,
      committed,
      consumed: isConsumed,
      leaseExpiresAt: instantMs(leaseExpiresUs),
    })),
  });
}

/** An object whose `data` and `payload`, between head and tail, are the payload as it was pushed. */
function* withPayload(head: object, payload: Piece, tail: object): Generator<Piece> {
  yield `${JSON.stringify(head).slice(0, -1)},"data":`;
  yield payload;
  yield ',"payload":';
  yield payload;
  yield `,${JSON.stringify(tail).slice(1)}`;
}

function modeOf({ hasQueueMode, namedGroups }: Readers): object {
  const both = namedGroups > 0 ? 'hybrid' : 'queue';
  const type = hasQueueMode ? both : namedGroups > 0 ? 'bus' : 'none';
  return { hasQueueMode, busGroupsCount: namedGroups, type };
}

function queuePath(at: { readonly queue: string; readonly partition: string }): string {
  return `${at.queue}/${at.partition}`;
}

function instantMs(us: number | undefined): string | null {
  return us === undefined ? null : formatTimestampMs(us);
}

/** The keyed hash by which the id is compared, 32 hex digits. */
function hashText(hashKey: HashKey, transactionId: string): string {
  const id = encodeUtf8(transactionId);
  const words = new Uint32Array(4);
  hash128(hashKey, id, 0, id.length, words, 0);
  return Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('');
}
