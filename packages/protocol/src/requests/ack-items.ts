// Reads ack items into columns: partition numbers, leases, hashes of transaction ids, statuses. A bad
// value fails its item at planning and not the request. One object serves many requests.

import { decodeUtf8, hash128, readUuidText, UUID_TEXT_SIZE } from '@queen-ts/base';
import type { HashKey } from '@queen-ts/base';
import { ACK_LEASE, ACK_STATUS, ID_WORDS, NO_PARTITION } from '../commands.ts';
import type { AckCommand, AckStatus } from '../commands.ts';
import { OPEN_OBJECT } from '../json/characters.ts';
import { MemberSpans } from '../json/member-spans.ts';
import { FAILED, JsonScanner } from '../json/scanner.ts';
import { NameSet, stringAt, UNPAIRED, unescape } from '../json/strings.ts';
import { ACK_ERROR_TEXT_LENGTH_MAX, ACK_ITEMS_MAX } from '../limits.ts';
import type { Refused } from '../outcomes.ts';
import { readPartitionId } from '../partition-id.ts';
import { refuse } from './refusal.ts';

/** Members of an item, in the order of {@link ACK_FIELD_NAMES}. */
const FIELD = { TRANSACTION_ID: 0, PARTITION_ID: 1, LEASE_ID: 2, STATUS: 3, ERROR: 4 } as const;

/** Member names of an item; a single ack has them at the top level. */
export const ACK_FIELD_NAMES = ['transactionId', 'partitionId', 'leaseId', 'status', 'error'];
const ITEM_NAMES = new NameSet(ACK_FIELD_NAMES);

/** Spellings of a status (decisions D1), and what each means. */
const STATUS_NAMES = new NameSet(['completed', 'failed', 'retry', 'dlq', 'success', 'acked', 'ok']);
const STATUSES: readonly AckStatus[] = [
  ACK_STATUS.COMPLETED,
  ACK_STATUS.FAILED,
  ACK_STATUS.RETRY,
  ACK_STATUS.DLQ,
  ACK_STATUS.COMPLETED,
  ACK_STATUS.COMPLETED,
  ACK_STATUS.COMPLETED,
];

const ITEMS_INITIAL = 64;
const ITEMS_KEPT_MAX = 16_384;
const TEXT_SIZE_INITIAL = 256;
const TEXT_SIZE_KEPT_MAX = 64 * 1024;

/** Columns of the command that are made here. */
export type AckColumns = Pick<
  AckCommand,
  | 'itemCount'
  | 'partitions'
  | 'leaseKinds'
  | 'leaseIds'
  | 'txnHashes'
  | 'txnUuids'
  | 'statuses'
  | 'errors'
>;

/** What a request with too many acks is told. */
export function tooManyAcks(): string {
  return `one request may acknowledge ${ACK_ITEMS_MAX} messages: send the rest in another`;
}

/** The columns of one request; their meaning is that of `AckCommand`. */
export class AckItems {
  readonly scanner = new JsonScanner();
  /** Number of items read. */
  count = 0;
  /** The first array element that is no item at all. */
  problem: Refused | undefined = undefined;
  /** Start and size of each transaction id's JSON text; size 0 when it is no string. */
  echoSpans = new Uint32Array(ITEMS_INITIAL * 2);

  readonly #spans = new MemberSpans(ITEM_NAMES);
  #partitions = new Uint32Array(ITEMS_INITIAL);
  #leaseKinds = new Uint8Array(ITEMS_INITIAL);
  #leaseIds = new Uint32Array(ITEMS_INITIAL * ID_WORDS);
  #txnHashes = new Uint32Array(ITEMS_INITIAL * ID_WORDS);
  #txnUuids = new Uint32Array(ITEMS_INITIAL * ID_WORDS);
  #statuses = new Uint8Array(ITEMS_INITIAL);
  #errors = new Map<number, string>();
  /** Decoded form of the last escaped string. */
  #text = new Uint8Array(TEXT_SIZE_INITIAL);
  /** Bytes, start and size of the string that {@link #openString} opened last. */
  #opened: Uint8Array = this.#text;
  #openedStart = 0;
  #openedSize = 0;

