// Remembered client transaction ids: a 48-bit tag of (partition, 128-bit hash) -> offset. A tag only
// nominates candidates and the caller verifies them against the log, so a collision costs one read
// in vain: with 10 M ids remembered, one lookup in 28 million.
//
// One extendible table holds the entries of all time slices, and each entry names its slice: a
// lookup costs one probe however many slices there are, forgetting a slice is one flag, and its
// slots are swept a segment at a time. A table per slice would forget as cheaply but probe them all.

import { assert } from '@queen-ts/base';
import { U48_MAX } from './chunked-columns.ts';
import {
  copyEntry,
  copySegment,
  DEDUP_SLOT_SIZE,
  DEDUP_SLOTS_MIN,
  DedupSegment,
  entryLimit,
  freeSlot,
  homeSlot,
  slotsFor,
} from './dedup-segment.ts';
import { mix32 } from './hash.ts';

/** Slots of a segment from which on it splits instead of growing. */
const SEGMENT_SLOTS_MAX = 4096;

/** Directory bits: all bits of the tag's top. */
const DEPTH_MAX = 16;

/** Slices at a time, forgotten ones that are not swept yet included; number 0 is unused. */
const SLICES = 256;

/** Inserts after which one segment is swept while enough of the table is forgotten. */
const SWEEP_INTERVAL = 256;

/** Segments that one `forgetBefore` sweeps at most. */
const SWEEP_SEGMENTS_MAX = 32;

const U32_RANGE = 2 ** 32;

/** Bounds of a slice. */
export interface DedupOptions {
  /** Longest span of `createdUs` in a slice: ids are forgotten at most this much late. */
  readonly sliceUs: number;
  /** Most entries in a slice; default 2^20. */
  readonly sliceEntriesMax?: number;
  /** Replaces the tag's two words for tests; default spreads all bits of the arguments. */
  readonly mix?: (value: number) => number;
}

/** One remembered id. */
export interface DedupEntry {
  /** Top 16 and low 32 bits of the tag; the low ones are not 0. */
  readonly tagTop: number;
  readonly tagLow: number;
  readonly offset: number;
  readonly slice: number;
}

/** A remembered slice: ids created in [firstUs, lastUs]. */
export interface DedupSlice {
  /** In [1, 256). */
  readonly number: number;
  readonly firstUs: number;
  readonly lastUs: number;
}

/** The slices of an index; numbers are 0 where there is none. */
export interface DedupSlices {
  /** Remembered ones, ascending by number. */
  readonly live: readonly DedupSlice[];
  readonly current: number;
  readonly oldest: number;
  readonly lastNumber: number;
  /** Directory bits. */
  readonly depth: number;
}

/** What an index remembered at the moment it was frozen. */
export interface FrozenDedup extends DedupSlices {
  /** Ids that were remembered. */
  readonly count: number;
  /** Each segment once, in directory order; they also hold forgotten entries. Read-only. */
  segments(): Generator<DedupSegment>;
}

/** Transaction ids of a bounded time, about 17 bytes each. */
export class DedupIndex {
  readonly #sliceUs: number;
  readonly #sliceEntriesMax: number;
  readonly #mix: (value: number) => number;
  #directory: DedupSegment[] = [new DedupSegment(0, DEDUP_SLOTS_MIN)];
  #depth = 0;
  #slotCount = DEDUP_SLOTS_MIN;
  /** Entries in slots, and those of them whose slice is forgotten. */
  #stored = 0;
  #forgotten = 0;
  /** By slice number: first and last `createdUs`, stored entries, whether it is remembered. */
  readonly #firstUs = new Float64Array(SLICES);
  readonly #lastUs = new Float64Array(SLICES);
  readonly #entries = new Uint32Array(SLICES);
  readonly #isLive = new Uint8Array(SLICES);
  /** Slice that takes inserts, 0 = none; the oldest live one, 0 = none. */
  #current = 0;
  #oldest = 0;
  #lastNumber = 0;
  #sweepAt = 0;
  #insertsToSweep = SWEEP_INTERVAL;
  /** Offsets found by the last {@link find}, ascending, and their number. */
  #candidates = new Float64Array(16);
  #candidateCount = 0;

