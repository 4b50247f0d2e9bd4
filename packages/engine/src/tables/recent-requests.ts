// Outcomes of recent requests by request id. Records lie in chunks in the order they came; the oldest
// chunk goes when its newest record is older than the window, or when all together are too large. An
// index of positions finds a record, so that a request costs 24 bytes and its outcome, and no object.
//
// Record: id (four u32), u32 size of the outcome, outcome.

import { assert, copyBytes } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/protocol';
import { hashWords } from './hash.ts';

/** Size of a chunk in bytes; one with a larger record has just that. */
const CHUNK_BYTES = 65_536;

const RECORD_HEAD_BYTES = 20;

/** Chunk numbers go round in [1, 2^16): many more than there are chunks at a time. */
const CHUNK_NUMBERS = 65_535;

const SLOTS_MIN = 64;

/** Bounds of a memory. */
export interface RecentRequestsOptions {
  /** Time that a request is remembered at least, unless there are too many. */
  readonly windowUs: number;
  /** Size of all chunks together; the newest chunk may go beyond. */
  readonly bytesMax: number;
}

/** A run of records. */
export interface RequestChunk {
  /** The records, without a gap. */
  readonly bytes: Uint8Array;
  /** Time of the newest one. */
  readonly lastUs: number;
}

/** A chunk that is in use. */
interface OpenChunk {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  used: number;
  lastUs: number;
}

/** One memory; every replica's is the same after the same entry. */
export class RecentRequests {
  readonly #windowUs: number;
  readonly #bytesMax: number;
  /** Oldest first. */
  #chunks: OpenChunk[] = [];
  readonly #byNumber = new Map<number, OpenChunk>();
  #chunkBytes = 0;
  #lastNumber = 0;
  /** Chunk number and offset of the newest record of an id; 0 = free. */
  #slots = new Uint32Array(SLOTS_MIN);
  #count = 0;
  readonly #words = new Uint32Array(4);

  constructor({ windowUs, bytesMax }: RecentRequestsOptions) {
    this.#windowUs = windowUs;
    this.#bytesMax = bytesMax;
  }

  /** Ids that are remembered. */
  get count(): number {
    return this.#count;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#chunkBytes + this.#slots.byteLength;
  }

  /** Remembers an outcome; one that the id had before is forgotten. The bytes are copied. */
  insert(id: Id128, outcome: Uint8Array, nowUs: number): void {
    const size = RECORD_HEAD_BYTES + outcome.length;
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.used + size > chunk.bytes.length) chunk = this.#open(size);
    const at = chunk.used;
    const { view } = chunk;
    for (let word = 0; word < 4; word += 1) view.setUint32(at + word * 4, id[word]!, true);
    view.setUint32(at + 16, outcome.length, true);
    copyBytes(outcome, 0, outcome.length, chunk.bytes, at + RECORD_HEAD_BYTES);
    chunk.used += size;
    chunk.lastUs = nowUs;
    this.#index(chunk, at);
    while (this.#chunkBytes > this.#bytesMax && this.#chunks.length > 1) this.#dropOldest();
  }

