// Deadlines of rows: a hierarchical timing wheel with a resolution of 1 ms. Six levels of 64 slots;
// a deadline sits on the level of the highest 6-bit digit in which its tick differs from the current
// tick, so every slot of a level lies before every slot of the next one. Entries are pooled: an
// unscheduled row costs 4 bytes, a scheduled one 22 more. The wheel knows no clock: it is told.

import { assert } from '@queen-ts/base';
import { F64Column, U16Column, U32Column } from './chunked-columns.ts';
import { RowAllocator } from './row-allocator.ts';

/** Resolution in microseconds. */
export const TICK_US = 1000;

/** Bits of a digit. */
const DIGIT_BITS = 6;

/** Slots on a level. */
const SLOTS = 64;

/** Levels; the last has the two bits that are left of 32. */
const LEVELS = 6;

/** Slots of the last level that exist, as a mask. */
const LAST_LEVEL_MASK = 3;

/** Farthest that an entry is placed ahead, in ticks; a later one is placed again when it comes up. */
const AHEAD_MAX = 2 ** 31;

/** Moves between levels that one `advance` may do for each row that it may fire. */
const MOVES_PER_ROW = 4;

/** Intrusive deadlines by row number. */
export class TimingWheel {
  readonly #entries = new RowAllocator();
  /** Entry of a row, 0 = not scheduled. */
  readonly #entryOf = new U32Column();
  readonly #row = new U32Column();
  readonly #atUs = new F64Column();
  readonly #next = new U32Column();
  readonly #previous = new U32Column();
  readonly #bucket = new U16Column();
  /** First and last entry of each bucket; bucket = level * 64 + slot. */
  readonly #heads = new Uint32Array(LEVELS * SLOTS);
  readonly #tails = new Uint32Array(LEVELS * SLOTS);
  /** One bit a bucket: not empty. */
  readonly #occupied = new Uint32Array(LEVELS * 2);
  /** Every earlier tick has been fired, and this one too except for its bucket's entries. */
  #tick: number;
  /** Bucket of an upper level that the current tick has reached, or -1. */
  #draining = -1;
  /** Start of the bucket that `#nextBucket` found, in ticks. */
  #foundTick = 0;

  /** @param originUs a time no later than the first `advance`; deadlines far from it cost moves. */
  constructor(originUs = 0) {
    this.#tick = Math.floor(originUs / TICK_US);
  }

  /** Scheduled rows. */
  get size(): number {
    return this.#entries.liveCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    const columns = this.#row.bytes + this.#next.bytes + this.#previous.bytes + this.#atUs.bytes;
    return columns + this.#bucket.bytes + this.#entryOf.bytes + this.#entries.bytes;
  }

  /** Whether the row is scheduled. */
  has(row: number): boolean {
    return row < this.#entryOf.rowCount && this.#entryOf.get(row) !== 0;
  }

  /** Deadline of a scheduled row in microseconds. */
  atUs(row: number): number {
    if (!this.has(row)) assert(false, () => `row ${row} is not scheduled`);
    return this.#atUs.get(this.#entryOf.get(row));
  }

  /** Sets the row's deadline, which replaces an earlier one. A past one is due at once. */
  schedule(row: number, atUs: number): void {
    if (row === 0 || atUs < 0 || !Number.isSafeInteger(atUs)) {
      assert(false, () => `row ${row} scheduled at ${atUs}`);
    }
    this.#entryOf.ensure(row + 1);
    let entry = this.#entryOf.get(row);
    if (entry === 0) entry = this.#allocate(row);
    else this.#unlink(entry);
    this.#atUs.set(entry, atUs);
    this.#place(entry, atUs);
  }

  /** Takes the row's deadline away; false when it has none. */
  cancel(row: number): boolean {
    if (!this.has(row)) return false;
    const entry = this.#entryOf.get(row);
    this.#unlink(entry);
    this.#release(entry, row);
    return true;
  }

  /**
   * Unschedules the rows whose deadline is at or before `nowUs` and hands each to `onDue`, in the
   * order of their deadlines rounded up to 1 ms. `onDue` may schedule and cancel rows. Stops after
   * `maxRows` rows, or after 4 * `maxRows` moves between levels: due rows are left if
   * `nextUs() <= nowUs` afterwards. A `nowUs` before an earlier one changes nothing.
   * @returns the number of rows fired.
   */
  advance(nowUs: number, onDue: (row: number) => void, maxRows: number): number {
    const target = Math.floor(nowUs / TICK_US);
    let moves = maxRows * MOVES_PER_ROW;
    let fired = 0;
    while (fired < maxRows && moves > 0) {
      if (this.#draining >= 0) {
        moves -= 1;
        this.#drainOne();
        continue;
      }
      const bucket = this.#nextBucket();
      if (bucket < 0 || this.#foundTick > target) {
        this.#tick = Math.max(this.#tick, target);
        break;
      }
      this.#tick = this.#foundTick;
      if (bucket >= SLOTS) {
        this.#draining = bucket;
        continue;
      }
      fired += 1;
      onDue(this.#takeFirst(bucket));
    }
    return fired;
  }

  /**
   * When to advance next, in microseconds: never later than the first deadline rounded up to 1 ms;
   * earlier for a far one, and then an advance moves it closer. Infinity when nothing is scheduled.
   */
  nextUs(): number {
    if (this.#draining >= 0) return this.#tick * TICK_US;
    return this.#nextBucket() < 0 ? Infinity : this.#foundTick * TICK_US;
  }

  #allocate(row: number): number {
    const entry = this.#entries.allocate();
    if (entry >= this.#row.rowCount) this.#ensure(entry + 1);
    this.#row.set(entry, row);
    this.#entryOf.set(row, entry);
    return entry;
  }

  #ensure(rowCount: number): void {
    this.#row.ensure(rowCount);
    this.#atUs.ensure(rowCount);
    this.#next.ensure(rowCount);
    this.#previous.ensure(rowCount);
    this.#bucket.ensure(rowCount);
  }

  #release(entry: number, row: number): void {
    this.#entryOf.set(row, 0);
    this.#entries.free(entry);
  }

