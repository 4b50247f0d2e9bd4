// The links of the next block of a partition (ADR 0010): to the blocks before it that are in memory, as
// many as its number asks for, and for a page to older pages.

import { BLOCK_LINKS_MAX, writeBlockLinks } from '@queen-ts/protocol';
import type { BlockRecord, LinkedBlock, PageLinks } from '@queen-ts/protocol';
import type { BlockIndex } from '../tables/block-index.ts';
import { isPage } from '../tables/block-tails.ts';

/**
 * Writes the links of the block that is appended next to a partition to `target`, which has
 * `BLOCK_LINKS_SIZE_MAX` bytes, and returns their size: 0 when no block is retained before it. Only a
 * page reads: two block headers at most.
 */
export function writeNextLinks(
  target: Uint8Array,
  index: BlockIndex,
  row: number,
  block: LinkedBlock,
): number {
  const number = index.tails.nextNumber(row);
  if (number === 0) return 0;
  const records = index.newestBlocks(row, listedBlocks(number));
  return writeBlockLinks(target, block, {
    records,
    page: isPage(number) ? pageLinks(index, row) : undefined,
  });
}

/**
 * Blocks that the block of a number lists: as many as the largest power of two that divides it. So the
 * blocks since the last page, which no page lists yet, are found in as many reads as their number has
 * bits set.
 */
function listedBlocks(number: number): number {
  return Math.min(BLOCK_LINKS_MAX, (number & -number) >>> 0);
}

/**
 * Links of the next page: to the newest one, and a jump of skew-binary length (1, 3, 7, … pages), so
 * that any page is reached in O(log n) steps (Myers, «An applicative random-access stack»).
 */
function pageLinks(index: BlockIndex, row: number): PageLinks {
  const older = index.tails.page(row);
  if (older === undefined) return { depth: 0, older, jump: undefined, jumpDepth: 0 };
  const links = index.readPage(row, older);
  const depth = links.depth + 1;
  const plain = { depth, older, jump: undefined, jumpDepth: links.depth };
  const middle = jumpOf(links);
  if (middle === undefined || !index.isRetained(row, middle)) return plain;
  const far = index.readPage(row, middle);
  const target = jumpOf(far);
  if (target === undefined || !index.isRetained(row, target)) return plain;
  const isEven = links.depth - links.jumpDepth === far.depth - far.jumpDepth;
  return isEven ? { depth, older, jump: target, jumpDepth: far.jumpDepth } : plain;
}

function jumpOf({ jump, older }: PageLinks): BlockRecord | undefined {
  return jump ?? older;
}
