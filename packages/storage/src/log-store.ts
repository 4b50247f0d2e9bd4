// The Raft log on LevelDB: one synced batch per append, a truncated suffix removed in the same batch,
// the newest entries served from memory. Recovery (recover.ts) has verified everything that is on
// disk before a store exists; what is read later is verified again when it is read.

import { assert } from '@queen-ts/base';
import type { Entry, LogPosition, LogStore } from '@queen-ts/raft';

import type { DurableBound, LogPoint, LogStart } from './durable-bound.ts';
import type { EntryCache } from './entry-cache.ts';
import { StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import { logKey } from './keys.ts';
import type { LogDatabase, LogWrite } from './log-database.ts';
import { encodeRecord, payloadChunk, type RecordHeader } from './record.ts';
import type { RecordReader } from './record-reader.ts';
import type { TableGuard } from './table-guard.ts';
import type { TermRanges } from './term-ranges.ts';

/** What recovery hands to the store; the store owns all of it from then on. */
export interface RecoveredLog {
  /** Path of the log directory, for messages. */
  readonly path: string;
  readonly db: LogDatabase;
  readonly bound: DurableBound;
  readonly latch: FailureLatch;
  readonly terms: TermRanges;
  readonly cache: EntryCache;
  readonly reader: RecordReader;
  /** Verifies old tables in the background; started and ended by the store. */
  readonly guard: TableGuard;
  /** Index and checksum of the last record, or of the log start when there is none. */
  readonly last: LogPoint;
}

/** {@link LogStore} on LevelDB. */
export class LevelLogStore implements LogStore {
  readonly #log: RecoveredLog;
  #start: LogStart;
  #last: LogPoint;
  /** Highest index whose append was acknowledged. */
  #durableIndex: number;
  #appending: Promise<void> | undefined;
  #compacting: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(log: RecoveredLog) {
    this.#log = log;
    this.#start = log.bound.start;
    this.#last = log.last;
    this.#durableIndex = log.last.index;
    log.guard.start();
  }

  get firstIndex(): number {
    return this.#start.index + 1;
  }

  get lastIndex(): number {
    return this.#last.index;
  }

  term(index: number): number | undefined {
    this.#checkOpen();
    if (index < this.firstIndex - 1 || index > this.lastIndex) return undefined;
    return this.#termAt(index);
  }

  /** The record at `index` in [firstIndex - 1, lastIndex] as others may name it. */
  position(index: number): LogPosition {
    this.#checkReadable(index + 1);
    assert(index <= this.lastIndex, () => `position ${index} after ${this.lastIndex}`);
    if (index === this.#start.index) return this.#start;
    const { checksum } = this.#verified((reader) => reader.header(index));
    return { index, term: this.#termAt(index), checksum };
  }

  entries(range: { from: number; toExclusive: number; maxBytes: number }): Entry[] {
    this.#checkReadable(range.from);
    const end = range.toExclusive;
    assert(end <= this.lastIndex + 1, () => `read to ${end} after ${this.lastIndex}`);
    const entries: Entry[] = [];
    let sizeBytes = 0;
    for (let index = range.from; index < end; index++) {
      const cached = this.#log.cache.get(index);
      const record = cached === undefined ? this.#verified((r) => r.record(index)) : undefined;
      sizeBytes +=
        cached === undefined
          ? (record?.header.headBytes ?? 0) + (record?.header.payloadBytes ?? 0)
          : cached.head.byteLength + cached.payload.byteLength;
      if (entries.length > 0 && sizeBytes > range.maxBytes) break;
      if (cached !== undefined) entries.push(cached);
      else if (record !== undefined) entries.push(this.#verified((r) => r.entry(record)));
    }
    return entries;
  }

  payload({ index, from, toExclusive }: { index: number; from: number; toExclusive: number }) {
    this.#checkReadable(index);
    assert(index <= this.lastIndex, () => `payload of ${index} after ${this.lastIndex}`);
    const cached = this.#log.cache.get(index);
    if (cached === undefined) {
      return this.#verified((reader) => reader.payload(reader.header(index), from, toExclusive));
    }
    assert(
      from >= 0 && from <= toExclusive && toExclusive <= cached.payload.byteLength,
      () => `payload [${from}, ${toExclusive}) of ${cached.payload.byteLength} bytes at ${index}`,
    );
    return cached.payload.subarray(from, toExclusive);
  }

  async append(entries: readonly Entry[]): Promise<void> {
    this.#checkOpen();
    this.#log.latch.check();
    assert(this.#appending === undefined, 'overlapping appends');
    // Everything up to here and inside `#write` up to its first wait is synchronous: readers see the
    // entries from the moment the append is started.
    this.#appending = this.#write(entries);
    try {
      await this.#appending;
    } finally {
      this.#appending = undefined;
    }
  }

  async compact(toIndex: number): Promise<void> {
    this.#checkOpen();
    const { latch, bound, db, path } = this.#log;
    latch.check();
    const { firstIndex } = this;
    if (toIndex < firstIndex) return;
    assert(toIndex <= this.#durableIndex, () => `compact to ${toIndex} of ${this.#durableIndex}`);
    const start = this.position(toIndex);
    this.#dropPrefix(start);
    // First the file says where the log starts; whatever of the prefix a crash leaves is then ignored.
    const range = { gte: logKey(firstIndex, 0), lt: logKey(toIndex + 1, 0) };
    this.#compacting = this.#compacting
      .then(() => bound.moveStart(start))
      .then(() => db.clear(range))
      .catch((error: unknown) => Promise.reject(latch.trip(`compacting ${path}`, error)));
    await this.#compacting;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    const { latch, db, bound, cache } = this.#log;
    const before = this.#pointBefore(entries);
    const isTruncating = before.index < this.lastIndex;
    const operations: LogWrite[] = [];
    for (let index = before.index + 1; index <= this.lastIndex; index++) {
      pushDeletes(
        operations,
        this.#verified((reader) => reader.header(index)),
      );
    }
    const headers = pushPuts(operations, entries, before.checksum);
    const last = headers[headers.length - 1];
    assert(last !== undefined, 'an append of no entries');
    this.#replaceSuffix(before.index, entries, headers);
    this.#last = { index: last.index, checksum: last.checksum };
    this.#durableIndex = Math.min(this.#durableIndex, before.index);
    try {
      if (isTruncating) await bound.retreat(before);
      await db.batch(operations, { sync: true });
    } catch (error) {
      throw latch.trip(`append to ${this.#log.path}`, error);
    }
    // A failure elsewhere in the directory while this batch was in flight forbids the answer, too.
    latch.check();
    this.#durableIndex = last.index;
    bound.advance(this.#last);
    cache.trim(last.index);
  }

  /** Checks the order of `entries` and returns the record they follow. */
  #pointBefore(entries: readonly Entry[]): LogPoint {
    const first = entries[0];
    assert(first !== undefined, 'an append of no entries');
    const index = first.index - 1;
    assert(
      index >= this.firstIndex - 1 && index <= this.lastIndex,
      () => `append at ${first.index} to a log of [${this.firstIndex}, ${this.lastIndex}]`,
    );
    let term = this.#termAt(index);
    for (const [i, entry] of entries.entries()) {
      assert(entry.index === first.index + i, () => `entry ${entry.index} at position ${i}`);
      assert(entry.term >= term, () => `term ${entry.term} at ${entry.index} after term ${term}`);
      term = entry.term;
    }
    if (index === this.lastIndex) return this.#last;
    if (index === this.#start.index) return { index, checksum: this.#start.checksum };
    return { index, checksum: this.#verified((reader) => reader.header(index)).checksum };
  }

  #replaceSuffix(keptIndex: number, entries: readonly Entry[], headers: readonly RecordHeader[]) {
    const { terms, cache, reader } = this.#log;
    if (keptIndex < this.lastIndex) {
      terms.truncate(keptIndex + 1);
      cache.truncate(keptIndex + 1);
      reader.forget(keptIndex + 1, this.lastIndex + 1);
    }
    for (const entry of entries) {
      terms.push(entry.index, entry.term);
      cache.push(entry);
    }
    for (const header of headers) reader.remember(header);
  }

  /** Of what lies before the walk of this start, the record itself knows the term. */
  #termAt(index: number): number {
    const { terms } = this.#log;
    if (index >= terms.base) return terms.at(index);
    if (index === this.#start.index) return this.#start.term;
    return this.#verified((reader) => reader.header(index)).term;
  }

  #dropPrefix(start: LogStart): void {
    const { terms, cache, reader } = this.#log;
    reader.forget(this.firstIndex, start.index + 1);
    if (start.index > terms.base) terms.compact(start.index);
    cache.compact(start.index);
    this.#start = start;
  }

  /** Runs a read of verified records; damage found on the way ends all writing, too (I10). */
  #verified<T>(read: (reader: RecordReader) => T): T {
    try {
      return read(this.#log.reader);
    } catch (error) {
      if (error instanceof StorageError) this.#log.latch.trip(`reading ${this.#log.path}`, error);
      throw error;
    }
  }

  #checkReadable(index: number): void {
    this.#checkOpen();
    if (index >= this.firstIndex) return;
    const message = `${this.#log.path}: record ${index} lies before first index ${this.firstIndex}`;
    throw new StorageError({ code: 'LOG_COMPACTED', message, details: { index } });
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return;
    throw new StorageError({ code: 'STORE_CLOSED', message: `${this.#log.path} is closed` });
  }

  async #close(): Promise<void> {
    const { latch, db, bound, guard } = this.#log;
    // Who called append or compact hears of its failure; here it only must have ended.
    await this.#appending?.catch(() => undefined);
    await this.#compacting.catch(() => undefined);
    await guard.close();
    try {
      if (latch.failure === undefined) await bound.flush();
    } finally {
      await bound.close();
      await db.close();
    }
  }
}

function pushDeletes(operations: LogWrite[], header: RecordHeader): void {
  for (let chunk = 0; chunk <= header.payloadChecksums.length; chunk++) {
    operations.push({ type: 'del', key: logKey(header.index, chunk) });
  }
}

function pushPuts(
  operations: LogWrite[],
  entries: readonly Entry[],
  previousChecksum: number,
): RecordHeader[] {
  const headers: RecordHeader[] = [];
  let checksum = previousChecksum;
  for (const entry of entries) {
    const { header, chunk0 } = encodeRecord(entry, checksum);
    operations.push({ type: 'put', key: logKey(entry.index, 0), value: chunk0 });
    for (let chunk = 1; chunk <= header.payloadChecksums.length; chunk++) {
      const value = payloadChunk(entry.payload, chunk);
      operations.push({ type: 'put', key: logKey(entry.index, chunk), value });
    }
    headers.push(header);
    checksum = header.checksum;
  }
  return headers;
}