  constructor(options: DedupOptions) {
    assert(options.sliceUs > 0, () => `slice of ${options.sliceUs} us`);
    this.#sliceUs = options.sliceUs;
    this.#sliceEntriesMax = options.sliceEntriesMax ?? 2 ** 20;
    assert(this.#sliceEntriesMax > 0, () => `slice of ${this.#sliceEntriesMax} entries`);
    this.#mix = options.mix ?? mix32;
  }

  /** Ids that are remembered. */
  get count(): number {
    return this.#stored - this.#forgotten;
  }

  /** Slices that are remembered. */
  get sliceCount(): number {
    let count = 0;
    for (const isLive of this.#isLive) count += isLive;
    return count;
  }

  /** Allocated size of the slots in bytes. */
  get bytes(): number {
    return this.#slotCount * DEDUP_SLOT_SIZE;
  }

  /**
   * Remembers that the id whose hash is the four words from `at` on is stored at `offset` of a
   * partition. `createdUs` never goes back by more than the caller accepts to remember longer.
   */
  insert(
    partition: number,
    words: ArrayLike<number>,
    at: number,
    offset: number,
    createdUs: number,
  ): void {
    if (!(offset >= 0 && offset <= U48_MAX)) assert(false, () => `offset ${offset} in dedup`);
    const tagTop = this.#tagTop(partition, words, at);
    const tagLow = this.#tagLow(partition, words, at);
    const number = this.#sliceFor(createdUs);
    let segment = this.#segmentOf(tagTop);
    while (segment.count >= entryLimit(segment.slotCount)) {
      this.#makeRoom(segment, tagTop);
      segment = this.#segmentOf(tagTop);
    }
    if (segment.isShared) segment = this.#own(segment, tagTop);
    const slot = freeSlot(segment, tagLow);
    this.#put(segment, slot, { tagTop, tagLow, offset, slice: number });
    this.#insertsToSweep -= 1;
    if (this.#insertsToSweep === 0) this.#sweepSometimes();
  }

  /**
   * Looks an id up and returns the number of candidates: entries with its tag in slices that may
   * hold something created at or after `sinceUs`. Read them with {@link candidate}.
   */
  find(partition: number, words: ArrayLike<number>, at: number, sinceUs: number): number {
    const tagTop = this.#tagTop(partition, words, at);
    const tagLow = this.#tagLow(partition, words, at);
    const segment = this.#segmentOf(tagTop);
    const { words: slots, slotCount } = segment;
    this.#candidateCount = 0;
    let slot = homeSlot(tagLow, slotCount);
    for (;;) {
      const low = slots[slot * 2] as number;
      if (low === 0) return this.#candidateCount;
      if (low === tagLow && segment.halves[slot * 2] === tagTop) {
        this.#nominate(segment, slot, sinceUs);
      }
      slot = slot + 1 === slotCount ? 0 : slot + 1;
    }
  }

  /** Offset of the last {@link find}'s candidate: position 0 is the lowest one. */
  candidate(position: number): number {
    if (!(position < this.#candidateCount)) {
      assert(false, () => `candidate ${position} of ${this.#candidateCount}`);
    }
    return this.#candidates[position] as number;
  }

  /** Forgets every slice in which all ids were created before `us`, and frees some memory. */
  forgetBefore(us: number): void {
    while (this.#oldest !== 0 && (this.#lastUs[this.#oldest] as number) < us) {
      const number = this.#oldest;
      this.#isLive[number] = 0;
      this.#forgotten += this.#entries[number] as number;
      const next = nextNumber(number);
      this.#oldest = number === this.#current ? 0 : next;
      if (number === this.#current) this.#current = 0;
    }
    for (let i = 0; i < SWEEP_SEGMENTS_MAX && this.#forgotten > 0; i += 1) this.#sweepSegment();
  }

  /** Returns what is remembered now; it stays so whatever changes here. */
  freeze(): FrozenDedup {
    const directory = this.#directory.slice();
    for (const segment of directory) segment.isShared = true;
    const live: DedupSlice[] = [];
    for (let number = 1; number < SLICES; number += 1) {
      if (this.#isLive[number] === 0) continue;
      const firstUs = this.#firstUs[number] as number;
      live.push({ number, firstUs, lastUs: this.#lastUs[number] as number });
    }
    return {
      live,
      current: this.#current,
      oldest: this.#oldest,
      lastNumber: this.#lastNumber,
      depth: this.#depth,
      count: this.count,
      segments: () => eachOnce(directory),
    };
  }

  /** Lets segments be written in place again: nobody reads what was frozen any more. */
  thaw(): void {
    for (const segment of this.#directory) segment.isShared = false;
  }

  /** Makes an empty index remember these slices; {@link restoreSegment} adds their entries. */
  restoreSlices(slices: DedupSlices): void {
    assert(this.#stored === 0 && this.#depth === 0, 'restore over a used dedup index');
    for (const { number, firstUs, lastUs } of slices.live) {
      this.#isLive[number] = 1;
      this.#firstUs[number] = firstUs;
      this.#lastUs[number] = lastUs;
    }
    this.#current = slices.current;
    this.#oldest = slices.oldest;
    this.#lastNumber = slices.lastNumber;
    while (this.#depth < slices.depth) this.#doubleDirectory();
  }

  /**
   * Puts a segment with room for `count` entries at the next free place of the directory, which
   * begins at `position`, and returns the position after it. Entries follow with {@link restoreEntry}.
   */
  restoreSegment(position: number, depth: number, count: number): number {
    const span = 1 << (this.#depth - depth);
    const toExclusive = position + span;
    assert(
      depth <= this.#depth && toExclusive <= this.#directory.length && position % span === 0,
      () => `dedup segment of depth ${depth} at ${position}`,
    );
    if (position === 0) this.#slotCount = 0;
    const segment = new DedupSegment(depth, slotsFor(count));
    this.#slotCount += segment.slotCount;
    this.#directory.fill(segment, position, toExclusive);
    return toExclusive;
  }

  /** Adds an entry as a segment held it. */
  restoreEntry(entry: DedupEntry): void {
    const { tagTop, tagLow, offset, slice } = entry;
    const segment = this.#segmentOf(tagTop);
    const isSound = this.#isLive[slice] === 1 && tagLow !== 0 && segment.count < segment.slotCount;
    if (!isSound) assert(false, () => `dedup entry of slice ${slice} for offset ${offset}`);
    this.#put(segment, freeSlot(segment, tagLow), entry);
  }

  #put(segment: DedupSegment, slot: number, entry: DedupEntry): void {
    const { tagTop, tagLow, offset, slice } = entry;
    segment.words[slot * 2] = tagLow;
    segment.words[slot * 2 + 1] = offset >>> 0;
    segment.halves[slot * 2] = tagTop;
    segment.halves[slot * 2 + 1] = Math.floor(offset / U32_RANGE);
    segment.slices[slot] = slice;
    segment.count += 1;
    this.#entries[slice] = (this.#entries[slice] as number) + 1;
    this.#stored += 1;
  }

  #tagTop(partition: number, words: ArrayLike<number>, at: number): number {
    const spread = this.#mix((words[at] as number) ^ Math.imul(partition, 0x9e3779b1));
    return spread >>> (32 - DEPTH_MAX);
  }

  #tagLow(partition: number, words: ArrayLike<number>, at: number): number {
    const low = this.#mix((words[at + 1] as number) + Math.imul(partition, 0x85ebca77)) >>> 0;
    return low === 0 ? 1 : low;
  }

  #segmentOf(tagTop: number): DedupSegment {
    return this.#directory[tagTop >>> (DEPTH_MAX - this.#depth)] as DedupSegment;
  }

  /** Replaces a shared segment by a copy. */
  #own(segment: DedupSegment, tagTop: number): DedupSegment {
    const copy = copySegment(segment);
    const span = 1 << (this.#depth - segment.depth);
    const from = (tagTop >>> (DEPTH_MAX - this.#depth)) & ~(span - 1);
    this.#directory.fill(copy, from, from + span);
    return copy;
  }

  #nominate(segment: DedupSegment, slot: number, sinceUs: number): void {
    const number = segment.slices[slot] as number;
    if (this.#isLive[number] === 0 || (this.#lastUs[number] as number) < sinceUs) return;
    const high = segment.halves[slot * 2 + 1] as number;
    const offset = high * U32_RANGE + (segment.words[slot * 2 + 1] as number);
    if (this.#candidateCount === this.#candidates.length) this.#growCandidates();
    const candidates = this.#candidates;
    let position = this.#candidateCount;
    for (; position > 0 && (candidates[position - 1] as number) > offset; position -= 1) {
      candidates[position] = candidates[position - 1] as number;
    }
    candidates[position] = offset;
    this.#candidateCount += 1;
  }

  #growCandidates(): void {
    const grown = new Float64Array(this.#candidates.length * 2);
    grown.set(this.#candidates);
    this.#candidates = grown;
  }

  /** Slice that takes an entry of this time. */
  #sliceFor(createdUs: number): number {
    const current = this.#current;
    const isOpen =
      current !== 0 &&
      createdUs - (this.#firstUs[current] as number) < this.#sliceUs &&
      (this.#entries[current] as number) < this.#sliceEntriesMax;
    if (!isOpen) this.#openSlice(createdUs);
    const number = this.#current;
    if (createdUs > (this.#lastUs[number] as number)) this.#lastUs[number] = createdUs;
    return number;
  }

  #openSlice(createdUs: number): void {
    const number = this.#freeNumber();
    if (number === 0) return;
    this.#lastNumber = number;
    this.#current = number;
    if (this.#oldest === 0) this.#oldest = number;
    this.#isLive[number] = 1;
    this.#firstUs[number] = createdUs;
    this.#lastUs[number] = createdUs;
  }

  /**
   * Number for a new slice. 0 when the next one is remembered or not swept yet, hundreds of slices
   * later: then the current slice goes on, and its ids are remembered longer than they must be.
   */
  #freeNumber(): number {
    let number = nextNumber(this.#lastNumber);
    if (this.#current !== 0) {
      return this.#isLive[number] === 0 && this.#entries[number] === 0 ? number : 0;
    }
    // Nothing is remembered, so the numbers in use need not be neighbours: any swept one will do.
    for (let tried = 1; this.#entries[number] !== 0; tried += 1) {
      if (tried % SLICES === 0) this.#sweepSegment();
      number = nextNumber(number);
    }
    return number;
  }

  #makeRoom(segment: DedupSegment, tagTop: number): void {
    const { slotCount, depth } = segment;
    const live = this.#forgotten === 0 ? segment.count : this.#countLive(segment);
    if (live + (slotCount >>> 3) < entryLimit(slotCount)) {
      this.#rebuild(segment, tagTop, slotsFor(live));
    } else if (slotCount < SEGMENT_SLOTS_MAX || depth === DEPTH_MAX) {
      this.#rebuild(segment, tagTop, slotCount + Math.max(8, slotCount >>> 3));
    } else {
      this.#split(segment, tagTop);
    }
  }

  #countLive(segment: DedupSegment): number {
    let live = 0;
    for (let slot = 0; slot < segment.slotCount; slot += 1) {
      if (segment.words[slot * 2] !== 0)
        live += this.#isLive[segment.slices[slot] as number] as number;
    }
    return live;
  }

  #rebuild(segment: DedupSegment, tagTop: number, slotCount: number): void {
    const rebuilt = new DedupSegment(segment.depth, slotCount);
    for (let slot = 0; slot < segment.slotCount; slot += 1) {
      if (segment.words[slot * 2] === 0) continue;
      if (this.#isKept(segment, slot)) copyEntry(segment, slot, rebuilt);
    }
    this.#slotCount += slotCount - segment.slotCount;
    const span = 1 << (this.#depth - segment.depth);
    const from = (tagTop >>> (DEPTH_MAX - this.#depth)) & ~(span - 1);
    this.#directory.fill(rebuilt, from, from + span);
  }

  /** Replaces a segment by two, one for each value of the next bit of the tag. */
  #split(segment: DedupSegment, tagTop: number): void {
    if (segment.depth === this.#depth) this.#doubleDirectory();
    const depth = segment.depth + 1;
    const bit = DEPTH_MAX - depth;
    let ones = 0;
    for (let slot = 0; slot < segment.slotCount; slot += 1) {
      if (segment.words[slot * 2] !== 0) ones += ((segment.halves[slot * 2] as number) >>> bit) & 1;
    }
    const low = new DedupSegment(depth, slotsFor(segment.count - ones));
    const high = new DedupSegment(depth, slotsFor(ones));
    for (let slot = 0; slot < segment.slotCount; slot += 1) {
      if (segment.words[slot * 2] === 0 || !this.#isKept(segment, slot)) continue;
      const isOne = ((segment.halves[slot * 2] as number) >>> bit) & 1;
      copyEntry(segment, slot, isOne === 1 ? high : low);
    }
    this.#slotCount += low.slotCount + high.slotCount - segment.slotCount;
    const half = 1 << (this.#depth - depth);
    const from = (tagTop >>> (DEPTH_MAX - this.#depth)) & ~(half * 2 - 1);
    this.#directory.fill(low, from, from + half);
    this.#directory.fill(high, from + half, from + half * 2);
  }

  /** Whether the entry is remembered; the account of a forgotten one, which goes now, is settled. */
  #isKept(segment: DedupSegment, slot: number): boolean {
    const number = segment.slices[slot] as number;
    if (this.#isLive[number] === 1) return true;
    assert(this.#entries[number] !== 0, () => `slice ${number} has more entries than counted`);
    this.#entries[number] = (this.#entries[number] as number) - 1;
    this.#stored -= 1;
    this.#forgotten -= 1;
    return false;
  }

  #doubleDirectory(): void {
    const doubled: DedupSegment[] = [];
    for (const segment of this.#directory) doubled.push(segment, segment);
    this.#directory = doubled;
    this.#depth += 1;
  }

  #sweepSometimes(): void {
    this.#insertsToSweep = SWEEP_INTERVAL;
    if (this.#forgotten * 8 > this.#stored) this.#sweepSegment();
  }

  /** Rebuilds the next segment in turn without its forgotten entries. */
  #sweepSegment(): void {
    if (this.#sweepAt >= this.#directory.length) this.#sweepAt = 0;
    const segment = this.#directory[this.#sweepAt] as DedupSegment;
    const span = 1 << (this.#depth - segment.depth);
    const live = this.#countLive(segment);
    if (live < segment.count) {
      this.#rebuild(segment, this.#sweepAt << (DEPTH_MAX - this.#depth), slotsFor(live));
    }
    this.#sweepAt = (this.#sweepAt & ~(span - 1)) + span;
  }
}

function* eachOnce(directory: readonly DedupSegment[]): Generator<DedupSegment> {
  let last: DedupSegment | undefined;
  for (const segment of directory) {
    if (segment !== last) yield segment;
    last = segment;
  }
}

function nextNumber(number: number): number {
  return number === SLICES - 1 ? 1 : number + 1;
}
