// Payloads of a claim that this node's log does not hold yet: fetched from the leader and lent to
// whoever renders that claim.

import { assert } from '@queen-ts/base';
import type { BlockSpan, PayloadReader, PopOutcome } from '@queen-ts/protocol';

/** One block, addressed as in {@link BlockSpan}. */
interface FetchedBlock {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** Bytes asked for in one call; a lone larger block is asked for alone. */
const CALL_BYTES_MAX = 32 * 1024 * 1024;

/** Index of the newest entry that a claim needs; 0 when it has none. */
export function newestIndexOf({ claims }: PopOutcome): number {
  let newest = 0;
  for (const { spans } of claims) {
    for (const { entryIndex } of spans) newest = Math.max(newest, entryIndex);
  }
  return newest;
}

/** The blocks of a claim that lie above `index`, in groups that one call may ask for. */
export function missingBlocks({ claims }: PopOutcome, index: number): readonly BlockSpan[][] {
  const groups: BlockSpan[][] = [];
  let bytes = Infinity;
  for (const { spans } of claims) {
    for (const span of spans) {
      if (span.entryIndex <= index) continue;
      if (bytes + span.blockSize > CALL_BYTES_MAX) {
        groups.push([]);
        bytes = 0;
      }
      groups.at(-1)?.push(span);
      bytes += span.blockSize;
    }
  }
  return groups;
}

/** A reader that has some blocks in memory and asks another one for the rest. */
export class OverlaidPayloads implements PayloadReader {
  readonly #below: PayloadReader;
  readonly #blocks = new Map<number, FetchedBlock[]>();

  constructor(below: PayloadReader) {
    this.#below = below;
  }

  /** Adds a block. */
  add({ entryIndex, blockStart, blockSize }: BlockSpan, bytes: Uint8Array): void {
    assert(bytes.length === blockSize, () => `${bytes.length} bytes of a block of ${blockSize}`);
    const blocks = this.#blocks.get(entryIndex) ?? [];
    blocks.push({ start: blockStart, bytes });
    this.#blocks.set(entryIndex, blocks);
  }

  payload(range: { index: number; from: number; toExclusive: number }): Uint8Array {
    const { index, from, toExclusive } = range;
    for (const { start, bytes } of this.#blocks.get(index) ?? []) {
      const isInside = from >= start && toExclusive <= start + bytes.length;
      if (isInside) return bytes.subarray(from - start, toExclusive - start);
    }
    return this.#below.payload(range);
  }
}