  /** Forgets all items, keeps buffers of ordinary size. */
  clear(): void {
    this.count = 0;
    this.problem = undefined;
    this.#errors = new Map();
    this.#opened = this.#text;
    if (this.#partitions.length > ITEMS_KEPT_MAX) this.#resize(ITEMS_INITIAL);
    if (this.#text.length > TEXT_SIZE_KEPT_MAX) this.#text = new Uint8Array(TEXT_SIZE_INITIAL);
  }

  /**
   * Reads the array of items at `start`; whatever was read before is forgotten. Returns the position
   * after it, or FAILED if it is malformed.
   */
  readBatch(start: number, hashKey: HashKey): number {
    this.clear();
    const { scanner } = this;
    let at = scanner.firstElement(start);
    while (at >= 0) {
      const end = this.#readElement(at, hashKey);
      if (end < 0) return FAILED;
      at = scanner.nextElement(end);
    }
    return at === FAILED ? FAILED : scanner.position;
  }

  /** Adds the item whose members `spans` holds by the numbers of {@link ACK_FIELD_NAMES}. */
  add(spans: MemberSpans, hashKey: HashKey): void {
    const position = this.count;
    if (position === this.#partitions.length) this.#resize(position * 2);
    this.count = position + 1;
    this.#setTransactionId(position, spans, hashKey);
    this.#setLease(position, spans);
    this.#partitions[position] = this.#openString(spans, FIELD.PARTITION_ID)
      ? readPartitionId(this.#opened, this.#openedStart, this.#openedStart + this.#openedSize)
      : NO_PARTITION;
    this.#statuses[position] = this.#status(spans);
    const error = this.#errorText(spans);
    if (error !== undefined) this.#errors.set(position, error);
  }

  /** Adds the item that is the object at `start`; returns the position after it, or FAILED. */
  appendItem(start: number, hashKey: HashKey): number {
    const end = this.#spans.read(this.scanner, start);
    if (end >= 0) this.add(this.#spans, hashKey);
    return end;
  }

  /** Returns columns of their own, of exactly the right size. */
  columns(): AckColumns {
    const { count } = this;
    const words = count * ID_WORDS;
    const errors = this.#errors;
    return {
      itemCount: count,
      partitions: this.#partitions.slice(0, count),
      leaseKinds: this.#leaseKinds.slice(0, count),
      leaseIds: this.#leaseIds.slice(0, words),
      txnHashes: this.#txnHashes.slice(0, words),
      txnUuids: this.#txnUuids.slice(0, words),
      statuses: this.#statuses.slice(0, count),
      errors:
        errors.size === 0
          ? undefined
          : Array.from({ length: count }, (_, position) => errors.get(position) ?? null),
    };
  }

  #readElement(start: number, hashKey: HashKey): number {
    const { scanner } = this;
    if (this.problem !== undefined) return scanner.skipValue(start);
    if (this.count === ACK_ITEMS_MAX) {
      this.problem = refuse('too_large', tooManyAcks());
    } else if (scanner.bytes[start] !== OPEN_OBJECT) {
      const what = 'must be an object with "transactionId" and "partitionId"';
      this.problem = refuse('bad_body', `acknowledgments[${this.count}] ${what}`);
    }
    if (this.problem !== undefined) return scanner.skipValue(start);
    return this.appendItem(start, hashKey);
  }

  #setTransactionId(position: number, spans: MemberSpans, hashKey: HashKey): void {
    const at = position * ID_WORDS;
    this.echoSpans[position * 2] = 0;
    this.echoSpans[position * 2 + 1] = 0;
    this.#txnUuids.fill(0, at, at + ID_WORDS);
    this.#txnHashes.fill(0, at, at + ID_WORDS);
    if (!spans.isString(this.scanner.bytes, FIELD.TRANSACTION_ID)) return;
    const start = spans.starts[FIELD.TRANSACTION_ID]!;
    this.echoSpans[position * 2] = start;
    this.echoSpans[position * 2 + 1] = spans.ends[FIELD.TRANSACTION_ID]! - start;
    // An id without UTF-8 was never pushed: zeros match nothing.
    if (!this.#openString(spans, FIELD.TRANSACTION_ID)) return;
    const from = this.#openedStart;
    hash128(hashKey, this.#opened, from, from + this.#openedSize, this.#txnHashes, at);
    if (this.#openedSize !== UUID_TEXT_SIZE) return;
    if (readUuidText(this.#opened, from, this.#txnUuids, at)) return;
    this.#txnUuids.fill(0, at, at + ID_WORDS);
  }

  #setLease(position: number, spans: MemberSpans): void {
    const { bytes } = this.scanner;
    const at = position * ID_WORDS;
    const isNone = spans.isNone(bytes, FIELD.LEASE_ID);
    if (isNone || spans.isEmptyString(bytes, FIELD.LEASE_ID)) {
      this.#leaseKinds[position] = ACK_LEASE.NONE;
      this.#leaseIds.fill(0, at, at + ID_WORDS);
      return;
    }
    const isNamed =
      this.#openString(spans, FIELD.LEASE_ID) &&
      this.#openedSize === UUID_TEXT_SIZE &&
      readUuidText(this.#opened, this.#openedStart, this.#leaseIds, at);
    this.#leaseKinds[position] = isNamed ? ACK_LEASE.NAMED : ACK_LEASE.MALFORMED;
    if (!isNamed) this.#leaseIds.fill(0, at, at + ID_WORDS);
  }

  /** Absent and null are `completed`; a value of another type is as unknown as another word. */
  #status(spans: MemberSpans): AckStatus {
    if (spans.isNone(this.scanner.bytes, FIELD.STATUS)) return ACK_STATUS.COMPLETED;
    if (!this.#openString(spans, FIELD.STATUS)) return ACK_STATUS.UNKNOWN;
    const from = this.#openedStart;
    const exact = STATUS_NAMES.find(this.#opened, from, this.#openedSize);
    if (exact >= 0) return STATUSES[exact]!;
    const lower = STATUS_NAMES.findLowerCase(this.#opened, from, this.#openedSize);
    return lower >= 0 ? STATUSES[lower]! : ACK_STATUS.UNKNOWN;
  }

  /** Text for a dead letter: a string as it is, another value as its JSON text, cut if too long. */
  #errorText(spans: MemberSpans): string | undefined {
    const { bytes } = this.scanner;
    if (spans.isNone(bytes, FIELD.ERROR)) return undefined;
    const start = spans.starts[FIELD.ERROR]!;
    const end = spans.ends[FIELD.ERROR]!;
    const isString = spans.isString(bytes, FIELD.ERROR);
    const text = isString ? stringAt(bytes, start, end) : decodeUtf8(bytes, start, end)!;
    if (text.length <= ACK_ERROR_TEXT_LENGTH_MAX) return text.toWellFormed();
    return `${text.slice(0, ACK_ERROR_TEXT_LENGTH_MAX - 1).toWellFormed()}…`;
  }

  /** Points `#opened` at a string's UTF-8; false when it is no string or has none. */
  #openString(spans: MemberSpans, field: number): boolean {
    const { bytes } = this.scanner;
    if (!spans.isString(bytes, field)) return false;
    const from = spans.starts[field]! + 1;
    const toExclusive = spans.ends[field]! - 1;
    if (spans.hasEscape[field] === 0) {
      this.#opened = bytes;
      this.#openedStart = from;
      this.#openedSize = toExclusive - from;
      return true;
    }
    if (toExclusive - from > this.#text.length) this.#text = new Uint8Array(toExclusive - from);
    this.#opened = this.#text;
    this.#openedStart = 0;
    this.#openedSize = unescape(bytes, from, toExclusive, this.#text, 0);
    return this.#openedSize !== UNPAIRED;
  }

  #resize(capacity: number): void {
    const count = Math.min(this.count, capacity);
    const words = (source: Uint32Array, perItem: number): Uint32Array<ArrayBuffer> => {
      const target = new Uint32Array(capacity * perItem);
      target.set(source.subarray(0, count * perItem));
      return target;
    };
    const bytes = (source: Uint8Array): Uint8Array<ArrayBuffer> => {
      const target = new Uint8Array(capacity);
      target.set(source.subarray(0, count));
      return target;
    };
    this.echoSpans = words(this.echoSpans, 2);
    this.#partitions = words(this.#partitions, 1);
    this.#leaseIds = words(this.#leaseIds, ID_WORDS);
    this.#txnHashes = words(this.#txnHashes, ID_WORDS);
    this.#txnUuids = words(this.#txnUuids, ID_WORDS);
    this.#leaseKinds = bytes(this.#leaseKinds);
    this.#statuses = bytes(this.#statuses);
  }
}