  /** The outcome of an id, lent until the next change; undefined when it is not remembered. */
  find(id: Id128): Uint8Array | undefined {
    if (this.#count === 0) return undefined;
    for (let word = 0; word < 4; word += 1) this.#words[word] = id[word]!;
    const position = this.#slots[this.#slotOf(this.#words)]!;
    if (position === 0) return undefined;
    const chunk = this.#chunkAt(position);
    const at = (position & 0xffff) + RECORD_HEAD_BYTES;
    return chunk.bytes.subarray(at, at + chunk.view.getUint32(at - 4, true));
  }

  /** Forgets what is older than the window. */
  forget(nowUs: number): void {
    for (let oldest = this.#chunks[0]; oldest !== undefined; oldest = this.#chunks[0]) {
      if (oldest.lastUs >= nowUs - this.#windowUs) return;
      this.#dropOldest();
    }
  }

  /** The chunks as they are now, oldest first; they stay so whatever changes here. */
  freeze(): RequestChunk[] {
    return this.#chunks.map(({ bytes, used, lastUs }) => ({
      bytes: bytes.subarray(0, used),
      lastUs,
    }));
  }

  /** Adds a frozen chunk behind the others. Throws InvariantError when it holds no whole records. */
  restore(frozen: RequestChunk): void {
    const chunk = this.#open(frozen.bytes.length);
    chunk.bytes.set(frozen.bytes);
    chunk.lastUs = frozen.lastUs;
    while (chunk.used < frozen.bytes.length) {
      const left = frozen.bytes.length - chunk.used;
      const size = left < RECORD_HEAD_BYTES ? Infinity : this.#sizeAt(chunk, chunk.used);
      assert(size <= left, () => `a remembered request of ${size} bytes in ${left}`);
      chunk.used += size;
      this.#index(chunk, chunk.used - size);
    }
  }

  #open(size: number): OpenChunk {
    this.#lastNumber = (this.#lastNumber % CHUNK_NUMBERS) + 1;
    const bytes = new Uint8Array(Math.max(CHUNK_BYTES, size));
    const view = new DataView(bytes.buffer);
    const chunk = { number: this.#lastNumber, bytes, view, used: 0, lastUs: 0 };
    assert(!this.#byNumber.has(chunk.number), () => `chunk ${chunk.number} is in use`);
    this.#chunks.push(chunk);
    this.#byNumber.set(chunk.number, chunk);
    this.#chunkBytes += bytes.length;
    return chunk;
  }

  #dropOldest(): void {
    const chunk = this.#chunks.shift()!;
    for (let at = 0; at < chunk.used; at += this.#sizeAt(chunk, at)) this.#unindex(chunk, at);
    this.#byNumber.delete(chunk.number);
    this.#chunkBytes -= chunk.bytes.length;
  }

  #sizeAt(chunk: OpenChunk, at: number): number {
    return RECORD_HEAD_BYTES + chunk.view.getUint32(at + 16, true);
  }

  #chunkAt(position: number): OpenChunk {
    return this.#byNumber.get(position >>> 16)!;
  }

  #readId(chunk: OpenChunk, at: number): Uint32Array {
    for (let word = 0; word < 4; word += 1) {
      this.#words[word] = chunk.view.getUint32(at + word * 4, true);
    }
    return this.#words;
  }

  /** The slot that holds the id, or the free one where it belongs. */
  #slotOf(words: Uint32Array): number {
    const mask = this.#slots.length - 1;
    let slot = hashWords(0, words, 0) & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const position = this.#slots[slot]!;
      if (this.#holds(position, words)) return slot;
    }
    return slot;
  }

  #holds(position: number, words: Uint32Array): boolean {
    const { view } = this.#chunkAt(position);
    const at = position & 0xffff;
    return (
      view.getUint32(at, true) === words[0] &&
      view.getUint32(at + 4, true) === words[1] &&
      view.getUint32(at + 8, true) === words[2] &&
      view.getUint32(at + 12, true) === words[3]
    );
  }

  #index(chunk: OpenChunk, at: number): void {
    if ((this.#count + 1) * 2 > this.#slots.length) this.#grow();
    const slot = this.#slotOf(this.#readId(chunk, at));
    if (this.#slots[slot] === 0) this.#count += 1;
    this.#slots[slot] = positionOf(chunk, at);
  }

  /** Frees the slot of a record, unless the id has a newer one. */
  #unindex(chunk: OpenChunk, at: number): void {
    const slot = this.#slotOf(this.#readId(chunk, at));
    if (this.#slots[slot] !== positionOf(chunk, at)) return;
    this.#count -= 1;
    const mask = this.#slots.length - 1;
    // Closes the gap: whatever probed past this slot moves back.
    let gap = slot;
    for (let next = (slot + 1) & mask; this.#slots[next] !== 0; next = (next + 1) & mask) {
      const position = this.#slots[next]!;
      const words = this.#readId(this.#chunkAt(position), position & 0xffff);
      const home = hashWords(0, words, 0) & mask;
      if (((next - home) & mask) < ((next - gap) & mask)) continue;
      this.#slots[gap] = position;
      gap = next;
    }
    this.#slots[gap] = 0;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(before.length * 2);
    for (const position of before) {
      if (position === 0) continue;
      const words = this.#readId(this.#chunkAt(position), position & 0xffff);
      this.#slots[this.#slotOf(words)] = position;
    }
  }
}

function positionOf(chunk: OpenChunk, at: number): number {
  return chunk.number * 65_536 + at;
}
