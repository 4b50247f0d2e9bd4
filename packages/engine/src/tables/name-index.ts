// Names inside scopes (partition names inside queues): (scope, bytes) -> row and back. A name costs
// about 10 bytes of slot, 4 bytes of ref by row, and 6 bytes + the name, padded to 8, in the arena.
//
//   arena record  u32 scope (little-endian), name bytes

import { assert } from '@queen-ts/base';
import { ARENA_RECORD_BYTES_MAX, ByteArena, copyBytes, equalBytes } from './byte-arena.ts';
import { U32Column } from './chunked-columns.ts';
import { hashBytes } from './hash.ts';
import { homeOf, RowTable } from './row-table.ts';

/** Bytes of the scope in front of a name. */
const SCOPE_SIZE = 4;

/** Longest name in bytes. */
export const NAME_INDEX_BYTES_MAX = ARENA_RECORD_BYTES_MAX - SCOPE_SIZE;

/** Hash of a name in a scope: any 32-bit integer. Equal names must have equal hashes. */
export type NameHash = (scope: number, bytes: Uint8Array, start: number, length: number) => number;

/** Unique names inside scopes. Rows are numbered by the owner; a row has at most one name. */
export class NameIndex {
  readonly #hash: NameHash;
  readonly #table = new RowTable();
  readonly #arena = new ByteArena();
  readonly #refs = new U32Column();
  /** Keeps a leading byte order mark: it is part of the name. */
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  /** @param hash replaces the default hash, which is seeded with `seed`. */
  constructor(options: { readonly seed?: number; readonly hash?: NameHash } = {}) {
    const seed = options.seed ?? 0;
    this.#hash =
      options.hash ??
      ((scope, bytes, start, length) => hashBytes(seed ^ scope, bytes, start, length));
  }

  /** Names in the index. */
  get count(): number {
    return this.#table.count;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#table.bytes + this.#arena.bytes + this.#refs.bytes;
  }

  /** Row of a name, or 0. */
  find(scope: number, bytes: Uint8Array, start: number, length: number): number {
    const hash = this.#hash(scope, bytes, start, length) >>> 0;
    const segment = this.#table.segmentOf(hash);
    const { slots, slotCount } = segment;
    let slot = homeOf(hash, slotCount);
    for (;;) {
      const row = slots[slot * 2 + 1] as number;
      if (row === 0) return 0;
      if (slots[slot * 2] === hash && this.#isNamed(row, scope, bytes, start, length)) return row;
      slot = slot + 1 === slotCount ? 0 : slot + 1;
    }
  }

  /** Gives an unnamed row a name that is not in the index. The bytes are copied. */
  insert(scope: number, bytes: Uint8Array, start: number, length: number, row: number): void {
    if (length > NAME_INDEX_BYTES_MAX) assert(false, () => `name of ${length} bytes`);
    if (this.has(row)) assert(false, () => `row ${row} has a name already`);
    const ref = this.#arena.reserve(SCOPE_SIZE + length);
    const chunk = this.#arena.chunkOf(ref);
    const at = this.#arena.startOf(ref);
    chunk[at] = scope & 0xff;
    chunk[at + 1] = (scope >>> 8) & 0xff;
    chunk[at + 2] = (scope >>> 16) & 0xff;
    chunk[at + 3] = scope >>> 24;
    copyBytes(chunk, at + SCOPE_SIZE, bytes, start, length);
    this.#refs.ensure(row + 1);
    this.#refs.set(row, ref);
    this.#table.insert(this.#hash(scope, bytes, start, length) >>> 0, row);
  }

  /** Takes a named row's name away. */
  remove(row: number): void {
    const ref = this.#refOf(row);
    const chunk = this.#arena.chunkOf(ref);
    const start = this.#arena.startOf(ref) + SCOPE_SIZE;
    const hash = this.#hash(this.scopeOf(row), chunk, start, this.nameLength(row)) >>> 0;
    this.#table.remove(hash, row);
    this.#arena.free(ref);
    this.#refs.set(row, 0);
  }

  /** Whether the row has a name. */
  has(row: number): boolean {
    return row < this.#refs.rowCount && this.#refs.get(row) !== 0;
  }

  /** Scope of a named row. */
  scopeOf(row: number): number {
    const ref = this.#refOf(row);
    return readScope(this.#arena.chunkOf(ref), this.#arena.startOf(ref));
  }

  /** Length of a named row's name in bytes. */
  nameLength(row: number): number {
    return this.#arena.lengthOf(this.#refOf(row)) - SCOPE_SIZE;
  }

  /** Array that holds a named row's name from {@link nameStart} on; read-only, until the removal. */
  nameChunk(row: number): Uint8Array {
    return this.#arena.chunkOf(this.#refOf(row));
  }

  /** Where a named row's name starts in {@link nameChunk}. */
  nameStart(row: number): number {
    return this.#arena.startOf(this.#refOf(row)) + SCOPE_SIZE;
  }

  /** Copies a named row's name to `target` from `at` on and returns its length. */
  copyName(row: number, target: Uint8Array, at: number): number {
    const length = this.nameLength(row);
    copyBytes(target, at, this.nameChunk(row), this.nameStart(row), length);
    return length;
  }

  /** A named row's name as text. */
  nameText(row: number): string {
    const start = this.nameStart(row);
    return this.#decoder.decode(this.nameChunk(row).subarray(start, start + this.nameLength(row)));
  }

  #isNamed(row: number, scope: number, bytes: Uint8Array, start: number, length: number): boolean {
    const ref = this.#refs.get(row);
    if (this.#arena.lengthOf(ref) !== length + SCOPE_SIZE) return false;
    const chunk = this.#arena.chunkOf(ref);
    const at = this.#arena.startOf(ref);
    return (
      readScope(chunk, at) === scope && equalBytes(chunk, at + SCOPE_SIZE, bytes, start, length)
    );
  }

  #refOf(row: number): number {
    if (!this.has(row)) assert(false, () => `row ${row} has no name`);
    return this.#refs.get(row);
  }
}

function readScope(chunk: Uint8Array, at: number): number {
  return (
    ((chunk[at] as number) |
      ((chunk[at + 1] as number) << 8) |
      ((chunk[at + 2] as number) << 16) |
      ((chunk[at + 3] as number) << 24)) >>>
    0
  );
}
