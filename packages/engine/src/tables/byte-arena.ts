// Byte strings of up to 64 KiB in 1 MiB chunks. A record is a 2-byte length and the bytes, padded to
// 8 bytes; a ref is its position / 8, so that 32 bits reach 32 GiB. A freed record is chained in a
// free list of its size and used again by the next record of that size; larger ones (over 1 KiB) are
// only counted, and the owner may rebuild into a new arena when `freedBytes` says so.
//
// A live record never changes, so freezing the arena means to free nothing: refs that die meanwhile are
// kept aside and freed bit by bit afterwards.
//
//   live   u16 length (little-endian), bytes, padding
//   freed  u32 next free ref of the same size (0 = none)

import { assert } from '@queen-ts/base';
import { copyBytes, equalBytes, readU32, writeU32 } from './bytes.ts';
import { U32Column } from './chunked-columns.ts';

/** log2 of the chunk size in bytes. */
const CHUNK_SHIFT = 20;

const CHUNK_SIZE = 1 << CHUNK_SHIFT;

/** log2 of the alignment of records in bytes. */
const ALIGN_SHIFT = 3;

/** log2 of the refs in a chunk. */
const REF_SHIFT = CHUNK_SHIFT - ALIGN_SHIFT;

const REF_MASK = (1 << REF_SHIFT) - 1;

/** Bytes of the length in front of a record. */
const LENGTH_SIZE = 2;

/** Longest record in bytes. */
export const ARENA_RECORD_BYTES_MAX = 65_535;

/** Sizes of records, in units of 8 bytes, that are used again after being freed. */
const FREE_UNITS_MAX = 128;

/** Kept-aside refs that one call frees after a thaw. */
const LATE_FREES_PER_CALL = 4;

/** Owns byte strings that are named by 32-bit refs; 0 is no ref. */
export class ByteArena {
  readonly #chunks: Uint8Array[] = [];
  /** Head of the free list of each size in units. */
  readonly #freeHeads = new Uint32Array(FREE_UNITS_MAX + 1);
  /** Next ref to use at the end of the last chunk. Ref 0 stays unused. */
  #nextRef = 1;
  #freedBytes = 0;
  #isFrozen = false;
  /** Stack of refs whose life ended while the arena was frozen. */
  readonly #lateFrees = new U32Column();
  #lateFreeCount = 0;

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#chunks.length * CHUNK_SIZE + this.#lateFrees.bytes;
  }

  /** Bytes of freed records, padding included, that no live record uses now. */
  get freedBytes(): number {
    return this.#freedBytes;
  }

  /** Copies `length` bytes into the arena and returns the ref. */
  add(bytes: Uint8Array, start: number, length: number): number {
    const ref = this.reserve(length);
    copyBytes(this.chunkOf(ref), this.startOf(ref), bytes, start, length);
    return ref;
  }

  /**
   * Returns the ref of a record of `length` bytes with undefined content; the caller fills
   * {@link chunkOf} from {@link startOf} on at once.
   */
  reserve(length: number): number {
    if (!(length >= 0 && length <= ARENA_RECORD_BYTES_MAX)) {
      assert(false, () => `arena record of ${length} bytes`);
    }
    const units = unitsOf(length);
    if (this.#lateFreeCount > 0 && !this.#isFrozen) this.#freeLate();
    const ref = this.#takeFree(units) || this.#takeNew(units);
    const chunk = this.chunkOf(ref);
    const at = (ref & REF_MASK) << ALIGN_SHIFT;
    chunk[at] = length & 0xff;
    chunk[at + 1] = length >>> 8;
    return ref;
  }

  /** Ends the life of a record. The ref must be live and may not be used again. */
  free(ref: number): void {
    if (this.#isFrozen) {
      this.#lateFrees.ensure(this.#lateFreeCount + 1);
      this.#lateFrees.set(this.#lateFreeCount, ref);
      this.#lateFreeCount += 1;
      return;
    }
    if (this.#lateFreeCount > 0) this.#freeLate();
    this.#free(ref);
  }

  /** Keeps every record that is live now readable, whatever is freed, until {@link thaw}. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Ends {@link freeze}. */
  thaw(): void {
    this.#isFrozen = false;
  }

  /** Chunk that holds the record. Valid until the record is freed. */
  chunkOf(ref: number): Uint8Array {
    const chunk = this.#chunks[ref >>> REF_SHIFT];
    if (chunk === undefined || ref === 0) assert(false, () => `no arena record ${ref}`);
    return chunk as Uint8Array;
  }

  /** Where the record's bytes start in {@link chunkOf}. */
  startOf(ref: number): number {
    return ((ref & REF_MASK) << ALIGN_SHIFT) + LENGTH_SIZE;
  }

  /** Length of the record in bytes. */
  lengthOf(ref: number): number {
    const chunk = this.chunkOf(ref);
    const at = (ref & REF_MASK) << ALIGN_SHIFT;
    return (chunk[at] as number) | ((chunk[at + 1] as number) << 8);
  }

  /** Copies the record to `target` from `at` on and returns its length. */
  copyInto(ref: number, target: Uint8Array, at: number): number {
    const length = this.lengthOf(ref);
    copyBytes(target, at, this.chunkOf(ref), this.startOf(ref), length);
    return length;
  }

  /** Whether the record equals `length` bytes of `bytes` from `start` on. */
  equals(ref: number, bytes: Uint8Array, start: number, length: number): boolean {
    if (this.lengthOf(ref) !== length) return false;
    return equalBytes(this.chunkOf(ref), this.startOf(ref), bytes, start, length);
  }

  #freeLate(): void {
    for (let i = 0; i < LATE_FREES_PER_CALL && this.#lateFreeCount > 0; i += 1) {
      this.#lateFreeCount -= 1;
      this.#free(this.#lateFrees.get(this.#lateFreeCount));
    }
  }

  #free(ref: number): void {
    const units = unitsOf(this.lengthOf(ref));
    this.#freedBytes += units << ALIGN_SHIFT;
    if (units > FREE_UNITS_MAX) return;
    const chunk = this.chunkOf(ref);
    const at = (ref & REF_MASK) << ALIGN_SHIFT;
    writeU32(chunk, at, this.#freeHeads[units] as number);
    this.#freeHeads[units] = ref;
  }

  #takeFree(units: number): number {
    if (units > FREE_UNITS_MAX) return 0;
    const ref = this.#freeHeads[units] as number;
    if (ref === 0) return 0;
    this.#freeHeads[units] = readU32(this.chunkOf(ref), (ref & REF_MASK) << ALIGN_SHIFT);
    this.#freedBytes -= units << ALIGN_SHIFT;
    return ref;
  }

  #takeNew(units: number): number {
    const room = this.#chunks.length * (REF_MASK + 1) - this.#nextRef;
    if (room < units) {
      const first = this.#chunks.length * (REF_MASK + 1);
      assert(first + REF_MASK < 2 ** 32, 'the byte arena is full');
      this.#freedBytes += this.#chunks.length === 0 ? 0 : room << ALIGN_SHIFT;
      this.#chunks.push(new Uint8Array(CHUNK_SIZE));
      this.#nextRef = Math.max(first, 1);
    }
    const ref = this.#nextRef;
    this.#nextRef += units;
    return ref;
  }
}

function unitsOf(length: number): number {
  return (length + LENGTH_SIZE + 7) >>> ALIGN_SHIFT;
}
