// The records below the log's start. They lie in the same database under the same keys; any of them
// may be purged once nothing in it is retained, and the map of purges says which were.

import { assert } from '@queen-ts/base';
import type { ArchivedRecord, LogArchive, PayloadRange, PurgedRecord } from '@queen-ts/raft';

import { StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import { encodeHoles } from './holes.ts';
import { HOLES_CHUNK, logKey, ORIGIN_INDEX, PAYLOAD_CHUNK_BYTES } from './keys.ts';
import type { LogDatabase, LogWrite } from './log-database.ts';
import type { RecordHeader } from './record.ts';
import type { RecordReader } from './record-reader.ts';
import type { TableGuard } from './table-guard.ts';

/**
 * Part of a range that must have been purged before the range is rewritten, so that a byte that is given
 * back costs at most three that are written again.
 */
const RECLAIM_SHARE = 0.25;

/** What is rewritten in one go, about. */
const RECLAIM_STEP_BYTES = 134_217_728;

/** An empty range: compacting it only writes what is in memory into a table. */
const NOWHERE = logKey(ORIGIN_INDEX, 0);

/** What an archive works on; owned by the log. */
export interface LogArchiveParts {
  readonly path: string;
  readonly db: LogDatabase;
  readonly reader: RecordReader;
  readonly guard: TableGuard;
  readonly latch: FailureLatch;
}

/** {@link LogArchive} on LevelDB. */
export class LevelLogArchive implements LogArchive {
  readonly #parts: LogArchiveParts;
  /** Last archived index: the durable start of the log. */
  #lastIndex: number;
  /** What was purged since space was given back last; what an earlier process purged is not known. */
  #purged = { from: Infinity, to: 0, bytes: 0 };
  #running: Promise<unknown> | undefined;
  #isClosed = false;

  /** @param lastIndex the start of the log as the durable bound says. */
  constructor(parts: LogArchiveParts, lastIndex: number) {
    this.#parts = parts;
    this.#lastIndex = lastIndex;
  }

  next(from: number, toExclusive: number): ArchivedRecord | undefined {
    const { reader } = this.#parts;
    this.#checkOpen();
    return this.#verified(() => {
      const index = reader.purges.nextKept(from, Math.min(toExclusive, this.#lastIndex + 1));
      if (index === undefined) return undefined;
      const { header, head } = reader.record(index);
      return { index, type: header.type, head, payloadBytes: header.payloadBytes };
    });
  }

  purge(records: readonly PurgedRecord[]): Promise<number> {
    return this.#exclusive(() => this.#purge(records));
  }

  reclaim(): Promise<boolean> {
    return this.#exclusive(() => this.#reclaim());
  }

  /** The start of the log has moved, durably. */
  extend(lastIndex: number): void {
    assert(lastIndex >= this.#lastIndex, () => `archive ${this.#lastIndex} to ${lastIndex}`);
    this.#lastIndex = lastIndex;
  }

  /** Resolves when nothing runs any more; later calls throw STORE_CLOSED. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // Its caller hears of a failure; here it only must have ended.
    await this.#running?.catch(() => undefined);
  }

  async #purge(records: readonly PurgedRecord[]): Promise<number> {
    const { db, reader, guard, latch, path } = this.#parts;
    const operations: LogWrite[] = [];
    const gone: number[] = [];
    let deletedBytes = 0;
    let previous = 0;
    for (const { index, kept } of records) {
      assert(
        index > previous && index <= this.#lastIndex,
        () => `purge of ${index} after ${previous}, archived up to ${this.#lastIndex}`,
      );
      previous = index;
      const header = this.#verified(() => reader.header(index));
      const holes = this.#verified(() => reader.holes(header));
      if (kept.length === 0) {
        deletedBytes += pushRecordDeletes(operations, header, holes);
        gone.push(index);
      } else {
        deletedBytes += pushHoles(operations, header, { holes, kept });
      }
    }
    if (operations.length === 0) return 0;
    reader.purges.mark(gone, operations);
    for (const index of gone) reader.forget(index, index + 1);
    try {
      // A value and its delete that get into a table together stay there: no later level is merged with it.
      const mayFlush = this.#purged.bytes === 0 && guard.uncheckedCount === 0;
      if (mayFlush) await db.compactRange(NOWHERE, NOWHERE);
      // Not synced: after a crash all of the batch is there again, or none of it.
      await db.batch(operations, { sync: false });
    } catch (error) {
      throw latch.trip(`purging ${path}`, error);
    }
    const { from, to, bytes } = this.#purged;
    const first = records[0]?.index ?? Infinity;
    this.#purged = {
      from: Math.min(from, first),
      to: Math.max(to, previous),
      bytes: bytes + deletedBytes,
    };
    return deletedBytes;
  }

  async #reclaim(): Promise<boolean> {
    const { db, guard, latch, path } = this.#parts;
    const { from, to, bytes } = this.#purged;
    if (bytes === 0) return true;
    // LevelDB reads what it rewrites, and may end the process where a table is damaged.
    if (guard.uncheckedCount > 0) return false;
    try {
      const sizeBytes = await db.approximateSize(logKey(from, 0), logKey(to + 1, 0));
      if (bytes < RECLAIM_SHARE * sizeBytes) return false;
      // In steps, so that closing does not wait for all of it.
      const stepCount = Math.ceil(sizeBytes / RECLAIM_STEP_BYTES);
      const step = Math.ceil((to + 1 - from) / Math.max(1, stepCount));
      for (let at = from; at <= to; at += step) {
        if (this.#isClosed) return false;
        await db.compactRange(logKey(at, 0), logKey(Math.min(at + step, to + 1), 0));
      }
    } catch (error) {
      throw latch.trip(`compacting ${path}`, error);
    }
    this.#purged = { from: Infinity, to: 0, bytes: 0 };
    return true;
  }

  async #exclusive<T>(run: () => Promise<T>): Promise<T> {
    this.#checkOpen();
    this.#parts.latch.check();
    assert(this.#running === undefined, 'overlapping work on the archive');
    const running = run();
    this.#running = running;
    try {
      return await running;
    } finally {
      this.#running = undefined;
    }
  }

  #checkOpen(): void {
    if (!this.#isClosed) return;
    throw new StorageError({ code: 'STORE_CLOSED', message: `${this.#parts.path} is closed` });
  }

  /** Damage found on the way ends all writing, too (I10). */
  #verified<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      const { latch, path } = this.#parts;
      const isDamage = error instanceof StorageError && error.code === 'CORRUPTION';
      if (isDamage) latch.trip(`reading the archive of ${path}`, error);
      throw error;
    }
  }
}

