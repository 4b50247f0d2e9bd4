// Reads the items of a push body into columns: spans of payloads, decoded names and transaction ids,
// hashes, groups and repeats. One object serves many requests, so that a request allocates only what
// its command keeps.

import {
  copyBytes,
  decodeUtf8,
  hash32,
  hash128,
  readUuidText,
  UUID_TEXT_SIZE,
} from '@queen-ts/base';
import type { HashKey } from '@queen-ts/base';
import { ID_WORDS, MINTED_TXN, PUSH_ITEM } from '../commands.ts';
import { OPEN_OBJECT } from '../json/characters.ts';
import { ABSENT, MemberSpans } from '../json/member-spans.ts';
import { FAILED, JsonScanner } from '../json/scanner.ts';
import { NameSet, UNPAIRED, unescape } from '../json/strings.ts';
import { DEFAULT_PARTITION, PUSH_ITEMS_MAX, TRANSACTION_ID_BYTES_MAX } from '../limits.ts';
import { nameBudgetError } from '../names.ts';
import type { Refused } from '../outcomes.ts';
import { NAME_ROW, NameTable } from './name-table.ts';
import { refuse } from './refusal.ts';

/** Members of an item that mean something; the numbers index the span columns below. */
const FIELD = { QUEUE: 0, PARTITION: 1, PAYLOAD: 2, TRANSACTION_ID: 3, TRACE_ID: 4 } as const;
const FIELD_NAMES = ['queue', 'partition', 'payload', 'transactionId', 'traceId'];
const FIELD_SET = new NameSet(FIELD_NAMES);

const DEFAULT_PARTITION_BYTES = Uint8Array.from(DEFAULT_PARTITION, (char) => char.charCodeAt(0));

const ITEMS_INITIAL = 64;
const TEXT_SIZE_INITIAL = 4096;
/** Buffers that grew beyond these are dropped after the request, not kept. */
const ITEMS_KEPT_MAX = 16_384;
const TEXT_SIZE_KEPT_MAX = 1024 * 1024;

/** What the reading depends on besides the body. */
export interface PushItemsContext {
  readonly hashKey: HashKey;
  /** Size of the tenant's name in bytes. */
  readonly tenantSize: number;
  /** Whether a `traceId` that is a UUID is kept; else it is not looked at. */
  readonly keepsTraceIds?: boolean;
}

/** The columns of one request; their meaning is that of `PushCommand`. */
export class PushItems {
  readonly scanner = new JsonScanner();
  /** Number of items read. */
  count = 0;
  /** `PUSH_ITEM.WIDTH` words an item. */
  columns = new Uint32Array(ITEMS_INITIAL * PUSH_ITEM.WIDTH);
  /** `ID_WORDS` an item. */
  hashes = new Uint32Array(ITEMS_INITIAL * ID_WORDS);
  /** Group of each item. */
  groupOf = new Uint32Array(ITEMS_INITIAL);
  /** Groups; the scope is the queue. */
  readonly groups = new NameTable();
  /** Distinct queue names. */
  queues: string[] = [];
  text = new Uint8Array(TEXT_SIZE_INITIAL);
  textSize = 0;
  /** `ID_WORDS` an item, zeros for none; undefined while no item had a trace id to keep. */
  traceIds: Uint32Array<ArrayBuffer> | undefined = undefined;
  /** The first item that is well-formed JSON but no valid item. */
  problem: Refused | undefined = undefined;

  readonly #queueTable = new NameTable();
  readonly #repeats = new NameTable();
  readonly #spans = new MemberSpans(FIELD_SET);
  /** Fields of the item before, to recognise a run of the same group without decoding. */
  #runQueueStart = ABSENT;
  #runQueueEnd = ABSENT;
  #runPartitionStart = ABSENT;
  #runPartitionEnd = ABSENT;

