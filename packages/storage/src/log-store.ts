// The Raft log on LevelDB: one synced batch per append, a truncated suffix removed in the same batch,
// the newest entries served from memory. Recovery (recover.ts) has verified everything that is on
// disk before a store exists; what is read later is verified again when it is read. What lies before
// the start of the log is the archive's (log-archive.ts).

import { assert } from '@queen-ts/base';
import type { Entry, LogArchive, LogPosition, LogStore } from '@queen-ts/raft';

import type { DurableBound, LogPoint, LogStart } from './durable-bound.ts';
import type { EntryCache } from './entry-cache.ts';
import { StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import { logKey } from './keys.ts';
import { LevelLogArchive } from './log-archive.ts';
import type { LogDatabase, LogWrite } from './log-database.ts';
import { LogView } from './log-view.ts';
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

/** Puts what a snapshot brought into the place of the log. */
export interface LogInstaller {
  /** Makes sure that the snapshot is the log after the next start, whatever happens. */
  commit(snapshot: { readonly index: number; readonly term: number }): Promise<void>;
  /** Replaces the files, which are closed, and opens them. */
  switchOver(): Promise<RecoveredLog>;
}

/** {@link LogStore} on LevelDB. */
export class LevelLogStore implements LogStore {
  readonly #installer: LogInstaller | undefined;
  #log: RecoveredLog;
  #archive: LevelLogArchive;
  readonly #views = new Set<LogView>();
  #start: LogStart;
  #last: LogPoint;
  /** Highest index whose append was acknowledged. */
  #durableIndex: number;
  #appending: Promise<void> | undefined;
  #compacting: Promise<void> = Promise.resolve();
  #installing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** @param installer absent: snapshots cannot be installed. */
  constructor(log: RecoveredLog, installer?: LogInstaller) {
    this.#installer = installer;
    this.#log = log;
    this.#start = log.bound.start;
    this.#archive = new LevelLogArchive(log, log.bound.start.index);
    this.#last = log.last;
    this.#durableIndex = log.last.index;
    log.guard.start();
  }

  get archive(): LogArchive {
    return this.#archive;
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
    this.#checkOpen();
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
    const { latch, bound, path } = this.#log;
    latch.check();
    if (toIndex < this.firstIndex) return;
    assert(toIndex <= this.#durableIndex, () => `compact to ${toIndex} of ${this.#durableIndex}`);
    const start = this.position(toIndex);
    this.#dropPrefix(start);
    this.#compacting = this.#compacting
      .then(() => bound.moveStart(start))
      // Only what the file says is archived may be purged: a crash would find a gap in the log.
      .then(() => this.#archive.extend(start.index))
      .catch((error: unknown) => Promise.reject(latch.trip(`compacting ${path}`, error)));
    await this.#compacting;
  }

  async install(snapshot: { index: number; term: number }): Promise<void> {
    this.#checkOpen();
    const { latch, path } = this.#log;
    latch.check();
    assert(this.#appending === undefined, 'an append and an install overlap');
    const installer = this.#installer;
    assert(installer !== undefined, 'a log without snapshots');
    const installing = this.#install(installer, snapshot).catch((error: unknown) => {
      throw latch.trip(`installing a snapshot into ${path}`, error);
    });
    // Whoever closes the log meanwhile waits for it; its failure is told here.
    this.#installing = installing;
    await installing;
    this.#installing = undefined;
  }

  /** The log as it is now, for reading at leisure; closed by the log at the latest. */
  view(): LogView {
    this.#checkOpen();
    const view: LogView = new LogView(this.#log, () => this.#views.delete(view));
    this.#views.add(view);
    return view;
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
    const { terms, cache } = this.#log;
    if (start.index > terms.base) terms.compact(start.index);
    cache.compact(start.index);
    this.#start = start;
  }

  /** Runs a read of verified records; damage found on the way ends all writing, too (I10). */
  #verified<T>(read: (reader: RecordReader) => T): T {
    try {
      return read(this.#log.reader);
    } catch (error) {
      const isDamage = error instanceof StorageError && error.code === 'CORRUPTION';
      if (isDamage) this.#log.latch.trip(`reading ${this.#log.path}`, error);
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
    if (this.#closing === undefined && this.#installing === undefined) return;
    const what = this.#closing === undefined ? 'being replaced by a snapshot' : 'closed';
    throw new StorageError({ code: 'STORE_CLOSED', message: `${this.#log.path} is ${what}` });
  }

  async #install(
    installer: LogInstaller,
    snapshot: { readonly index: number; readonly term: number },
  ): Promise<void> {
    await installer.commit(snapshot);
    await this.#closeFiles();
    const log = await installer.switchOver();
    const { start } = log.bound;
    assert(
      start.index === snapshot.index &&
        start.term === snapshot.term &&
        log.last.index === start.index,
      () => `installed ${snapshot.index}, opened [${start.index}, ${log.last.index}]`,
    );
    this.#log = log;
    this.#start = start;
    this.#archive = new LevelLogArchive(log, start.index);
    this.#last = log.last;
    this.#durableIndex = log.last.index;
    log.guard.start();
  }

  async #close(): Promise<void> {
    await this.#installing?.catch(() => undefined);
    await this.#closeFiles();
  }

  async #closeFiles(): Promise<void> {
    const { latch, db, bound, guard } = this.#log;
    // Who called append or compact hears of its failure; here it only must have ended.
    await this.#appending?.catch(() => undefined);
    await this.#compacting.catch(() => undefined);
    await this.#archive.close();
    for (const view of this.#views) await view.close();
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
