// One segment of the dedup index: open-addressed slots of 13 bytes in three arrays over one buffer.
// It stores and moves entries; what a slice means is the index's concern. Columns that are used
// together lie together, because every array costs a cache miss of its own.
//
//   words   u32 low word of the tag (0 = free slot), u32 low word of the offset
//   halves  u16 top of the tag's high word, u16 high part of the offset
//   slices  u8 number of the slice, >= 1

/** Size of a slot in bytes. */
export const DEDUP_SLOT_SIZE = 13;

/** Slots of the smallest segment. */
export const DEDUP_SLOTS_MIN = 16;

/** Slots whose tags share the first `depth` bits of their top. */
export class DedupSegment {
  readonly depth: number;
  readonly slotCount: number;
  readonly words: Uint32Array;
  readonly halves: Uint16Array;
  readonly slices: Uint8Array;
  count = 0;
  /** True while a frozen index reads the segment: it must be copied before it is written. */
  isShared = false;

  constructor(depth: number, slotCount: number) {
    this.depth = depth;
    this.slotCount = slotCount;
    const buffer = new ArrayBuffer(slotCount * DEDUP_SLOT_SIZE);
    this.words = new Uint32Array(buffer, 0, slotCount * 2);
    this.halves = new Uint16Array(buffer, slotCount * 8, slotCount * 2);
    this.slices = new Uint8Array(buffer, slotCount * 12, slotCount);
  }
}

/** A copy that nobody shares. */
export function copySegment(segment: DedupSegment): DedupSegment {
  const copy = new DedupSegment(segment.depth, segment.slotCount);
  copy.words.set(segment.words);
  copy.halves.set(segment.halves);
  copy.slices.set(segment.slices);
  copy.count = segment.count;
  return copy;
}

/** Most entries in a segment: 13 of 16 slots, where a miss still looks at 15 slots on average. */
export function entryLimit(slotCount: number): number {
  return slotCount - ((slotCount * 3) >>> 4);
}

/** Slots of a segment that holds `count` entries and has room for some more. */
export function slotsFor(count: number): number {
  return Math.max(DEDUP_SLOTS_MIN, count + (count >>> 2) + (count >>> 4) + 1);
}

/** First slot to look at for a tag: the low 16 bits of its low word, scaled. */
export function homeSlot(tagLow: number, slotCount: number): number {
  const bits = tagLow & 0xffff;
  return slotCount <= 0xffff ? Math.imul(bits, slotCount) >>> 16 : bits;
}

/** First free slot for a tag; the segment has one. */
export function freeSlot(segment: DedupSegment, tagLow: number): number {
  const { words, slotCount } = segment;
  let slot = homeSlot(tagLow, slotCount);
  while (words[slot * 2] !== 0) slot = slot + 1 === slotCount ? 0 : slot + 1;
  return slot;
}

/** Copies the entry in `slot` of one segment into another one. */
export function copyEntry(from: DedupSegment, slot: number, to: DedupSegment): void {
  const tagLow = from.words[slot * 2] as number;
  const free = freeSlot(to, tagLow);
  to.words[free * 2] = tagLow;
  to.words[free * 2 + 1] = from.words[slot * 2 + 1] as number;
  to.halves[free * 2] = from.halves[slot * 2] as number;
  to.halves[free * 2 + 1] = from.halves[slot * 2 + 1] as number;
  to.slices[free] = from.slices[slot] as number;
  to.count += 1;
}
