// The remembered transaction ids: the slices, then one record for each segment of the table, with its
// remembered entries. Entries are 13 bytes, as in memory.

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import type { DedupIndex, DedupSlice, DedupSlices } from '../tables/dedup-index.ts';
import { DEDUP_SLOT_SIZE } from '../tables/dedup-segment.ts';
import type { DedupSegment } from '../tables/dedup-segment.ts';
import { RECORD } from './format.ts';

const U32_RANGE = 2 ** 32;

/** Largest directory depth and slice number. */
const DEPTH_MAX = 16;
const SLICE_MAX = 255;

/** Writes the slices. */
export function writeDedupSlices(writer: ByteWriter, slices: DedupSlices): void {
  writer.u8(RECORD.DEDUP_SLICES);
  writer.u8(slices.depth);
  writer.u8(slices.current);
  writer.u8(slices.oldest);
  writer.u8(slices.lastNumber);
  writer.u8(slices.live.length);
  for (const { number, firstUs, lastUs } of slices.live) {
    writer.u8(number);
    writer.varint(firstUs);
    writer.varint(lastUs);
  }
}

/** Writes the remembered entries of a segment. */
export function writeDedupSegment(
  writer: ByteWriter,
  segment: DedupSegment,
  isLive: Uint8Array,
): void {
  const { words, halves, slices, slotCount } = segment;
  const live: number[] = [];
  for (let slot = 0; slot < slotCount; slot += 1) {
    if (words[slot * 2] !== 0 && isLive[slices[slot]!] === 1) live.push(slot);
  }
  writer.u8(RECORD.DEDUP_SEGMENT);
  writer.u8(segment.depth);
  writer.varint(live.length);
  let at = writer.reserve(live.length * DEDUP_SLOT_SIZE);
  const { view } = writer;
  for (const slot of live) {
    view.setUint32(at, words[slot * 2]!, true);
    view.setUint32(at + 4, words[slot * 2 + 1]!, true);
    view.setUint16(at + 8, halves[slot * 2]!, true);
    view.setUint16(at + 10, halves[slot * 2 + 1]!, true);
    view.setUint8(at + 12, slices[slot]!);
    at += DEDUP_SLOT_SIZE;
  }
}

/** Which slice numbers are remembered: 1 at their position. */
export function liveSlices(slices: DedupSlices): Uint8Array {
  const isLive = new Uint8Array(SLICE_MAX + 1);
  for (const { number } of slices.live) isLive[number] = 1;
  return isLive;
}

/** Reads the ids into an empty index. */
export class DedupReader {
  readonly #dedup: DedupIndex;
  #directorySize = 0;
  #position = 0;

  constructor(dedup: DedupIndex) {
    this.#dedup = dedup;
  }

  /** Reads the fields of the slices after the kind byte. */
  slices(reader: ByteReader): void {
    const depth = reader.u8();
    if (depth > DEPTH_MAX || this.#directorySize > 0) throw new CodecError(`dedup depth ${depth}`);
    const current = reader.u8();
    const oldest = reader.u8();
    const lastNumber = reader.u8();
    const live: DedupSlice[] = [];
    for (let count = reader.u8(); count > 0; count -= 1) {
      live.push({ number: reader.u8(), firstUs: reader.varint(), lastUs: reader.varint() });
    }
    this.#dedup.restoreSlices({ depth, current, oldest, lastNumber, live });
    this.#directorySize = 2 ** depth;
  }

  /** Reads the fields of a segment after the kind byte; returns its entries. */
  segment(reader: ByteReader): number {
    const depth = reader.u8();
    const count = reader.varint();
    if (count * DEDUP_SLOT_SIZE > reader.remaining) throw new CodecError(`${count} dedup entries`);
    this.#position = this.#dedup.restoreSegment(this.#position, depth, count);
    for (let i = 0; i < count; i += 1) {
      const tagLow = reader.u32();
      const offsetLow = reader.u32();
      const tagTop = reader.u16();
      const offset = reader.u16() * U32_RANGE + offsetLow;
      this.#dedup.restoreEntry({ tagTop, tagLow, offset, slice: reader.u8() });
    }
    return count;
  }

  /** Checks that the segments fill the directory. */
  finish(): void {
    if (this.#position === this.#directorySize) return;
    throw new CodecError(`dedup segments to ${this.#position} of ${this.#directorySize}`);
  }
}