  /** Appends an entry to the bucket of its deadline as seen from the current tick. */
  #place(entry: number, atUs: number): void {
    const due = Math.ceil(atUs / TICK_US);
    const tick = Math.min(Math.max(due, this.#tick), this.#tick + AHEAD_MAX);
    const difference = (tick >>> 0) ^ (this.#tick >>> 0);
    const level = difference === 0 ? 0 : ((31 - Math.clz32(difference)) / DIGIT_BITS) | 0;
    const bucket = level * SLOTS + (((tick >>> 0) >>> (level * DIGIT_BITS)) & (SLOTS - 1));
    const tail = this.#tails[bucket] as number;
    this.#bucket.set(entry, bucket);
    this.#next.set(entry, 0);
    this.#previous.set(entry, tail);
    this.#tails[bucket] = entry;
    if (tail !== 0) {
      this.#next.set(tail, entry);
      return;
    }
    this.#heads[bucket] = entry;
    this.#occupied[bucket >>> 5] = (this.#occupied[bucket >>> 5] as number) | (1 << (bucket & 31));
  }

  #unlink(entry: number): void {
    const bucket = this.#bucket.get(entry);
    const next = this.#next.get(entry);
    const previous = this.#previous.get(entry);
    if (next === 0) this.#tails[bucket] = previous;
    else this.#previous.set(next, previous);
    if (previous === 0) this.#heads[bucket] = next;
    else this.#next.set(previous, next);
    if (this.#heads[bucket] !== 0) return;
    this.#occupied[bucket >>> 5] = (this.#occupied[bucket >>> 5] as number) & ~(1 << (bucket & 31));
    if (bucket === this.#draining) this.#draining = -1;
  }

  #takeFirst(bucket: number): number {
    const entry = this.#heads[bucket] as number;
    const row = this.#row.get(entry);
    this.#unlink(entry);
    this.#release(entry, row);
    return row;
  }

  /** Moves one entry of the bucket that the current tick has reached to a lower level. */
  #drainOne(): void {
    const entry = this.#heads[this.#draining] as number;
    this.#unlink(entry);
    this.#place(entry, this.#atUs.get(entry));
  }

  /** First bucket in time, or -1; its start goes to `#foundTick`. */
  #nextBucket(): number {
    const low = this.#tick >>> 0;
    for (let level = 0; level < LEVELS; level += 1) {
      const shift = level * DIGIT_BITS;
      const digit = (low >>> shift) & (SLOTS - 1);
      // Only the lowest level may hold entries in the current slot: those are due.
      const slot = this.#nextSlot(level, level === 0 ? digit : digit + 1, digit);
      if (slot < 0) continue;
      const slotsAhead = slot >= digit ? slot - digit : slot - digit + LAST_LEVEL_MASK + 1;
      const below = low & (2 ** shift - 1);
      this.#foundTick = this.#tick - below + slotsAhead * 2 ** shift;
      return level * SLOTS + slot;
    }
    return -1;
  }

  /** First occupied slot of a level from `from` on, or -1. The last level is circular. */
  #nextSlot(level: number, from: number, digit: number): number {
    const low = this.#occupied[level * 2] as number;
    const high = this.#occupied[level * 2 + 1] as number;
    if ((low | high) === 0) return -1;
    if (level === LEVELS - 1) {
      for (let ahead = 1; ahead <= LAST_LEVEL_MASK; ahead += 1) {
        const slot = (digit + ahead) & LAST_LEVEL_MASK;
        if ((low & (1 << slot)) !== 0) return slot;
      }
      return -1;
    }
    const lowRest = from < 32 ? low & (-1 << from) : 0;
    if (lowRest !== 0) return 31 - Math.clz32(lowRest & -lowRest);
    const highRest = from < 32 ? high : from < SLOTS ? high & (-1 << (from - 32)) : 0;
    return highRest === 0 ? -1 : 63 - Math.clz32(highRest & -highRest);
  }
}
