// Reads single records back from the log database and verifies every byte it returns. Headers of the
// records read last are kept, so that a slice of a big payload costs only the chunks it lies in. What
// is missing was either purged, and then it says so, or it is damage.

import { assert } from '@queen-ts/base';
import type { Entry } from '@queen-ts/raft';

import { corruption, describeError, StorageError } from './errors.ts';
import { decodeHoles } from './holes.ts';
import { HOLES_CHUNK, logKey, ORIGIN_INDEX, PAYLOAD_CHUNK_BYTES } from './keys.ts';
import { PurgeMap } from './purge-map.ts';
import {
  checkPayloadChunk,
  decodeRecord,
  type DecodedRecord,
  type RecordHeader,
} from './record.ts';

/** Bound on the kept headers, in bytes: 4 per payload chunk and a fixed cost each. */
const HEADER_CACHE_BYTES_MAX = 2_097_152;

const HEADER_OVERHEAD_BYTES = 256;

/** Throws CORRUPTION when LevelDB must not read a chunk. */
export interface ReadGuard {
  check(index: number, chunk: number): void;
}

const NO_GUARD: ReadGuard = { check: () => undefined };
const NO_HOLES: ReadonlySet<number> = new Set();

/** The part of the database that is read: as it is now, or as a snapshot of LevelDB holds it. */
export interface ReadableDatabase {
  getSync(key: Uint8Array): Uint8Array | undefined;
}

/** Reads and verifies records; keeps recently used headers. */
export class RecordReader {
  /** Which records were purged. */
  readonly purges: PurgeMap;
  readonly #db: ReadableDatabase;
  readonly #path: string;
  readonly #guard: ReadGuard;
  /** In order of use, oldest first. */
  readonly #headers = new Map<number, RecordHeader>();
  #sizeBytes = 0;

