// Reads single records back from the log database and verifies every byte it returns. Headers of the
// records read last are kept, so that a slice of a big payload costs only the chunks it lies in.

import { assert } from '@queen-ts/base';
import type { Entry } from '@queen-ts/raft';

import { corruption, describeError, type StorageError } from './errors.ts';
import type { LogDatabase } from './log-database.ts';
import { logKey, PAYLOAD_CHUNK_BYTES } from './keys.ts';
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

/** Reads and verifies records; keeps recently used headers. */
export class RecordReader {
  readonly #db: LogDatabase;
  readonly #path: string;
  readonly #guard: ReadGuard;
  /** In order of use, oldest first. */
  readonly #headers = new Map<number, RecordHeader>();
  #sizeBytes = 0;

  /**
   * @param path of the log directory, for messages.
   * @param guard asked before each read of the database.
   */
  constructor(db: LogDatabase, path: string, guard: ReadGuard = NO_GUARD) {
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

  /** The header of the record at `index`, which exists. Throws CORRUPTION. */
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

  /** Header and head of the record at `index`, which exists. Throws CORRUPTION. */
  record(index: number): DecodedRecord {
    const record = decodeRecord(this.#read(index, 0));
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

  /** Bytes [from, toExclusive) of the payload; reads only the chunks they lie in. Throws CORRUPTION. */
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
    const bytes = this.#read(header.index, chunk);
    const problem = checkPayloadChunk(header, chunk, bytes);
    if (problem !== undefined) throw this.#damage(header.index, chunk, problem);
    return bytes;
  }

  #read(index: number, chunk: number): Uint8Array {
    const bytes = this.#get(index, chunk);
    if (bytes === undefined) throw this.#damage(index, chunk, 'missing');
    return bytes;
  }

  #get(index: number, chunk: number): Uint8Array | undefined {
    this.#guard.check(index, chunk);
    try {
      return this.#db.getSync(logKey(index, chunk));
    } catch (error) {
      throw this.#damage(index, chunk, `LevelDB: ${describeError(error)}`, error);
    }
  }

  #damage(index: number, chunk: number, what: string, cause?: unknown): StorageError {
    return corruption(`${this.#path} record ${index} chunk ${chunk}`, what, cause);
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