  /** Forgets all items, keeps buffers of ordinary size. */
  clear(): void {
    this.count = 0;
    this.textSize = 0;
    this.queues = [];
    this.problem = undefined;
    this.traceIds = undefined;
    this.groups.clear();
    this.#queueTable.clear();
    this.#repeats.clear();
    this.#runQueueStart = ABSENT;
    if (this.groupOf.length > ITEMS_KEPT_MAX) this.#resizeItems(ITEMS_INITIAL);
    if (this.text.length > TEXT_SIZE_KEPT_MAX) this.text = new Uint8Array(TEXT_SIZE_INITIAL);
  }

  /**
   * Reads the array that starts at `start`; whatever was read before is forgotten. Returns the
   * position after it, or FAILED if it is malformed. An invalid item ends in `problem`: the rest is
   * then only checked for its syntax.
   */
  read(start: number, context: PushItemsContext): number {
    this.clear();
    return this.append(start, context);
  }

  /** Reads the array that starts at `start` as {@link read} does, behind what was read before. */
  append(start: number, context: PushItemsContext): number {
    const { scanner } = this;
    let at = scanner.firstElement(start);
    while (at >= 0) {
      const end = this.appendItem(at, context);
      if (end < 0) return FAILED;
      at = scanner.nextElement(end);
    }
    return at === FAILED ? FAILED : scanner.position;
  }

  /** Reads the one item that starts at `start`; returns the position after it, or FAILED. */
  appendItem(start: number, context: PushItemsContext): number {
    const { scanner } = this;
    if (this.problem !== undefined) return scanner.skipValue(start);
    if (this.count === PUSH_ITEMS_MAX) {
      this.problem = refuse('too_large', `one push may carry ${PUSH_ITEMS_MAX} items`);
    } else if (scanner.bytes[start] !== OPEN_OBJECT) {
      this.#invalid('', 'must be an object with "queue" and "payload"');
    }
    if (this.problem !== undefined) return scanner.skipValue(start);
    const end = this.#spans.read(scanner, start);
    if (end < 0) return FAILED;
    this.#addItem(context);
    return end;
  }

  #addItem(context: PushItemsContext): void {
    if (!this.#checkTypes()) return;
    const group = this.#isRun() ? this.groupOf[this.count - 1]! : this.#findGroup(context);
    if (group < 0) return;
    const position = this.count;
    if (position === this.groupOf.length) this.#resizeItems(position * 2);
    this.groupOf[position] = group;
    const row = position * PUSH_ITEM.WIDTH;
    const payloadStart = this.#spans.starts[FIELD.PAYLOAD]!;
    this.columns[row + PUSH_ITEM.PAYLOAD_START] = payloadStart;
    this.columns[row + PUSH_ITEM.PAYLOAD_LENGTH] = this.#spans.ends[FIELD.PAYLOAD]! - payloadStart;
    const isMinted = this.#spans.isNone(this.scanner.bytes, FIELD.TRANSACTION_ID);
    if (isMinted) this.#setMinted(position);
    else if (!this.#setTransactionId(position, group, context.hashKey)) return;
    if (context.keepsTraceIds === true) this.#keepTraceId(position);
    this.count = position + 1;
  }

  /** A trace id that is no UUID is ignored (reference §5.1). */
  #keepTraceId(position: number): void {
    const spans = this.#spans;
    const { bytes } = this.scanner;
    const start = spans.starts[FIELD.TRACE_ID]!;
    const at = position * ID_WORDS;
    this.traceIds?.fill(0, at, at + ID_WORDS);
    const isSized = spans.ends[FIELD.TRACE_ID]! - start === UUID_TEXT_SIZE + 2;
    if (!spans.isString(bytes, FIELD.TRACE_ID) || !isSized) return;
    const words = new Uint32Array(ID_WORDS);
    if (!readUuidText(bytes, start + 1, words, 0)) return;
    this.traceIds ??= new Uint32Array(this.groupOf.length * ID_WORDS);
    this.traceIds.set(words, at);
  }

