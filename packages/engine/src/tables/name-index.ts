// Names inside scopes (partition names inside queues): (scope, bytes) -> row and back. A name costs
// about 10 bytes of slot, 4 bytes of ref by row, and 10 bytes + the name, padded to 8, in the arena.
// Slots hold refs and records hold rows, so that a lookup misses the cache twice: slot and record.
//
//   arena record  u32 scope, u32 row (little-endian), name bytes

import { assert } from '@queen-ts/base';
import { ARENA_RECORD_BYTES_MAX, ByteArena } from './byte-arena.ts';
import { copyBytes, equalBytes, readU32, writeU32 } from './bytes.ts';
import { U32Column } from './chunked-columns.ts';
import type { FrozenColumn } from './chunked-columns.ts';
import { hashBytes } from './hash.ts';
import { homeOf, RowTable } from './row-table.ts';

/** Bytes in front of the name in a record. */
const HEAD_SIZE = 8;

/** Where the row is in a record. */
const ROW_AT = 4;

/** Rows that one step of {@link NameIndex.indexRestored} hashes. */
const INDEX_STEP_ROWS = 4096;

/** Longest name in bytes. */
export const NAME_INDEX_BYTES_MAX = ARENA_RECORD_BYTES_MAX - HEAD_SIZE;

/** Hash of a name in a scope: any 32-bit integer. Equal names must have equal hashes. */
export type NameHash = (scope: number, bytes: Uint8Array, start: number, length: number) => number;

/** The names of rows at the moment the index was frozen. */
export class FrozenNames {
  readonly #refs: FrozenColumn;
  readonly #arena: ByteArena;

  constructor(refs: FrozenColumn, arena: ByteArena) {
    this.#refs = refs;
    this.#arena = arena;
  }

  /** Length of a named row's name in bytes. */
  nameLength(row: number): number {
    return this.#arena.lengthOf(this.#refs.get(row)) - HEAD_SIZE;
  }

  /** Copies a named row's name to `target` from `at` on. */
  copyName(row: number, target: Uint8Array, at: number): void {
    const ref = this.#refs.get(row);
    const start = this.#arena.startOf(ref) + HEAD_SIZE;
    copyBytes(target, at, this.#arena.chunkOf(ref), start, this.nameLength(row));
  }
}

/** Unique names inside scopes. Rows are numbered by the owner; a row has at most one name. */
export class NameIndex {
  readonly #hash: NameHash;
  /** Hash of a name -> ref of its record. */
  readonly #table = new RowTable();
  readonly #arena = new ByteArena();
  /** Ref of a row's record, 0 = no name. */
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
      const ref = slots[slot * 2 + 1] as number;
      if (ref === 0) return 0;
      if (slots[slot * 2] === hash && this.#isName(ref, scope, bytes, start, length)) {
        return readU32(this.#arena.chunkOf(ref), this.#arena.startOf(ref) + ROW_AT);
      }
      slot = slot + 1 === slotCount ? 0 : slot + 1;
    }
  }

  /** Gives an unnamed row a name that is not in the index. The bytes are copied. */
  insert(scope: number, bytes: Uint8Array, start: number, length: number, row: number): void {
    const ref = this.#write(scope, bytes, start, length, row);
    this.#table.insert(this.#hash(scope, bytes, start, length) >>> 0, ref);
  }

  /** As {@link insert}, but the name cannot be found before {@link indexRestored}. */
  restore(scope: number, bytes: Uint8Array, start: number, length: number, row: number): void {
    this.#write(scope, bytes, start, length, row);
  }

  /**
   * Makes the restored names findable, in steps of bounded work. They are those of rows 1 to `count`
   * and the only ones.
   */
  *indexRestored(count: number): Generator<void> {
    const hashes = new Uint32Array(count);
    const refs = new Uint32Array(count);
    for (let row = 1; row <= count; row += 1) {
      refs[row - 1] = this.#refOf(row);
      hashes[row - 1] = this.#hashOf(row);
      if (row % INDEX_STEP_ROWS === 0) yield;
    }
    yield* this.#table.fill(hashes, refs);
  }

  /** Takes a named row's name away. */
  remove(row: number): void {
    const ref = this.#refOf(row);
    this.#table.remove(this.#hashOf(row), ref);
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
    return readU32(this.#arena.chunkOf(ref), this.#arena.startOf(ref));
  }

  /** Length of a named row's name in bytes. */
  nameLength(row: number): number {
    return this.#arena.lengthOf(this.#refOf(row)) - HEAD_SIZE;
  }

  /** Array that holds a named row's name from {@link nameStart} on; read-only, until the removal. */
  nameChunk(row: number): Uint8Array {
    return this.#arena.chunkOf(this.#refOf(row));
  }

  /** Where a named row's name starts in {@link nameChunk}. */
  nameStart(row: number): number {
    return this.#arena.startOf(this.#refOf(row)) + HEAD_SIZE;
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

  /** Returns the names as they are now; readable until {@link thaw}, whatever changes here. */
  freeze(): FrozenNames {
    this.#arena.freeze();
    return new FrozenNames(this.#refs.freeze(), this.#arena);
  }

  /** Ends {@link freeze}: nobody reads what was frozen any more. */
  thaw(): void {
    this.#arena.thaw();
    this.#refs.thaw();
  }

  #write(scope: number, bytes: Uint8Array, start: number, length: number, row: number): number {
    if (length > NAME_INDEX_BYTES_MAX) assert(false, () => `name of ${length} bytes`);
    if (this.has(row)) assert(false, () => `row ${row} has a name already`);
    const ref = this.#arena.reserve(HEAD_SIZE + length);
    const chunk = this.#arena.chunkOf(ref);
    const at = this.#arena.startOf(ref);
    writeU32(chunk, at, scope);
    writeU32(chunk, at + ROW_AT, row);
    copyBytes(chunk, at + HEAD_SIZE, bytes, start, length);
    this.#refs.ensure(row + 1);
    this.#refs.set(row, ref);
    return ref;
  }

  #isName(ref: number, scope: number, bytes: Uint8Array, start: number, length: number): boolean {
    if (this.#arena.lengthOf(ref) !== length + HEAD_SIZE) return false;
    const chunk = this.#arena.chunkOf(ref);
    const at = this.#arena.startOf(ref);
    return readU32(chunk, at) === scope && equalBytes(chunk, at + HEAD_SIZE, bytes, start, length);
  }

  #hashOf(row: number): number {
    const chunk = this.nameChunk(row);
    return this.#hash(this.scopeOf(row), chunk, this.nameStart(row), this.nameLength(row)) >>> 0;
  }

  #refOf(row: number): number {
    if (!this.has(row)) assert(false, () => `row ${row} has no name`);
    return this.#refs.get(row);
  }
}
