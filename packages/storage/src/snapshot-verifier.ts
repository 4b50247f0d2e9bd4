// Checks the values of a snapshot as they arrive, in the order of their keys: every record proves
// itself, and whatever is missing was purged. The same rules as for reading an archive, applied before
// anything of it is used.

import type { LogPosition } from '@queen-ts/raft';

import { decodeHoles } from './holes.ts';
import { HOLES_CHUNK, parseLogKey, parsePurgePageKey } from './keys.ts';
import { decodePurgePage, isProblem, type PurgeMap } from './purge-map.ts';
import { checkPayloadChunk, decodeRecord, type RecordHeader } from './record.ts';
import type { StreamedValue } from './value-stream.ts';

interface OpenRecord {
  readonly header: RecordHeader;
  /** Chunks seen so far, and those that were purged. */
  readonly seen: Set<number>;
  holes: ReadonlySet<number>;
}

/** Verifies one snapshot. Every method returns what is wrong, or `undefined`. */
export class SnapshotVerifier {
  readonly #position: LogPosition;
  readonly #purges: PurgeMap;
  #lastPage = -1;
  #lastIndex = 0;
  #lastChunk = 0;
  #term = 0;
  #open: OpenRecord | undefined;

  /** @param purges reads the pages that were accepted. */
  constructor(position: LogPosition, purges: PurgeMap) {
    this.#position = position;
    this.#purges = purges;
  }

  /** Takes the next value. */
  accept({ key, value }: StreamedValue): string | undefined {
    const page = parsePurgePageKey(key);
    if (page !== undefined) return this.#page(page, value);
    const found = parseLogKey(key);
    if (found === undefined) return `unexpected key ${Buffer.from(key).toString('hex')}`;
    const { index, chunk } = found;
    const problem = chunk === 0 ? this.#header(index, value) : this.#chunk(found, value);
    return problem && `record ${index} chunk ${chunk}: ${problem}`;
  }

  /** All values were taken. */
  finish(): string | undefined {
    return this.#closeRecord() ?? this.#checkGap(this.#position.index + 1);
  }

  #page(number: number, value: Uint8Array): string | undefined {
    if (number <= this.#lastPage || this.#lastIndex > 0) return `purge page ${number} out of order`;
    this.#lastPage = number;
    const page = decodePurgePage(number, value);
    return isProblem(page) ? `purge page ${number}: ${page.problem}` : undefined;
  }

  #header(index: number, value: Uint8Array): string | undefined {
    if (index <= this.#lastIndex || index > this.#position.index) return 'out of order';
    const problem = this.#closeRecord() ?? this.#checkGap(index);
    if (problem !== undefined) return problem;
    const record = decodeRecord(value);
    if (typeof record === 'string') return record;
    const { header } = record;
    if (header.index !== index) return `holds record ${header.index}`;
    if (header.term < this.#term) return `term ${header.term} after ${this.#term}`;
    if (index === this.#position.index && !this.#isAtPosition(header)) return 'of another history';
    this.#open = { header, seen: new Set(), holes: new Set() };
    this.#lastIndex = index;
    this.#lastChunk = 0;
    this.#term = header.term;
    return undefined;
  }

  #chunk(key: { index: number; chunk: number }, value: Uint8Array): string | undefined {
    const open = this.#open;
    const { index, chunk } = key;
    if (open?.header.index !== index || chunk <= this.#lastChunk) return 'out of order';
    this.#lastChunk = chunk;
    const { header } = open;
    const chunkCount = header.payloadChecksums.length;
    if (chunk === HOLES_CHUNK) {
      const holes = decodeHoles(index, chunkCount, value);
      if (typeof holes === 'string') return holes;
      open.holes = holes;
      return undefined;
    }
    if (chunk > chunkCount) return 'beyond the payload';
    open.seen.add(chunk);
    return checkPayloadChunk(header, chunk, value);
  }

  #closeRecord(): string | undefined {
    const open = this.#open;
    if (open === undefined) return undefined;
    const { header, seen, holes } = open;
    for (let chunk = 1; chunk <= header.payloadChecksums.length; chunk++) {
      if (seen.has(chunk) !== holes.has(chunk)) continue;
      return `record ${header.index} chunk ${chunk}: missing, or not purged as it says`;
    }
    return undefined;
  }

  /** Whether everything between the last record and `index` was purged. */
  #checkGap(index: number): string | undefined {
    const missing = this.#purges.nextKept(this.#lastIndex + 1, index);
    return missing === undefined ? undefined : `record ${missing} is missing`;
  }

  #isAtPosition({ term, checksum }: RecordHeader): boolean {
    return term === this.#position.term && checksum === this.#position.checksum;
  }
}
