// Opening the log: one pass over every record after the point that the caller's state stands at, in
// order, that verifies all of them and hands each verified entry to the caller. LevelDB's own word is not taken for anything: what counts are the
// records' checksums, the chain between them and the durable bound kept outside LevelDB.

import { assert } from '@queen-ts/base';
import type { Entry, LogPosition } from '@queen-ts/raft';

import { DurableBound, type LogPoint, type Schedule } from './durable-bound.ts';
import { EntryCache } from './entry-cache.ts';
import { corruption, describeError, type StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import type { NodeIdentity } from './identity.ts';
import { logKey, ORIGIN_INDEX, PAYLOAD_CHUNK_BYTES, parseLogKey } from './keys.ts';
import { isLevelDamage, type LogLevel, openLogDatabase } from './log-database.ts';
import type { RecoveredLog } from './log-store.ts';
import { preflightLog, type ReadRanges } from './preflight.ts';
import { checkPayloadChunk, decodeRecord, type RecordHeader } from './record.ts';
import { RecordReader } from './record-reader.ts';
import { TableGuard } from './table-guard.ts';
import { TermRanges } from './term-ranges.ts';

/** Values taken from LevelDB at a time; between two takes the event loop runs. */
const WALK_VALUE_COUNT = 256;

/** Bytes taken from LevelDB at a time, before the last value. */
const WALK_BYTES = 524_288;

/** Receives each verified entry in order; the walk waits for a returned promise. */
export type OnEntry = (entry: Entry) => void | Promise<void>;

/** What {@link recoverLog} needs. */
export interface RecoverOptions {
  /** Path of the log directory. */
  readonly path: string;
  readonly boundPath: string;
  readonly owner: NodeIdentity;
  readonly latch: FailureLatch;
  readonly schedule: Schedule;
  readonly writeBufferBytes: number;
  readonly cacheBytes: number;
  readonly onEntry: OnEntry;
  /** Where the walk starts: the log must hold exactly this record. Absent: at the log's start. */
  readonly from: LogPosition | undefined;
  /** Told of damage that leaves nothing in doubt. */
  readonly warn: (warning: string | undefined) => void;
}

/** Verifies and opens the log. Throws CORRUPTION and the errors of its parts; nothing stays open then. */
export async function recoverLog(options: RecoverOptions): Promise<RecoveredLog> {
  const { path, boundPath, owner, latch, schedule } = options;
  const bound = await DurableBound.open({ path: boundPath, owner, latch, schedule });
  options.warn(bound.warning);
  let level: LogLevel | undefined;
  try {
    const tables = await preflightLog(path, rangesOf(options, bound));
    const guard = new TableGuard({ tables, latch, schedule });
    level = await openLogDatabase(path, owner, options.writeBufferBytes);
    const recovered = await walkLog(options, { level, bound, guard });
    // LevelDB has moved its write-ahead file into a synced table, so all that was read is durable.
    bound.advance(recovered.last);
    await bound.flush();
    return recovered;
  } catch (error) {
    await level?.close();
    await bound.close();
    throw error;
  }
}

/** What is read: the origin with the map of purges, and all from the walk's start or the bound on. */
function rangesOf({ from }: RecoverOptions, { start, written }: DurableBound): ReadRanges {
  const fromIndex = Math.min(from?.index ?? start.index, written.index);
  return { toIndex: ORIGIN_INDEX, fromIndex };
}

async function walkLog(
  options: RecoverOptions,
  parts: { readonly level: LogLevel; readonly bound: DurableBound; readonly guard: TableGuard },
): Promise<RecoveredLog> {
  const { path, latch } = options;
  const { level, bound, guard } = parts;
  const reader = new RecordReader(level, path, guard);
  const from = walkStart(options, { bound, reader });
  const terms = new TermRanges(from);
  const cache = new EntryCache(options.cacheBytes);
  const walk = new LogWalk(path, from);
  const iterator = level.iterator({
    gte: logKey(from.index + 1, 0),
    fillCache: false,
    highWaterMarkBytes: WALK_BYTES,
  });
  const take = async (key: Uint8Array, value: Uint8Array): Promise<void> => {
    const entry = walk.accept(key, value);
    if (entry === undefined) return;
    checkBound(bound, walk.last);
    terms.push(entry.index, entry.term);
    cache.push(entry);
    cache.trim(entry.index);
    await options.onEntry(entry);
  };
  try {
    let pairs = await iterator.nextv(WALK_VALUE_COUNT);
    while (pairs.length > 0) {
      for (const [key, value] of pairs) await take(key, value);
      pairs = await iterator.nextv(WALK_VALUE_COUNT);
    }
  } catch (error) {
    throw isLevelDamage(error) ? walk.damage(`LevelDB: ${describeError(error)}`, error) : error;
  } finally {
    await iterator.close();
  }
  walk.finish();
  checkEnd(path, bound, walk.last);
  return { path, db: level, bound, latch, terms, cache, reader, guard, last: walk.last };
}

/** The position before the walk: the log's start, or the record that the caller's state stands at. */
function walkStart(
  { path, from }: RecoverOptions,
  { bound, reader }: { readonly bound: DurableBound; readonly reader: RecordReader },
): LogPosition {
  const { start, written } = bound;
  if (from === undefined) return start;
  const where = `${path} record ${from.index}`;
  if (from.index === start.index) {
    if (from.term === start.term && from.checksum === start.checksum) return start;
    throw corruption(where, 'not the record that a checkpoint was taken at: another history');
  }
  if (from.index < start.index) {
    throw corruption(path, `begins after record ${start.index}, and the state before it is lost`);
  }
  const found = reader.find(from.index);
  if (found === undefined) throw corruption(where, 'missing, but a checkpoint was taken there');
  if (found.term !== from.term || found.checksum !== from.checksum) {
    throw corruption(where, 'not the record that a checkpoint was taken at: another history');
  }
  // A bound after that record is checked by the walk.
  if (written.index > start.index && written.index <= from.index) {
    const { checksum } = reader.header(written.index);
    checkBound(bound, { index: written.index, checksum });
  }
  return from;
}

function checkBound(bound: DurableBound, last: LogPoint): void {
  if (last.index !== bound.written.index || last.checksum === bound.written.checksum) return;
  throw corruption(bound.path, `record ${last.index} of the log is not the one that was synced`);
}

function checkEnd(path: string, bound: DurableBound, last: LogPoint): void {
  const durable = bound.written.index;
  if (last.index >= durable) return;
  throw corruption(path, `the log ends at record ${last.index}, but record ${durable} was synced`);
}

/** Puts the values of the log together again and verifies each against what must come next. */
class LogWalk {
  readonly #path: string;
  #last: LogPoint;
  #term: number;
  /** The record whose payload chunks are being read. */
  #open: { readonly header: RecordHeader; readonly head: Uint8Array } | undefined;
  #payload = new Uint8Array(0);
  #nextChunk = 0;

  constructor(path: string, start: LogPosition) {
    this.#path = path;
    this.#last = { index: start.index, checksum: start.checksum };
    this.#term = start.term;
  }

  /** The last complete record, or the log start. */
  get last(): LogPoint {
    return this.#last;
  }

  /** Takes the next value; returns the entry that it completes. */
  accept(key: Uint8Array, value: Uint8Array): Entry | undefined {
    const found = parseLogKey(key);
    if (found === undefined) {
      throw this.damage(`unexpected key ${Buffer.from(key).toString('hex')}`);
    }
    if (found.index !== this.#last.index + 1 || found.chunk !== this.#nextChunk) {
      throw this.damage(`missing; record ${found.index} chunk ${found.chunk} follows`);
    }
    if (this.#open === undefined) this.#acceptHeader(value);
    else this.#acceptPayload(this.#open.header, value);
    return this.#complete();
  }

  /** Checks that the log does not end inside a record. */
  finish(): void {
    if (this.#open !== undefined) throw this.damage('missing; the log ends before it');
  }

  /** The CORRUPTION error for the value that is due now. */
  damage(what: string, cause?: unknown): StorageError {
    const where = `${this.#path} record ${this.#last.index + 1} chunk ${this.#nextChunk}`;
    return corruption(where, what, cause);
  }

  #acceptHeader(value: Uint8Array): void {
    const record = decodeRecord(value);
    if (typeof record === 'string') throw this.damage(record);
    const { header } = record;
    if (header.index !== this.#last.index + 1) throw this.damage(`holds record ${header.index}`);
    if (header.previousChecksum !== this.#last.checksum) {
      throw this.damage('does not follow the record before it');
    }
    if (header.term < this.#term) throw this.damage(`term ${header.term} after ${this.#term}`);
    this.#open = record;
    this.#nextChunk = 1;
    this.#payload = new Uint8Array(header.payloadBytes);
  }

  #acceptPayload(header: RecordHeader, value: Uint8Array): void {
    const problem = checkPayloadChunk(header, this.#nextChunk, value);
    if (problem !== undefined) throw this.damage(problem);
    this.#payload.set(value, (this.#nextChunk - 1) * PAYLOAD_CHUNK_BYTES);
    this.#nextChunk++;
  }

  #complete(): Entry | undefined {
    assert(this.#open !== undefined, 'a value belongs to a record');
    const { header, head } = this.#open;
    if (this.#nextChunk <= header.payloadChecksums.length) return undefined;
    const { term, index, type } = header;
    const entry: Entry = { term, index, type, head, payload: this.#payload };
    this.#last = { index, checksum: header.checksum };
    this.#term = term;
    this.#open = undefined;
    this.#nextChunk = 0;
    return entry;
  }
}
