// Blocks that were looked up in the log or far back in memory, as runs without a gap, and the links of
// the blocks they were read from. A cache of bounded size: what was not used for longest goes first.

import type { BlockRecord, PageLinks } from '@queen-ts/protocol';

/** What a run takes besides its blocks, and what a block takes, in bytes: an estimate. */
const RUN_SIZE = 320;
const BLOCK_SIZE = 48;

/** Columns of a block in a run. */
const COLUMN = { BASE: 0, COUNT: 1, ENTRY: 2, START: 3, SIZE: 4, CREATED: 5, WIDTH: 6 } as const;

/** Consecutive blocks of a partition, oldest first. */
class Run {
  readonly partition: number;
  readonly blocks: Float64Array;
  readonly length: number;
  /** Offset after the last block. */
  readonly endOffset: number;
  /** Whether the block at `endOffset` said so, and then its links to pages. */
  readonly isRead: boolean;
  readonly page: PageLinks | undefined;

  constructor(partition: number, records: readonly BlockRecord[], read: ReadBlock | undefined) {
    this.partition = partition;
    this.length = records.length;
    this.blocks = new Float64Array(records.length * COLUMN.WIDTH);
    records.forEach((record, i) => {
      const at = i * COLUMN.WIDTH;
      this.blocks[at + COLUMN.BASE] = record.baseOffset;
      this.blocks[at + COLUMN.COUNT] = record.count;
      this.blocks[at + COLUMN.ENTRY] = record.entryIndex;
      this.blocks[at + COLUMN.START] = record.blockStart;
      this.blocks[at + COLUMN.SIZE] = record.blockSize;
      this.blocks[at + COLUMN.CREATED] = record.createdUs;
    });
    const last = records.at(-1);
    this.endOffset = last === undefined ? 0 : last.baseOffset + last.count;
    this.isRead = read !== undefined;
    this.page = read?.page;
  }

  get baseOffset(): number {
    return this.blocks[COLUMN.BASE]!;
  }

  get firstUs(): number {
    return this.blocks[COLUMN.CREATED]!;
  }

  get lastUs(): number {
    return this.blocks[(this.length - 1) * COLUMN.WIDTH + COLUMN.CREATED]!;
  }

  get size(): number {
    return RUN_SIZE + this.length * BLOCK_SIZE;
  }

  end(i: number): number {
    const at = i * COLUMN.WIDTH;
    return this.blocks[at + COLUMN.BASE]! + this.blocks[at + COLUMN.COUNT]!;
  }

  createdUs(i: number): number {
    return this.blocks[i * COLUMN.WIDTH + COLUMN.CREATED]!;
  }

  record(i: number): BlockRecord {
    const at = i * COLUMN.WIDTH;
    return {
      baseOffset: this.blocks[at + COLUMN.BASE]!,
      count: this.blocks[at + COLUMN.COUNT]!,
      entryIndex: this.blocks[at + COLUMN.ENTRY]!,
      blockStart: this.blocks[at + COLUMN.START]!,
      blockSize: this.blocks[at + COLUMN.SIZE]!,
      createdUs: this.blocks[at + COLUMN.CREATED]!,
    };
  }

  /** First block that ends after `offset` and is not older than `us`; there is one. */
  firstOf({ offset, us }: RunTarget): BlockRecord {
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const isBefore = this.end(middle) <= offset || this.createdUs(middle) < us;
      if (isBefore) low = middle + 1;
      else high = middle;
    }
    return this.record(low);
  }
}

/** The first block that ends after `offset` and was created at `us` or later. */
export interface RunTarget {
  readonly offset: number;
  readonly us: number;
}

/** What reading a block told besides the blocks before it. */
export interface ReadBlock {
  readonly page: PageLinks | undefined;
}

/** What a block said: the ends of its list, and its pages. */
export interface ListedBlocks extends ReadBlock {
  readonly oldest: BlockRecord;
  readonly newest: BlockRecord;
}

/** The runs of all partitions, by partition number: numbers are never used again. */
export class BlockRuns {
  readonly #bytesMax: number;
  /** Runs of a partition by offset; they do not overlap. */
  readonly #runs = new Map<number, Run[]>();
  /** All runs in the order of use. */
  readonly #used = new Set<Run>();
  #newest: Run | undefined = undefined;
  #bytes = 0;

  /** @param bytesMax what runs may take together; the newest one is kept whatever its size. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What the runs take in bytes, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The block that is looked for, if a run proves that it is that one. Blocks before the target's
   * offset may be gone; none that ends after it is.
   */
  find(partition: number, target: RunTarget): BlockRecord | undefined {
    const runs = this.#runs.get(partition);
    if (runs === undefined) return undefined;
    const { offset, us } = target;
    const position = firstPosition(runs, (run) => run.endOffset > offset && run.lastUs >= us);
    const run = runs[position];
    // Whether the block before the run would do is known only if the target is not at its start.
    if (run === undefined || (run.baseOffset > offset && run.firstUs >= us)) return undefined;
    this.#touch(run);
    return run.firstOf(target);
  }

  /** What the block with this base offset said, if it was read. */
  read(partition: number, baseOffset: number): ListedBlocks | undefined {
    const runs = this.#runs.get(partition);
    if (runs === undefined) return undefined;
    const run = runs[firstPosition(runs, ({ endOffset }) => endOffset >= baseOffset)];
    if (run?.endOffset !== baseOffset || !run.isRead) return undefined;
    this.#touch(run);
    return { oldest: run.record(0), newest: run.record(run.length - 1), page: run.page };
  }

  /** Adds a run, oldest block first, not empty. Runs that overlap it go. */
  add(partition: number, records: readonly BlockRecord[], read: ReadBlock | undefined): void {
    const run = new Run(partition, records, read);
    const runs = this.#runs.get(partition) ?? [];
    const from = firstPosition(runs, ({ endOffset }) => endOffset > run.baseOffset);
    let toExclusive = from;
    while (toExclusive < runs.length && runs[toExclusive]!.baseOffset < run.endOffset) {
      this.#forget(runs[toExclusive]!);
      toExclusive += 1;
    }
    runs.splice(from, toExclusive - from, run);
    this.#runs.set(partition, runs);
    this.#used.add(run);
    this.#newest = run;
    this.#bytes += run.size;
    for (const oldest of this.#used) {
      if (this.#bytes <= this.#bytesMax || oldest === run) return;
      this.#evict(oldest);
    }
  }

  #touch(run: Run): void {
    if (run === this.#newest) return;
    this.#newest = run;
    this.#used.delete(run);
    this.#used.add(run);
  }

  #evict(run: Run): void {
    const runs = this.#runs.get(run.partition)!;
    const position = firstPosition(runs, ({ endOffset }) => endOffset >= run.endOffset);
    runs.splice(position, 1);
    if (runs.length === 0) this.#runs.delete(run.partition);
    this.#forget(run);
  }

  #forget(run: Run): void {
    this.#used.delete(run);
    this.#bytes -= run.size;
  }
}

/** Position of the first run that `holds` is true for; it is for all behind. */
function firstPosition(runs: readonly Run[], holds: (run: Run) => boolean): number {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(runs[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