  /** False, with a problem, when a field is missing or of the wrong type. */
  #checkTypes(): boolean {
    const spans = this.#spans;
    const { bytes } = this.scanner;
    if (spans.starts[FIELD.PAYLOAD] === ABSENT) {
      return this.#invalid('.payload', 'is missing: every item needs "payload" (any JSON value)');
    }
    if (spans.starts[FIELD.QUEUE] === ABSENT) {
      return this.#invalid('.queue', 'is missing: every item needs "queue" (a non-empty string)');
    }
    if (!spans.isString(bytes, FIELD.QUEUE) || spans.isEmptyString(bytes, FIELD.QUEUE)) {
      return this.#invalid('.queue', 'must be a non-empty string');
    }
    if (!this.#isStringOrNone(FIELD.PARTITION)) {
      const or = `leave it out for "${DEFAULT_PARTITION}"`;
      return this.#invalid('.partition', `must be a string, or ${or}`);
    }
    if (!this.#isStringOrNone(FIELD.TRANSACTION_ID)) {
      const or = 'leave it out to have one minted';
      return this.#invalid('.transactionId', `must be a string, or ${or}`);
    }
    return true;
  }

  /** True when queue and partition are spelled as in the item before. */
  #isRun(): boolean {
    const start = this.#spans.starts[FIELD.QUEUE]!;
    const end = this.#spans.ends[FIELD.QUEUE]!;
    const partitionStart = this.#spans.starts[FIELD.PARTITION]!;
    const partitionEnd = partitionStart === ABSENT ? ABSENT : this.#spans.ends[FIELD.PARTITION]!;
    const isRun =
      this.#runQueueStart !== ABSENT &&
      this.#isSame(this.#runQueueStart, this.#runQueueEnd, start, end) &&
      this.#isSame(this.#runPartitionStart, this.#runPartitionEnd, partitionStart, partitionEnd);
    this.#runQueueStart = start;
    this.#runQueueEnd = end;
    this.#runPartitionStart = partitionStart;
    this.#runPartitionEnd = partitionEnd;
    return isRun;
  }

  #isSame(aStart: number, aEnd: number, bStart: number, bEnd: number): boolean {
    const size = aEnd - aStart;
    if (size !== bEnd - bStart || (aStart === ABSENT) !== (bStart === ABSENT)) return false;
    const { bytes } = this.scanner;
    for (let i = 0; i < size; i++) {
      if (bytes[aStart + i] !== bytes[bStart + i]) return false;
    }
    return true;
  }

  /** Returns the group of the item's queue and partition, or FAILED with a problem. */
  #findGroup({ hashKey, tenantSize }: PushItemsContext): number {
    const queue = this.#internName(FIELD.QUEUE, this.#queueTable, 0, hashKey);
    if (queue < 0) return FAILED;
    if (queue === this.queues.length) this.#addQueueName();
    const groupCount = this.groups.count;
    const group = this.#internName(FIELD.PARTITION, this.groups, queue, hashKey);
    if (group < groupCount) return group;
    const error = nameBudgetError({
      tenant: tenantSize,
      queue: this.#queueTable.rows[queue * NAME_ROW.WIDTH + NAME_ROW.LENGTH]!,
      partition: this.groups.rows[group * NAME_ROW.WIDTH + NAME_ROW.LENGTH]!,
      group: 0,
    });
    if (error === undefined) return group;
    this.problem = refuse('name_too_long', `items[${this.count}].${error}`);
    return FAILED;
  }

  /** Decodes a name to the end of `text` and interns it; the bytes stay only if it is new. */
  #internName(field: number, table: NameTable, scope: number, hashKey: HashKey): number {
    const start = this.textSize;
    const length = this.#isEmpty(field) ? this.#putDefault() : this.#putText(field);
    if (length < 0) return FAILED;
    const { text } = this;
    const before = table.count;
    const hash = hash32(hashKey, text, start, start + length);
    const member = table.intern(scope, text, start, length, hash, 0);
    if (table.count > before) this.textSize = start + length;
    return member;
  }

  #addQueueName(): void {
    const start = this.#queueTable.rows[this.queues.length * NAME_ROW.WIDTH + NAME_ROW.START]!;
    // The scanner has validated the bytes and the decoding has refused what has no UTF-8.
    this.queues.push(decodeUtf8(this.text, start, this.textSize)!);
  }

  #setMinted(position: number): void {
    const row = position * PUSH_ITEM.WIDTH;
    this.columns[row + PUSH_ITEM.TXN_START] = 0;
    this.columns[row + PUSH_ITEM.TXN_LENGTH] = MINTED_TXN;
    this.columns[row + PUSH_ITEM.FIRST_POSITION] = position;
    this.hashes.fill(0, position * ID_WORDS, (position + 1) * ID_WORDS);
  }

  #setTransactionId(position: number, group: number, hashKey: HashKey): boolean {
    const start = this.textSize;
    const length = this.#putText(FIELD.TRANSACTION_ID);
    if (length < 0) return false;
    if (length > TRANSACTION_ID_BYTES_MAX) {
      const message = `has ${length} bytes: at most ${TRANSACTION_ID_BYTES_MAX} are allowed`;
      this.problem = refuse('bad_request', `items[${position}].transactionId ${message}`);
      return false;
    }
    this.textSize = start + length;
    const { columns, hashes, text } = this;
    hash128(hashKey, text, start, start + length, hashes, position * ID_WORDS);
    const hash = hashes[position * ID_WORDS]!;
    const repeats = this.#repeats;
    const member = repeats.intern(group, text, start, length, hash, position);
    const row = position * PUSH_ITEM.WIDTH;
    columns[row + PUSH_ITEM.TXN_START] = start;
    columns[row + PUSH_ITEM.TXN_LENGTH] = length;
    columns[row + PUSH_ITEM.FIRST_POSITION] =
      repeats.rows[member * NAME_ROW.WIDTH + NAME_ROW.OWNER]!;
    return true;
  }

  /** Writes the decoded string after `textSize`; returns its size, or FAILED with a problem. */
  #putText(field: number): number {
    const from = this.#spans.starts[field]! + 1;
    const toExclusive = this.#spans.ends[field]! - 1;
    this.#ensureText(toExclusive - from);
    const { bytes } = this.scanner;
    if (this.#spans.hasEscape[field] === 0) {
      copyBytes(bytes, from, toExclusive, this.text, this.textSize);
      return toExclusive - from;
    }
    const size = unescape(bytes, from, toExclusive, this.text, this.textSize);
    if (size !== UNPAIRED) return size;
    this.#invalid(`.${FIELD_NAMES[field]}`, 'has an unpaired surrogate: send valid Unicode');
    return FAILED;
  }

  #putDefault(): number {
    const size = DEFAULT_PARTITION_BYTES.length;
    this.#ensureText(size);
    this.text.set(DEFAULT_PARTITION_BYTES, this.textSize);
    return size;
  }

  #invalid(field: string, what: string): false {
    this.problem = refuse('bad_body', `items[${this.count}]${field} ${what}`);
    return false;
  }

  #isStringOrNone(field: number): boolean {
    const { bytes } = this.scanner;
    return this.#spans.isString(bytes, field) || this.#spans.isNone(bytes, field);
  }

  #isEmpty(field: number): boolean {
    const { bytes } = this.scanner;
    return this.#spans.isNone(bytes, field) || this.#spans.isEmptyString(bytes, field);
  }

  #ensureText(size: number): void {
    const needed = this.textSize + size;
    if (needed <= this.text.length) return;
    const text = new Uint8Array(Math.max(needed, this.text.length * 2));
    text.set(this.text.subarray(0, this.textSize));
    this.text = text;
  }

  #resizeItems(capacity: number): void {
    const kept = Math.min(this.count, capacity);
    this.columns = resized(this.columns, capacity * PUSH_ITEM.WIDTH, kept * PUSH_ITEM.WIDTH);
    this.hashes = resized(this.hashes, capacity * ID_WORDS, kept * ID_WORDS);
    this.groupOf = resized(this.groupOf, capacity, kept);
    if (this.traceIds !== undefined) {
      this.traceIds = resized(this.traceIds, capacity * ID_WORDS, kept * ID_WORDS);
    }
  }
}

function resized(
  words: Uint32Array<ArrayBuffer>,
  size: number,
  kept: number,
): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(size);
  larger.set(words.subarray(0, kept));
  return larger;
}
