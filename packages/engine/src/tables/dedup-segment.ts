// One segment of the dedup index: open-addressed slots of 15 bytes in parallel arrays over one
// buffer. It stores and moves entries; what a slice means is the index's concern.

/** Slots of a segment, in columns. `tagLow` 0 = free slot. */
export class DedupSegment {
  /** Entries share the first `depth` bits of `tagHigh`. */
  readonly depth: number;
  readonly slotCount: number;
  readonly tagLow: Uint32Array;
  readonly tagHigh: Uint32Array;
  readonly offsetLow: Uint32Array;
  readonly offsetHigh: Uint16Array;
  /** Number of the entry's slice, >= 1. */
  readonly slice: Uint8Array;
  count = 0;

  /** @param slotCount a multiple of 2, so that the columns are aligned. */
  constructor(depth: number, slotCount: number) {
    this.depth = depth;
    this.slotCount = slotCount;
    const buffer = new ArrayBuffer(slotCount * DEDUP_SLOT_SIZE);
    this.tagLow = new Uint32Array(buffer, 0, slotCount);
    this.tagHigh = new Uint32Array(buffer, slotCount * 4, slotCount);
    this.offsetLow = new Uint32Array(buffer, slotCount * 8, slotCount);
    this.offsetHigh = new Uint16Array(buffer, slotCount * 12, slotCount);
    this.slice = new Uint8Array(buffer, slotCount * 14, slotCount);
  }
}

/** Size of a slot in bytes. */
export const DEDUP_SLOT_SIZE = 15;

/** Slots of the smallest segment. */
export const DEDUP_SLOTS_MIN = 16;

/** Most entries in a segment of so many slots: seven of eight. */
export function entryLimit(slotCount: number): number {
  return slotCount - (slotCount >>> 3);
}

/** Slots of a segment that holds `count` entries and has room for some more. */
export function slotsFor(count: number): number {
  return Math.max(DEDUP_SLOTS_MIN, (count + (count >>> 2) + 2) & ~1);
}

/** First slot to look at for a tag: the low 16 bits of its high word, scaled. */
export function homeSlot(tagHigh: number, slotCount: number): number {
  const bits = tagHigh & 0xffff;
  return slotCount <= 0xffff ? Math.imul(bits, slotCount) >>> 16 : bits;
}

/** First free slot for a tag; the segment has one. */
export function freeSlot(segment: DedupSegment, tagHigh: number): number {
  const { tagLow, slotCount } = segment;
  let slot = homeSlot(tagHigh, slotCount);
  while (tagLow[slot] !== 0) slot = slot + 1 === slotCount ? 0 : slot + 1;
  return slot;
}

/** Copies the entry in `slot` of one segment into another one. */
export function copyEntry(from: DedupSegment, slot: number, to: DedupSegment): void {
  const tagHigh = from.tagHigh[slot] as number;
  const free = freeSlot(to, tagHigh);
  to.tagLow[free] = from.tagLow[slot] as number;
  to.tagHigh[free] = tagHigh;
  to.offsetLow[free] = from.offsetLow[slot] as number;
  to.offsetHigh[free] = from.offsetHigh[slot] as number;
  to.slice[free] = from.slice[slot] as number;
  to.count += 1;
}
