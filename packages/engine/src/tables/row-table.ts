// Open addressing from a 32-bit hash to row numbers (or other non-zero u32 names of things); the keys
// live with the owner, so a slot is 8 bytes: the hash and the row (0 = free). The table is extendible:
// a directory over the top bits of the hash points to segments of at most 4,096 slots, and a full
// segment grows by an eighth or splits in two. No operation touches more than one segment, so none
// can stall.

import { assert } from '@queen-ts/base';

/** Slots of a segment from which on it splits instead of growing. */
const SEGMENT_SLOTS_MAX = 4096;

/** Slots of an empty segment. */
const SEGMENT_SLOTS_MIN = 16;

/** Rows for which one segment is reserved at most: with room to deviate from an even spread. */
const SEGMENT_ROWS_RESERVED = 2816;

/** Rows that one step of {@link RowTable.fill} looks at. */
const FILL_STEP_ROWS = 8192;

/** Directory bits. The position in a segment uses the other 16 bits of the hash. */
const DEPTH_MAX = 16;

/** Open-addressed slots whose hashes share the first `depth` bits. */
export class RowSegment {
  readonly depth: number;
  /** Two words a slot: hash, row. */
  slots: Uint32Array;
  slotCount: number;
  count = 0;

  constructor(depth: number, slotCount: number) {
    this.depth = depth;
    this.slotCount = slotCount;
    this.slots = new Uint32Array(slotCount * 2);
  }
}

/**
 * Multimap from hashes to rows. To look a key up, the owner walks from {@link homeOf} to the first
 * free slot of {@link segmentOf} and compares the keys of rows whose hash is equal.
 */
export class RowTable {
  /** 2^depth entries; a segment of a smaller depth appears several times in a row. */
  #directory: RowSegment[] = [new RowSegment(0, SEGMENT_SLOTS_MIN)];
  #depth = 0;
  #count = 0;
  #slotCount = SEGMENT_SLOTS_MIN;

  /** Rows in the table. */
  get count(): number {
    return this.#count;
  }

  /** Allocated size of the slots in bytes. */
  get bytes(): number {
    return this.#slotCount * 8;
  }

  /** Segment of a hash; valid until the next insert or remove. */
  segmentOf(hash: number): RowSegment {
    // Two shifts, because a shift by 32 is a shift by 0.
    return this.#directory[(hash >>> 1) >>> (31 - this.#depth)] as RowSegment;
  }

  /**
   * Fills an empty table with rows under their hashes, in steps of bounded work. Rows are sorted by
   * segment first, so that a segment is filled while it is in the cache: inserting a million rows one
   * by one misses it a million times.
   */
  *fill(hashes: Uint32Array, rows: Uint32Array): Generator<void> {
    assert(this.#count === 0, () => `fill over ${this.#count} rows`);
    const { length } = rows;
    let depth = 0;
    while (depth < DEPTH_MAX && length / 2 ** depth > SEGMENT_ROWS_RESERVED) depth += 1;
    const perSegment = slotsFor(Math.ceil(length / 2 ** depth));
    this.#depth = depth;
    this.#directory = Array.from({ length: 2 ** depth }, () => new RowSegment(depth, perSegment));
    this.#slotCount = perSegment * 2 ** depth;
    const order = new Uint32Array(length);
    const ends = new Uint32Array(2 ** depth);
    // Two shifts, because a shift by 32 is a shift by 0.
    for (let i = 0; i < length; i += 1) {
      const position = ((hashes[i] as number) >>> 1) >>> (31 - depth);
      ends[position] = (ends[position] as number) + 1;
      if (i % FILL_STEP_ROWS === 0) yield;
    }
    let start = 0;
    for (let position = 0; position < ends.length; position += 1) {
      const count = ends[position] as number;
      ends[position] = start;
      start += count;
    }
    for (let i = 0; i < length; i += 1) {
      const position = ((hashes[i] as number) >>> 1) >>> (31 - depth);
      const at = ends[position] as number;
      order[at] = i;
      ends[position] = at + 1;
      if (i % FILL_STEP_ROWS === 0) yield;
    }
    for (let at = 0; at < length; at += 1) {
      const i = order[at] as number;
      this.insert(hashes[i] as number, rows[i] as number);
      if (at % FILL_STEP_ROWS === 0) yield;
    }
  }

  /** Adds a row under a hash. The row must not be in the table under it. */
  insert(hash: number, row: number): void {
    if (!(row > 0 && row <= 0xffffffff)) assert(false, () => `row ${row} in a table`);
    let segment = this.segmentOf(hash);
    while (segment.count >= limitOf(segment.slotCount)) {
      this.#makeRoom(segment, hash);
      segment = this.segmentOf(hash);
    }
    place(segment, hash, row);
    this.#count += 1;
  }

  /** Removes a row that was inserted under the hash. */
  remove(hash: number, row: number): void {
    const segment = this.segmentOf(hash);
    closeGap(segment, slotOf(segment, hash, row));
    segment.count -= 1;
    this.#count -= 1;
    if (segment.slotCount > SEGMENT_SLOTS_MIN && segment.count * 4 < segment.slotCount) {
      this.#resize(segment, slotsFor(segment.count));
    }
  }

  /** Puts `next` in the place of `row`, which was inserted under the hash. */
  replace(hash: number, row: number, next: number): void {
    const segment = this.segmentOf(hash);
    segment.slots[slotOf(segment, hash, row) * 2 + 1] = next;
  }

  #makeRoom(segment: RowSegment, hash: number): void {
    if (segment.slotCount < SEGMENT_SLOTS_MAX || segment.depth === DEPTH_MAX) {
      this.#resize(segment, segment.slotCount + Math.max(8, segment.slotCount >>> 3));
    } else {
      this.#split(segment, hash);
    }
  }