function pushRecordDeletes(
  operations: LogWrite[],
  header: RecordHeader,
  holes: ReadonlySet<number>,
): number {
  const { index, headBytes, payloadChecksums } = header;
  let deletedBytes = headBytes;
  operations.push({ type: 'del', key: logKey(index, 0) });
  for (let chunk = 1; chunk <= payloadChecksums.length; chunk++) {
    if (holes.has(chunk)) continue;
    operations.push({ type: 'del', key: logKey(index, chunk) });
    deletedBytes += chunkBytes(header, chunk);
  }
  if (holes.size > 0) operations.push({ type: 'del', key: logKey(index, HOLES_CHUNK) });
  return deletedBytes;
}

/** Deletes the chunks that no kept range touches. */
function pushHoles(
  operations: LogWrite[],
  header: RecordHeader,
  { holes, kept }: { readonly holes: ReadonlySet<number>; readonly kept: readonly PayloadRange[] },
): number {
  const { index, payloadChecksums } = header;
  const needed = chunksOf(header, kept);
  const after = new Set(holes);
  let deletedBytes = 0;
  for (let chunk = 1; chunk <= payloadChecksums.length; chunk++) {
    if (needed.has(chunk)) {
      assert(!holes.has(chunk), () => `chunk ${chunk} of record ${index} is needed, but purged`);
      continue;
    }
    if (holes.has(chunk)) continue;
    after.add(chunk);
    operations.push({ type: 'del', key: logKey(index, chunk) });
    deletedBytes += chunkBytes(header, chunk);
  }
  if (after.size === holes.size) return 0;
  const value = encodeHoles(index, payloadChecksums.length, after);
  operations.push({ type: 'put', key: logKey(index, HOLES_CHUNK), value });
  return deletedBytes;
}

function chunksOf(header: RecordHeader, ranges: readonly PayloadRange[]): ReadonlySet<number> {
  const chunks = new Set<number>();
  for (const { from, toExclusive } of ranges) {
    assert(
      from >= 0 && from <= toExclusive && toExclusive <= header.payloadBytes,
      () => `range [${from}, ${toExclusive}) of ${header.payloadBytes} bytes at ${header.index}`,
    );
    const first = Math.floor(from / PAYLOAD_CHUNK_BYTES);
    const end = from === toExclusive ? from : toExclusive;
    for (let at = first; from < end && at * PAYLOAD_CHUNK_BYTES < end; at++) chunks.add(at + 1);
  }
  return chunks;
}

function chunkBytes({ payloadBytes }: RecordHeader, chunk: number): number {
  return Math.min(PAYLOAD_CHUNK_BYTES, payloadBytes - (chunk - 1) * PAYLOAD_CHUNK_BYTES);
}
