// Which records at or below the log's start were deleted on purpose, so that a record that is missing
// for any other reason is noticed as damage (I10). One bit a record, in pages that are written in the
// same batch as the deletes. Value of a page, integers big-endian:
//
//   offset  size   field
//   0       4      CRC-32 of bytes [4, end) and of the page's number (8 bytes)
//   4       1      format version, 1
//   5       1      1: all records of the page are purged, and no bits follow; else 0
//   6       2      zero
//   8       4,096  bit i % 8 of byte i / 8: record (page number * 32,768 + i) is purged
//
// A page that does not exist says that nothing of it was purged.

import { crc32 } from 'node:zlib';

import { assert } from '@queen-ts/base';

import { viewOf, writeU64 } from './big-endian.ts';
import { corruption } from './errors.ts';
import { purgePageKey } from './keys.ts';
import type { LogWrite } from './log-database.ts';

/** Records that one page speaks of. */
const PURGE_PAGE_RECORDS = 32_768;

const VERSION = 1;
const HEADER_BYTES = 8;
const BITS_BYTES = PURGE_PAGE_RECORDS / 8;
/** Pages kept in memory, 4 KiB each. */
const PAGES_MAX = 256;

/** The bits of a page; `'all'`: every one is set. */
export type PurgePage = Uint8Array | 'all';

const EMPTY_PAGE: PurgePage = new Uint8Array(BITS_BYTES);

/** Reads and extends the map. */
export class PurgeMap {
  readonly #read: (key: Uint8Array) => Uint8Array | undefined;
  readonly #path: string;
  /** In the order of use, oldest first. */
  readonly #pages = new Map<number, PurgePage>();

  /**
   * @param read gives a value of the log database.
   * @param path of the log directory, for messages.
   */
  constructor(read: (key: Uint8Array) => Uint8Array | undefined, path: string) {
    this.#read = read;
    this.#path = path;
  }

  /** Whether the record at `index` was purged. Throws CORRUPTION. */
  has(index: number): boolean {
    const page = this.#page(pageOf(index));
    return page === 'all' || isSet(page, index % PURGE_PAGE_RECORDS);
  }

  /** The first index in [from, toExclusive) that was not purged; `undefined` if there is none. */
  nextKept(from: number, toExclusive: number): number | undefined {
    for (let index = Math.max(1, from); index < toExclusive;) {
      const page = this.#page(pageOf(index));
      const pageEnd = Math.min(toExclusive, (pageOf(index) + 1) * PURGE_PAGE_RECORDS);
      index = page === 'all' ? pageEnd : nextClear(page, index, pageEnd);
      if (index < pageEnd) return index;
    }
    return undefined;
  }

  /**
   * Marks records as purged, for readers from now on, and adds the pages to a batch. A batch that fails
   * must end all use of the map.
   */
  mark(indexes: readonly number[], operations: LogWrite[]): void {
    const changed = new Map<number, Uint8Array>();
    for (const index of indexes) {
      assert(index >= 1, () => `record ${index} cannot be purged`);
      const number = pageOf(index);
      const bits = changed.get(number) ?? bitsOf(this.#page(number));
      changed.set(number, bits);
      const at = index % PURGE_PAGE_RECORDS;
      bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
    }
    for (const [number, bits] of changed) {
      // There is no record 0: its bit in the first page is set with the first of its neighbours.
      if (number === 0) bits[0] = (bits[0] ?? 0) | 1;
      const page = bits.every((byte) => byte === 0xff) ? 'all' : bits;
      operations.push({ type: 'put', key: purgePageKey(number), value: encodePage(number, page) });
      this.#keep(number, page);
    }
  }

  /** Numbers of the pages that speak of indexes in [0, toIndex]. */
  static pageCount(toIndex: number): number {
    return pageOf(toIndex) + 1;
  }

  #page(number: number): PurgePage {
    const kept = this.#pages.get(number);
    if (kept !== undefined) {
      this.#keep(number, kept);
      return kept;
    }
    const bytes = this.#read(purgePageKey(number));
    const page = bytes === undefined ? EMPTY_PAGE : decodePurgePage(number, bytes);
    if (isProblem(page)) throw corruption(`${this.#path} purge page ${number}`, page.problem);
    this.#keep(number, page);
    return page;
  }

  #keep(number: number, page: PurgePage): void {
    this.#pages.delete(number);
    this.#pages.set(number, page);
    if (this.#pages.size <= PAGES_MAX) return;
    const oldest = this.#pages.keys().next();
    if (oldest.done !== true) this.#pages.delete(oldest.value);
  }
}

/** Decodes and verifies a page; what is wrong comes back as `problem`. */
export function decodePurgePage(
  number: number,
  bytes: Uint8Array,
): PurgePage | { readonly problem: string } {
  if (bytes.byteLength < HEADER_BYTES) return { problem: `only ${bytes.byteLength} bytes` };
  const view = viewOf(bytes);
  if (checksumOf(number, bytes) !== view.getUint32(0)) return { problem: 'checksum mismatch' };
  const version = view.getUint8(4);
  if (version !== VERSION) return { problem: `unknown version ${version}` };
  const isAll = view.getUint8(5) === 1;
  const size = HEADER_BYTES + (isAll ? 0 : BITS_BYTES);
  if (bytes.byteLength !== size) return { problem: `${bytes.byteLength} bytes, not ${size}` };
  return isAll ? 'all' : bytes.subarray(HEADER_BYTES);
}

/** Tells a page from what is wrong with one. */
export function isProblem(
  page: PurgePage | { readonly problem: string },
): page is { readonly problem: string } {
  return page !== 'all' && 'problem' in page;
}

function encodePage(number: number, page: PurgePage): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + (page === 'all' ? 0 : BITS_BYTES));
  const view = viewOf(bytes);
  view.setUint8(4, VERSION);
  view.setUint8(5, page === 'all' ? 1 : 0);
  if (page !== 'all') bytes.set(page, HEADER_BYTES);
  view.setUint32(0, checksumOf(number, bytes));
  return bytes;
}

function checksumOf(number: number, bytes: Uint8Array): number {
  const suffix = new Uint8Array(8);
  writeU64(viewOf(suffix), 0, number);
  return crc32(suffix, crc32(bytes.subarray(4)));
}

function bitsOf(page: PurgePage): Uint8Array {
  return page === 'all' ? new Uint8Array(BITS_BYTES).fill(0xff) : page.slice();
}

function pageOf(index: number): number {
  return Math.floor(index / PURGE_PAGE_RECORDS);
}

/** The first index in [index, end) of one page whose bit is clear; `end` if there is none. */
function nextClear(bits: Uint8Array, index: number, end: number): number {
  let next = index;
  while (next < end && isSet(bits, next % PURGE_PAGE_RECORDS)) next++;
  return next;
}

function isSet(bits: Uint8Array, at: number): boolean {
  return ((bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
}