  #resize(segment: RowSegment, slotCount: number): void {
    const old = segment.slots;
    this.#slotCount += slotCount - segment.slotCount;
    segment.slots = new Uint32Array(slotCount * 2);
    segment.slotCount = slotCount;
    segment.count = 0;
    for (let at = 0; at < old.length; at += 2) {
      const row = old[at + 1] as number;
      if (row !== 0) place(segment, old[at] as number, row);
    }
  }

  /** Replaces a segment by two, one for each value of the next bit of the hash. */
  #split(segment: RowSegment, hash: number): void {
    if (segment.depth === this.#depth) this.#doubleDirectory();
    const depth = segment.depth + 1;
    const bit = 32 - depth;
    let ones = 0;
    for (let at = 0; at < segment.slots.length; at += 2) {
      if (segment.slots[at + 1] !== 0) ones += ((segment.slots[at] as number) >>> bit) & 1;
    }
    const low = new RowSegment(depth, slotsFor(segment.count - ones));
    const high = new RowSegment(depth, slotsFor(ones));
    for (let at = 0; at < segment.slots.length; at += 2) {
      const row = segment.slots[at + 1] as number;
      const slotHash = segment.slots[at] as number;
      if (row !== 0) place(((slotHash >>> bit) & 1) === 0 ? low : high, slotHash, row);
    }
    assert(low.count + high.count === segment.count, 'a split lost rows');
    this.#slotCount += low.slotCount + high.slotCount - segment.slotCount;
    // The segment's entries are the aligned run of the directory that contains the hash.
    const half = 1 << (this.#depth - depth);
    const from = ((hash >>> 1) >>> (31 - this.#depth)) & ~(half * 2 - 1);
    this.#directory.fill(low, from, from + half);
    this.#directory.fill(high, from + half, from + half * 2);
  }

  #doubleDirectory(): void {
    const doubled: RowSegment[] = [];
    for (const segment of this.#directory) doubled.push(segment, segment);
    this.#directory = doubled;
    this.#depth += 1;
  }
}

/** First slot to look at for a hash: its low 16 bits scaled to the number of slots. */
export function homeOf(hash: number, slotCount: number): number {
  return slotCount <= 0xffff ? Math.imul(hash & 0xffff, slotCount) >>> 16 : hash & 0xffff;
}

/** Most rows in a segment: 13 of 16 slots, where a miss still looks at 15 slots on average. */
function limitOf(slotCount: number): number {
  return slotCount - ((slotCount * 3) >>> 4);
}

/** Slots of a segment that holds `count` rows and has room for some more. */
function slotsFor(count: number): number {
  return Math.max(SEGMENT_SLOTS_MIN, count + (count >>> 2) + (count >>> 4) + 1);
}

function place(segment: RowSegment, hash: number, row: number): void {
  const { slots, slotCount } = segment;
  let slot = homeOf(hash, slotCount);
  while (slots[slot * 2 + 1] !== 0) slot = slot + 1 === slotCount ? 0 : slot + 1;
  slots[slot * 2] = hash;
  slots[slot * 2 + 1] = row;
  segment.count += 1;
}

function slotOf(segment: RowSegment, hash: number, row: number): number {
  const { slots, slotCount } = segment;
  let slot = homeOf(hash, slotCount);
  while (slots[slot * 2 + 1] !== row) {
    assert(slots[slot * 2 + 1] !== 0, () => `row ${row} is not in the table`);
    slot = slot + 1 === slotCount ? 0 : slot + 1;
  }
  return slot;
}

/** Empties a slot and moves later rows of the run back, so that no tombstone is needed. */
function closeGap(segment: RowSegment, from: number): void {
  const { slots, slotCount } = segment;
  let gap = from;
  let slot = from;
  for (;;) {
    slot = slot + 1 === slotCount ? 0 : slot + 1;
    if (slots[slot * 2 + 1] === 0) break;
    const home = homeOf(slots[slot * 2] as number, slotCount);
    const distance = slot >= home ? slot - home : slot - home + slotCount;
    const gapDistance = slot >= gap ? slot - gap : slot - gap + slotCount;
    if (distance < gapDistance) continue;
    slots[gap * 2] = slots[slot * 2] as number;
    slots[gap * 2 + 1] = slots[slot * 2 + 1] as number;
    gap = slot;
  }
  slots[gap * 2] = 0;
  slots[gap * 2 + 1] = 0;
}
