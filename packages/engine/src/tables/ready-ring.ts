// The partitions of one queue that one group may look at next: a FIFO of ordinals in which each
// appears at most once. There is one per (queue, group), so an empty one must cost nothing. Removal
// is lazy: the owner skips an ordinal that turns out not to be ready when it is shifted.

import { assert } from '@queen-ts/base';

/** Ordinals in a full chunk of the queue. */
const CHUNK_ORDINALS = 1024;

/** Ordinals in the first chunk of a queue. */
const CHUNK_ORDINALS_MIN = 8;

/** Words in a full chunk of membership bits. */
const BIT_WORDS = 1024;

/** log2 of the ordinals in a full chunk of bits. */
const BIT_SHIFT = 15;

/** Stands for a spent chunk. */
const SPENT = new Uint32Array(0);

/** FIFO of distinct ordinals in [0, 2^32): one bit an ordinal and 4 bytes a queued one. */
export class ReadyRing {
  readonly #bits: (Uint32Array | undefined)[] = [];
  /** Chunks in queue order; those before `#headChunk` are spent. */
  #chunks: Uint32Array[] = [];
  #headChunk = 0;
  /** Next position to read in the head chunk and to write in the last one. */
  #headAt = 0;
  #tailAt = 0;
  #size = 0;

  /** Queued ordinals. */
  get size(): number {
    return this.#size;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    let bytes = 0;
    for (const chunk of this.#chunks) bytes += chunk.byteLength;
    for (const chunk of this.#bits) bytes += chunk?.byteLength ?? 0;
    return bytes;
  }

  /** Appends an ordinal; false when it is queued already. */
  push(ordinal: number): boolean {
    if (ordinal !== ordinal >>> 0) assert(false, () => `ordinal ${ordinal}`);
    const bits = this.#bitsFor(ordinal);
    const word = (ordinal >>> 5) & (BIT_WORDS - 1);
    const mask = 1 << (ordinal & 31);
    if (((bits[word] as number) & mask) !== 0) return false;
    bits[word] = (bits[word] as number) | mask;
    const chunk = this.#tailChunk();
    chunk[this.#tailAt] = ordinal;
    this.#tailAt += 1;
    this.#size += 1;
    return true;
  }

  /** Removes and returns the oldest ordinal, or -1. */
  shift(): number {
    if (this.#size === 0) return -1;
    const chunk = this.#chunks[this.#headChunk] as Uint32Array;
    const ordinal = chunk[this.#headAt] as number;
    this.#headAt += 1;
    this.#size -= 1;
    const bits = this.#bits[ordinal >>> BIT_SHIFT] as Uint32Array;
    const word = (ordinal >>> 5) & (BIT_WORDS - 1);
    bits[word] = (bits[word] as number) & ~(1 << (ordinal & 31));
    if (this.#size === 0) this.#reset();
    else if (this.#headAt === chunk.length) this.#dropHead();
    return ordinal;
  }

  /** Whether the ordinal is queued. */
  has(ordinal: number): boolean {
    const bits = this.#bits[ordinal >>> BIT_SHIFT];
    const word = (ordinal >>> 5) & (BIT_WORDS - 1);
    if (bits === undefined || word >= bits.length) return false;
    return ((bits[word] as number) & (1 << (ordinal & 31))) !== 0;
  }

  /** Empties the ring and gives its memory back. */
  clear(): void {
    this.#bits.length = 0;
    this.#chunks = [];
    this.#headChunk = 0;
    this.#headAt = 0;
    this.#tailAt = 0;
    this.#size = 0;
  }

  /** Bits of an ordinal's chunk, grown in powers of two so that a small queue stays small. */
  #bitsFor(ordinal: number): Uint32Array {
    const position = ordinal >>> BIT_SHIFT;
    const word = (ordinal >>> 5) & (BIT_WORDS - 1);
    const old = this.#bits[position];
    if (old !== undefined && word < old.length) return old;
    let length = old?.length ?? 1;
    while (length <= word) length *= 2;
    const bits = new Uint32Array(length);
    if (old !== undefined) bits.set(old);
    while (this.#bits.length < position) this.#bits.push(undefined);
    this.#bits[position] = bits;
    return bits;
  }

  /** Chunk with room at `#tailAt`. */
  #tailChunk(): Uint32Array {
    const last = this.#chunks.at(-1);
    if (last !== undefined && this.#tailAt < last.length) return last;
    const length = last === undefined ? CHUNK_ORDINALS_MIN : last.length * 4;
    const chunk = new Uint32Array(Math.min(length, CHUNK_ORDINALS));
    this.#chunks.push(chunk);
    this.#tailAt = 0;
    return chunk;
  }

  /** Forgets the spent head chunk; the array of chunks is cut once half of it is spent. */
  #dropHead(): void {
    this.#headAt = 0;
    this.#chunks[this.#headChunk] = SPENT;
    this.#headChunk += 1;
    if (this.#headChunk * 2 < this.#chunks.length) return;
    this.#chunks = this.#chunks.slice(this.#headChunk);
    this.#headChunk = 0;
  }

  /** Keeps the smallest possible chunk of an empty queue: most rings are empty most of the time. */
  #reset(): void {
    const last = this.#chunks.at(-1) as Uint32Array;
    this.#chunks = last.length > CHUNK_ORDINALS_MIN ? [] : [last];
    this.#headChunk = 0;
    this.#headAt = 0;
    this.#tailAt = 0;
  }
}