  /**
   * @param path of the log directory, for messages.
   * @param guard asked before each read of the database.
   */
  constructor(db: ReadableDatabase, path: string, guard: ReadGuard = NO_GUARD) {
    // Whatever holds keys of index 0 was verified when the log was opened.
    this.purges = new PurgeMap((key) => this.#getValue(key, ORIGIN_INDEX, HOLES_CHUNK), path);
    this.#db = db;
    this.#path = path;
    this.#guard = guard;
  }

  /** Keeps `header`, and drops the least recently used ones beyond the bound. */
  remember(header: RecordHeader): void {
    this.#drop(header.index);
    this.#headers.set(header.index, header);
    this.#sizeBytes += costOf(header);
    if (this.#sizeBytes <= HEADER_CACHE_BYTES_MAX) return;
    const oldest = this.#headers.keys().next();
    if (oldest.done !== true) this.#drop(oldest.value);
  }

  /** Drops the headers in [from, toExclusive), which are truncated. */
  forget(from: number, toExclusive: number): void {
    if (toExclusive - from < this.#headers.size) {
      for (let index = from; index < toExclusive; index++) this.#drop(index);
      return;
    }
    for (const index of this.#headers.keys()) {
      if (index >= from && index < toExclusive) this.#drop(index);
    }
  }

  /** The header of the record at `index`, which exists. Throws CORRUPTION, LOG_COMPACTED if purged. */
  header(index: number): RecordHeader {
    const kept = this.#headers.get(index);
    if (kept === undefined) return this.record(index).header;
    this.remember(kept);
    return kept;
  }

  /** The header of the record at `index`, `undefined` if there is none. Throws CORRUPTION. */
  find(index: number): RecordHeader | undefined {
    return this.#get(index, 0) === undefined ? undefined : this.header(index);
  }

  /** Header and head of the record at `index`, which exists. Throws as {@link header}. */
  record(index: number): DecodedRecord {
    const record = decodeRecord(this.#readChunk0(index));
    if (typeof record === 'string') throw this.#damage(index, 0, record);
    const found = record.header.index;
    if (found !== index) throw this.#damage(index, 0, `holds record ${found}`);
    this.remember(record.header);
    return record;
  }

  /** The whole entry of `record`. Throws CORRUPTION. */
  entry({ header, head }: DecodedRecord): Entry {
    const { term, index, type, payloadBytes } = header;
    const payload = this.payload(header, 0, payloadBytes);
    return { term, index, type, head, payload };
  }

  /** The payload chunks of a record that were purged, 1-based. Throws CORRUPTION. */
  holes({ index, payloadChecksums }: RecordHeader): ReadonlySet<number> {
    const bytes = this.#get(index, HOLES_CHUNK);
    if (bytes === undefined) return NO_HOLES;
    const holes = decodeHoles(index, payloadChecksums.length, bytes);
    if (typeof holes === 'string') throw this.#damage(index, HOLES_CHUNK, holes);
    return holes;
  }

  /** One chunk of a payload, 1-based; throws as {@link payload}. */
  chunk(header: RecordHeader, chunk: number): Uint8Array {
    return this.#chunk(header, chunk);
  }

  /** Bytes [from, toExclusive) of the payload; reads only the chunks they lie in. Throws as {@link header}. */
  payload(header: RecordHeader, from: number, toExclusive: number): Uint8Array {
    assert(
      from >= 0 && from <= toExclusive && toExclusive <= header.payloadBytes,
      () => `payload [${from}, ${toExclusive}) of ${header.payloadBytes} bytes at ${header.index}`,
    );
    if (from === toExclusive) return new Uint8Array(0);
    const firstChunk = Math.floor(from / PAYLOAD_CHUNK_BYTES) + 1;
    const lastChunk = Math.floor((toExclusive - 1) / PAYLOAD_CHUNK_BYTES) + 1;
    const base = (firstChunk - 1) * PAYLOAD_CHUNK_BYTES;
    if (firstChunk === lastChunk) {
      return this.#chunk(header, firstChunk).subarray(from - base, toExclusive - base);
    }
    const bytes = new Uint8Array(toExclusive - from);
    for (let chunk = firstChunk; chunk <= lastChunk; chunk++) {
      const start = (chunk - 1) * PAYLOAD_CHUNK_BYTES;
      const slice = this.#chunk(header, chunk);
      const skip = Math.max(0, from - start);
      bytes.set(slice.subarray(skip, toExclusive - start), start + skip - from);
    }
    return bytes;
  }

  #chunk(header: RecordHeader, chunk: number): Uint8Array {
    const bytes = this.#get(header.index, chunk);
    if (bytes === undefined) {
      if (this.holes(header).has(chunk)) throw this.#purged(header.index, chunk);
      throw this.#damage(header.index, chunk, 'missing');
    }
    const problem = checkPayloadChunk(header, chunk, bytes);
    if (problem !== undefined) throw this.#damage(header.index, chunk, problem);
    return bytes;
  }

  #readChunk0(index: number): Uint8Array {
    const bytes = this.#get(index, 0);
    if (bytes !== undefined) return bytes;
    if (this.purges.has(index)) throw this.#purged(index, 0);
    throw this.#damage(index, 0, 'missing');
  }

  #get(index: number, chunk: number): Uint8Array | undefined {
    return this.#getValue(logKey(index, chunk), index, chunk);
  }

  #getValue(key: Uint8Array, index: number, chunk: number): Uint8Array | undefined {
    this.#guard.check(index, chunk);
    try {
      return this.#db.getSync(key);
    } catch (error) {
      throw this.#damage(index, chunk, `LevelDB: ${describeError(error)}`, error);
    }
  }

  #damage(index: number, chunk: number, what: string, cause?: unknown): StorageError {
    return corruption(`${this.#path} record ${index} chunk ${chunk}`, what, cause);
  }

  #purged(index: number, chunk: number): StorageError {
    const message = `${this.#path} record ${index} chunk ${chunk}: purged, nothing in it was retained`;
    return new StorageError({ code: 'LOG_COMPACTED', message, details: { index } });
  }

  #drop(index: number): void {
    const header = this.#headers.get(index);
    if (header === undefined) return;
    this.#headers.delete(index);
    this.#sizeBytes -= costOf(header);
  }
}

function costOf(header: RecordHeader): number {
  return header.payloadChecksums.byteLength + HEADER_OVERHEAD_BYTES;
}
